// SPDX-License-Identifier: Apache-2.0

// Command gcsfake measures the fake Cloud Storage next to fake-gcs-server, if `go run ./hack/stores` has built that: put
// and get of 4 KiB and 1 MiB with 1 and 32 clients, and a listing, over the JSON API. The fake verifies a token and
// evaluates policies for each call; fake-gcs-server does neither. It prints one line per measurement.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// target is a store to measure.
type target struct {
	name, url, token string
	stop             func() error
}

func main() {
	if os.Getenv(childMark) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, "bench/gcsfake:", err)
			os.Exit(1)
		}
		return
	}
	var duration time.Duration
	var peer string
	pflag.DurationVar(&duration, "duration", 2*time.Second, "how long each measurement runs")
	pflag.StringVar(&peer, "peer", found(stores.FakeGCSServer()), "path of the fake-gcs-server program; without it only the fake is measured")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, duration, peer)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/gcsfake:", err)
		os.Exit(1)
	}
}

// found is the program of a store, "" where it is not there.
func found(s stores.Store) string {
	path, err := s.Find()
	if err != nil {
		return ""
	}
	return path
}

func run(ctx context.Context, out io.Writer, duration time.Duration, peer string) error {
	starts := []func(context.Context) (*target, error){startFake}
	if peer != "" {
		starts = append(starts, func(ctx context.Context) (*target, error) { return startPeer(ctx, peer) })
	}
	for _, start := range starts {
		t, err := start(ctx)
		if err != nil {
			return err
		}
		if err := errors.Join(t.measure(ctx, out, duration), t.stop()); err != nil {
			return err
		}
	}
	return nil
}

// childMark makes the program be the fake, in a process of its own as the other one is.
const childMark = "GCSFAKE_BENCH_CHILD"

// serve is the fake: it prints where it is and a token, and ends with its input.
func serve() error {
	s, err := gcsfake.New(gcsfake.Options{})
	if err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return errors.Join(err, s.Close())
	}
	token, err := s.Token(s.AdminEmail(""))
	if err == nil {
		fmt.Println(s.URL(), token)
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	return errors.Join(err, s.Close())
}

func startFake(ctx context.Context) (*target, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env, cmd.Stderr = append(os.Environ(), childMark+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the fake: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the fake: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the fake: %w", err)
	}
	t := &target{name: "gcsfake", stop: func() error { return errors.Join(in.Close(), cmd.Wait()) }}
	if _, err := fmt.Fscan(out, &t.url, &t.token); err != nil {
		return nil, errors.Join(fmt.Errorf("start the fake: %w", err), t.stop())
	}
	return t, nil
}

// startPeer runs the program on a free port.
func startPeer(ctx context.Context, program string) (*target, error) {
	free, err := freeport.Reserve()
	if err != nil {
		return nil, err
	}
	address, port := free.Address(), strconv.Itoa(free.Number)
	cmd := exec.CommandContext(ctx, program, "-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory", "-log-level", "error")
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), free.Release())
	}
	t := &target{name: "fake-gcs-server", url: "http://" + address, stop: func() error {
		_ = cmd.Process.Kill() // it may be gone already
		_ = cmd.Wait()         // killed: always an error
		return free.Release()
	}}
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return t, conn.Close()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), t.stop())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// The sizes that are measured, in bytes.
const (
	small = 4 << 10
	large = 1 << 20
)

func (t *target) measure(ctx context.Context, out io.Writer, duration time.Duration) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	if err := t.call(ctx, client, http.MethodPost, "/storage/v1/b?project="+gcsfake.DefaultProject, strings.NewReader(`{"name":"bench"}`)); err != nil {
		return err
	}
	for _, size := range []int{small, large} {
		body := bytes.Repeat([]byte{'x'}, size)
		for _, clients := range []int{1, 32} {
			put := func(worker, n int) error {
				return t.call(ctx, client, http.MethodPost, fmt.Sprintf("/upload/storage/v1/b/bench/o?uploadType=media&name=%d/%d/%d", size, worker, n%100), bytes.NewReader(body))
			}
			get := func(worker, _ int) error {
				return t.call(ctx, client, http.MethodGet, fmt.Sprintf("/storage/v1/b/bench/o/%d%%2F%d%%2F0?alt=media", size, worker), nil)
			}
			for _, m := range []struct {
				what string
				work func(worker, n int) error
			}{{"put", put}, {"get", get}} {
				rate, err := measure(duration, clients, m.work)
				if err != nil {
					return fmt.Errorf("%s: %w", t.name, err)
				}
				fmt.Fprintf(out, "%-16s %s of %4d KiB, %2d clients: %8.0f per second\n", t.name, m.what, size>>10, clients, rate)
			}
		}
	}
	rate, err := measure(duration, 1, func(int, int) error {
		return t.call(ctx, client, http.MethodGet, "/storage/v1/b/bench/o?maxResults=1000", nil)
	})
	fmt.Fprintf(out, "%-16s list of up to 1000,  1 clients: %8.0f per second\n", t.name, rate)
	return err
}

// measure returns how often work is done in a second.
func measure(duration time.Duration, clients int, work func(worker, n int) error) (float64, error) {
	var done atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, clients)
	begin := time.Now()
	for worker := range clients {
		wg.Go(func() {
			for n := 0; time.Since(begin) < duration; n++ {
				if errs[worker] = work(worker, n); errs[worker] != nil {
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(done.Load()) / time.Since(begin).Seconds(), errors.Join(errs...)
}

func (t *target) call(ctx context.Context, client *http.Client, method, path string, body io.Reader) error {
	req, err := http.NewRequestWithContext(ctx, method, t.url+path, body)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	if t.token != "" {
		req.Header.Set("Authorization", "Bearer "+t.token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("send a request: %w", err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return nil
}
