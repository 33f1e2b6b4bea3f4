// SPDX-License-Identifier: Apache-2.0

// Package robustness_test sends invalid requests to the fakes, ends uploads early, and simulates clients that are too
// slow. None of this may break or block a fake, or leave a request, goroutine or file behind. Each fake's
// command also has the test TestNothingAcknowledgedIsLost: no acknowledged write is lost when the process is killed.
package robustness_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/internal/endpoint"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// running is a fake that listens.
type running struct {
	*fake
	*caller

	// busy is how many requests are being handled.
	busy atomic.Int64
}

// run starts each fake and lets check do its work with it. Afterwards no request, no goroutine and no file is left.
func run(t *testing.T, patience time.Duration, check func(t *testing.T, f *running)) {
	t.Helper()
	for name, open := range clouds() {
		t.Run(name, func(t *testing.T) {
			temporary := t.TempDir()
			t.Setenv("TMPDIR", temporary)
			before := runtime.NumGoroutine()
			f := &running{fake: open(t)}
			var e endpoint.Endpoint
			wantNoError(t, e.Start(endpoint.Options{Name: name, Address: "127.0.0.1:0", Handler: f.watched(t), Patience: patience}))
			transport := &http.Transport{MaxIdleConnsPerHost: workers}
			f.caller = &caller{
				t: t, url: e.URL(), sign: f.fake.sign,
				Client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
			}
			f.prepare(f.setup)
			check(t, f)
			f.wait(t)
			transport.CloseIdleConnections()
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			eventually(t, func() bool { return runtime.NumGoroutine() <= before }, func() string {
				stacks := make([]byte, 1<<20)
				return fmt.Sprintf("%d goroutines are left:\n%s", runtime.NumGoroutine()-before, stacks[:runtime.Stack(stacks, true)])
			})
			if left := files(t, temporary); len(left) > 0 {
				t.Errorf("files are left: %v", left)
			}
		})
	}
}

// watched counts requests, and fails the test when one panics.
func (f *running) watched(t *testing.T) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.busy.Add(1)
		defer f.busy.Add(-1)
		defer func() {
			p := recover()
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p) // the client has disconnected, and there is no response
			}
			if p != nil {
				t.Errorf("%s %s panics: %v\n%s", r.Method, r.URL, p, debug.Stack())
			}
		}()
		f.ServeHTTP(w, r)
	})
}

// wait waits until no request is being handled.
func (f *running) wait(t *testing.T) {
	t.Helper()
	eventually(t, func() bool { return f.busy.Load() == 0 }, func() string { return fmt.Sprintf("%d requests do not end", f.busy.Load()) })
}

// wantNoError ends the test if there is an error.
func wantNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// eventually waits for what must become so.
func eventually(t *testing.T, so func() bool, otherwise func() string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); !so(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal(otherwise())
		}
	}
}

// files are the files below a directory, with their sizes.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // of a request that ends now
		}
		if err == nil {
			out = append(out, fmt.Sprint(path, " ", info.Size()))
		}
		return err
	})
	wantNoError(t, err)
	return out
}

// holds is all that the fake has, and its files.
func (f *running) holds(t *testing.T) string {
	t.Helper()
	raw, err := json.MarshalIndent(f.inventory(), "", " ")
	wantNoError(t, err)
	return string(raw) + "\n" + strings.Join(files(t, os.TempDir()), "\n")
}

// TestAbortedUploads aborts uploads of every kind midway: nothing of them may be visible or remain on disk.
func TestAbortedUploads(t *testing.T) { //nolint:paralleltest // it counts goroutines, and its temporary directory is its own
	run(t, 0, func(t *testing.T, f *running) {
		t.Helper()
		before := f.holds(t)
		for _, upload := range f.uploads {
			for _, sent := range []int64{0, 1, 100 << 10, 900 << 10} {
				if resp, body, err := f.send(upload, &stream{size: 1 << 20, most: sent}); err == nil {
					t.Errorf("%s %s got a response to %d bytes: %d %s", upload.method, upload.path, sent, resp.StatusCode, body)
				}
			}
			// A request may start after its client has disconnected.
			eventually(t, func() bool { return f.busy.Load() == 0 && f.holds(t) == before }, func() string {
				return fmt.Sprintf("%s %s leaves something behind (-before +after):\n%s", upload.method, upload.path, cmp.Diff(before, f.holds(t)))
			})
		}
	})
}

