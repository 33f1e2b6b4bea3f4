// SPDX-License-Identifier: Apache-2.0

// Command s3fake measures the fake S3 next to bare gofakes3 and, where their programs are found, versitygw and MinIO:
// start-up, put and get of 4 KiB and 16 MiB with 1 and 32 clients, and a listing of many keys. Every store but
// gofakes3, which verifies nothing, checks each signature. It prints one line per measurement.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// settings are the flags.
type settings struct {
	duration       time.Duration
	keys           int
	only           string
	versity, minio string
}

// target is a store to measure.
type target struct {
	name, url, access, secret string
	started                   time.Duration
	stop                      func() error
	http                      *http.Client
}

func main() {
	var s settings
	pflag.DurationVar(&s.duration, "duration", 2*time.Second, "how long each measurement runs")
	pflag.IntVar(&s.keys, "keys", 100000, "keys to list")
	pflag.StringVar(&s.only, "only", "", "measure only the store of this name")
	pflag.StringVar(&s.versity, "versitygw", found(stores.VersityGW()), "path of the versitygw program")
	pflag.StringVar(&s.minio, "minio", found(stores.MinIO()), "path of the minio program")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := s.run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/s3fake:", err)
		os.Exit(1)
	}
}

// found is where a store's executable is, "" if it is nowhere: the store is not measured then.
func found(s stores.Store) string {
	path, err := s.Find()
	if err != nil {
		fmt.Fprintln(os.Stderr, "not measured:", err)
	}
	return path
}

func (s settings) run(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "%-10s %-18s %8s %12s\n", "store", "what", "clients", "per second")
	for _, start := range []func(context.Context, settings) (*target, error){startFake, startBare, startVersity, startMinIO} {
		t, err := start(ctx, s)
		if err != nil {
			return err
		}
		if t == nil || (s.only != "" && s.only != t.name) {
			continue
		}
		err = s.measure(ctx, out, t)
		if err = errors.Join(err, t.stop()); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

func startFake(context.Context, settings) (*target, error) {
	begin := time.Now()
	s, err := s3fake.New(s3fake.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	root := s.Root()
	return &target{"s3fake", s.URL(), root.AccessKeyID, root.SecretAccessKey, time.Since(begin), s.Close, nil}, nil
}

func startBare(context.Context, settings) (*target, error) {
	begin := time.Now()
	s := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	return &target{"gofakes3", s.URL, "any", "thing", time.Since(begin), func() error { s.Close(); return nil }, nil}, nil
}

func (t *target) client() (*minio.Core, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	t.http = &http.Client{Transport: transport}
	c, err := minio.NewCore(strings.TrimPrefix(t.url, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(t.access, t.secret, ""), Region: "us-east-1",
		Transport: transport,
	})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return c, nil
}

func (s settings) measure(ctx context.Context, out io.Writer, t *target) error {
	fmt.Fprintf(out, "%-10s %-18s %8s %12s\n", t.name, "start", "", t.started.Round(10*time.Microsecond))
	c, err := t.client()
	if err != nil {
		return err
	}
	if err := c.MakeBucket(ctx, "bench", minio.MakeBucketOptions{Region: "us-east-1"}); err != nil {
		return fmt.Errorf("make a bucket: %w", err)
	}
	for _, size := range []int{4 << 10, 16 << 20} {
		body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		put := func(n int64) error {
			_, err := c.PutObject(ctx, "bench", fmt.Sprintf("o/%d", n%256), bytes.NewReader(body), int64(size), "", "", minio.PutObjectOptions{})
			if err != nil {
				return fmt.Errorf("put: %w", err)
			}
			return nil
		}
		get := func(int64) error {
			r, _, _, err := c.GetObject(ctx, "bench", "o/0", minio.GetObjectOptions{})
			if err != nil {
				return fmt.Errorf("get: %w", err)
			}
			_, err = io.Copy(io.Discard, r)
			return errors.Join(err, r.Close())
		}
		for _, clients := range []int{1, 32} {
			for _, m := range []struct {
				name string
				do   func(int64) error
			}{{"put", put}, {"get", get}} {
				rate, err := s.rate(clients, m.do)
				if err != nil {
					return fmt.Errorf("%s of %d bytes: %w", m.name, size, err)
				}
				fmt.Fprintf(out, "%-10s %-18s %8d %12.0f\n", t.name, fmt.Sprintf("%s %d KiB", m.name, size>>10), clients, rate)
			}
		}
	}
	return s.listing(ctx, out, t, c)
}

// rate runs do from several clients for a while and returns calls per second.
func (s settings) rate(clients int, do func(int64) error) (float64, error) {
	var (
		done  atomic.Int64
		wg    sync.WaitGroup
		mu    sync.Mutex
		fatal error
	)
	if err := do(0); err != nil {
		return 0, err
	}
	begin := time.Now()
	for range clients {
		wg.Go(func() {
			for time.Since(begin) < s.duration {
				if err := do(done.Add(1)); err != nil {
					mu.Lock()
					fatal = err
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(done.Load()) / time.Since(begin).Seconds(), fatal
}

func (s settings) listing(ctx context.Context, out io.Writer, t *target, c *minio.Core) error {
	if err := c.MakeBucket(ctx, "listing", minio.MakeBucketOptions{Region: "us-east-1"}); err != nil {
		return fmt.Errorf("make a bucket: %w", err)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	for range cap(errs) {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(s.keys); n = next.Add(1) {
				if _, err := c.PutObject(ctx, "listing", fmt.Sprintf("%03d/%08d", n%100, n), strings.NewReader("x"), 1, "", "", minio.PutObjectOptions{}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return fmt.Errorf("fill the bucket to list: %w", err)
	default:
	}
	// One client lists everything, 32 share the bucket's 100 prefixes.
	for _, l := range []struct {
		clients  int
		prefixes []string
	}{{1, []string{""}}, {32, hundred()}} {
		took, err := t.list(ctx, c, l.clients, l.prefixes, s.keys)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-10s %-18s %8d %12s\n", t.name, fmt.Sprintf("list %d keys", s.keys), l.clients, took.Round(time.Millisecond))
	}
	return nil
}

func hundred() []string {
	out := make([]string, 100)
	for i := range out {
		out[i] = fmt.Sprintf("%03d/", i)
	}
	return out
}

// list lists all prefixes in pages of 1000 keys and returns how long that takes until every response is read. The XML is
// not decoded: decoding takes a client several times as long as the store needs, whichever store it is.
func (t *target) list(ctx context.Context, c *minio.Core, clients int, prefixes []string, want int) (time.Duration, error) {
	var (
		next, found atomic.Int64
		wg          sync.WaitGroup
	)
	errs := make(chan error, clients)
	begin := time.Now()
	for range clients {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(len(prefixes)); n = next.Add(1) {
				keys, err := t.listPrefix(ctx, c, prefixes[n-1])
				found.Add(int64(keys))
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	select {
	case err := <-errs:
		return 0, fmt.Errorf("list: %w", err)
	default:
	}
	if found.Load() != int64(want) {
		return 0, fmt.Errorf("listed %d keys, want %d", found.Load(), want)
	}
	return took, nil
}

func (t *target) listPrefix(ctx context.Context, c *minio.Core, prefix string) (int, error) {
	found := 0
	for query := (url.Values{"list-type": {"2"}, "prefix": {prefix}}); ; {
		u, err := c.Presign(ctx, http.MethodGet, "listing", "", time.Hour, query)
		if err != nil {
			return found, fmt.Errorf("sign: %w", err)
		}
		page, err := t.read(ctx, u.String())
		if err != nil {
			return found, err
		}
		found += bytes.Count(page, []byte("<Contents>"))
		_, rest, more := bytes.Cut(page, []byte("<NextContinuationToken>"))
		if !more {
			return found, nil
		}
		token, _, _ := bytes.Cut(rest, []byte("<"))
		query.Set("continuation-token", html.UnescapeString(string(token)))
	}
}

func (t *target) read(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	resp, err := t.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read a page: %w", err)
	}
	page, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, fmt.Errorf("read a page: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", resp.Status, page)
	}
	return page, nil
}