// TestControlCharacters sends what would make headers that no client can read.
func TestControlCharacters(t *testing.T) { //nolint:paralleltest // see TestAbortedUploads
	run(t, 0, func(t *testing.T, f *running) {
		t.Helper()
		for _, r := range f.controls {
			if _, _, err := f.send(r, nil); err != nil {
				t.Errorf("%s %s: %v", r.method, r.path, err)
			}
		}
	})
}

// TestSlowClients has clients that send one byte at a time, and clients that do not read: each must be disconnected
// without delaying others.
func TestSlowClients(t *testing.T) { //nolint:paralleltest // see TestAbortedUploads
	fulltest.Only(t, "it takes seconds until a client is too slow")
	run(t, 2*time.Second, func(t *testing.T, f *running) {
		t.Helper()
		const size = 32 << 20
		// A client that the machine holds up is as slow as one that wants to be.
		eventually(t, func() bool {
			resp, _, err := f.send(f.object, &stream{size: size, most: size})
			return err == nil && resp.StatusCode < http.StatusMultipleChoices
		}, func() string { return "the large object is not taken" })
		f.wait(t)
		before := f.holds(t)
		get := f.object
		get.method, get.headers = http.MethodGet, strings.Split(f.object.headers, "\n")[0]
		var slow sync.WaitGroup
		for _, upload := range f.uploads {
			slow.Go(func() { f.trickle(t, upload) })
		}
		slow.Go(func() { f.ignore(t, get) })
		ended := make(chan struct{})
		go func() { slow.Wait(); close(ended) }()
		for others := 0; ; others++ {
			select {
			case <-ended:
				if t.Logf("%d requests of others meanwhile", others); others == 0 {
					t.Error("nobody else was served meanwhile")
				}
				f.wait(t)
				if diff := cmp.Diff(before, f.holds(t)); diff != "" {
					t.Errorf("slow clients left something behind (-before +after):\n%s", diff)
				}
				return
			default:
				read := get
				read.headers += "\nRange: bytes=0-9"
				resp, body, err := f.send(read, nil)
				if err != nil {
					others-- // it was held up itself
				} else if resp.StatusCode >= http.StatusMultipleChoices {
					t.Fatalf("somebody else: %v %s", resp, body)
				}
			}
		}
	})
}

// dial opens a connection and writes the header of a request with a body of size bytes, and the beginning of the
// body.
func (f *running) dial(t *testing.T, r request, size int64) net.Conn {
	t.Helper()
	req, err := f.build(r, &stream{}, size)
	wantNoError(t, err)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", req.URL.Host)
	wantNoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	wantNoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", req.Method, req.URL.RequestURI(), req.URL.Host, size)
	_ = req.Header.Write(&head) // a builder never fails
	if _, err := conn.Write([]byte(head.String() + "\r\n" + r.body)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// trickle sends a byte of an upload now and then until the server ends it.
func (f *running) trickle(t *testing.T, upload request) {
	t.Helper()
	conn := f.dial(t, upload, 1<<20)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for sent := 0; ; sent++ {
		if _, err := conn.Write([]byte("x")); err != nil {
			if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
				t.Errorf("%s %s takes a byte now and then for ever", upload.method, upload.path)
			}
			return
		}
		if sent > 1000 {
			t.Errorf("%s %s still takes a byte now and then", upload.method, upload.path)
			return
		}
		<-tick.C
	}
}

// ignore asks for an object and does not read it until the server gives up.
func (f *running) ignore(t *testing.T, get request) {
	t.Helper()
	conn := f.dial(t, get, 0)
	first := make([]byte, 1)
	if _, err := conn.Read(first); err != nil {
		t.Errorf("%s %s: %v", get.method, get.path, err)
		return
	}
	// Between the requests of others nothing is handled, once the slow ones are ended.
	eventually(t, func() bool { return f.busy.Load() == 0 }, func() string { return "a client that does not read is served for ever" })
}
