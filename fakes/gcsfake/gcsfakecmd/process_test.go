// SPDX-License-Identifier: Apache-2.0

package gcsfakecmd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/gcsfakecmd"
	"github.com/cooper-cosi/cooper/fakes/internal/fakecmd/fakecmdtest"
)

func TestMain(m *testing.M) { os.Exit(fakecmdtest.Main(m, gcsfakecmd.Prepare)) }

// child is the command in a process of its own.
type child struct{ *fakecmdtest.Child }

func startChild(t *testing.T, args ...string) child {
	t.Helper()
	key := filepath.Join(t.TempDir(), "admin.json")
	return child{fakecmdtest.Start(t, append([]string{"--key-file", key}, args...)...)}
}

func (c child) options(path string) []option.ClientOption {
	return []option.ClientOption{
		option.WithEndpoint(c.Env["GCS_ENDPOINT_URL"] + path),
		option.WithAuthCredentialsFile(option.ServiceAccount, c.Env["GOOGLE_APPLICATION_CREDENTIALS"]),
	}
}

func (c child) storage(t *testing.T) *storage.Client {
	t.Helper()
	client, err := storage.NewClient(t.Context(), c.options("/storage/v1/")...)
	if err != nil {
		t.Fatal(err)
	}
	client.SetRetry(storage.WithPolicy(storage.RetryNever))
	return client
}

func (c child) accounts(t *testing.T) *iam.ProjectsServiceAccountsService {
	t.Helper()
	s, err := iam.NewService(t.Context(), c.options("/")...)
	if err != nil {
		t.Fatal(err)
	}
	return s.Projects.ServiceAccounts
}

func (c child) project() string { return c.Env["GOOGLE_CLOUD_PROJECT"] }

// TestNothingAcknowledgedIsLost kills the process under load, again and again, and looks for everything that it had
// acknowledged.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	l := &ledger{objects: map[string]int{}}
	for round := range 3 {
		c := startChild(t, "--data", dir)
		if round == 0 {
			if err := c.storage(t).Bucket("load").Create(t.Context(), c.project(), nil); err != nil {
				t.Fatal(err)
			}
		}
		l.check(t, c)
		l.load(t, c, round, 200)
	}
	l.check(t, startChild(t, "--data", dir))
}

// ledger is what the process has acknowledged.
type ledger struct {
	mu       sync.Mutex
	objects  map[string]int
	accounts []string
}

func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.objects) + len(l.accounts)
}

// load writes from several clients until enough is acknowledged, then kills the process in the middle of it.
func (l *ledger) load(t *testing.T, c child, round, enough int) {
	t.Helper()
	target := l.size() + enough
	var wg sync.WaitGroup
	client, accounts := c.storage(t), c.accounts(t)
	for worker := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				if worker == 0 && n < 20 {
					a, err := accounts.Create("projects/"+c.project(), &iam.CreateServiceAccountRequest{AccountId: fmt.Sprintf("account-%d-%d", round, n)}).Context(t.Context()).Do()
					if err != nil {
						return
					}
					l.mu.Lock()
					l.accounts = append(l.accounts, a.Name)
					l.mu.Unlock()
				}
				key, size := fmt.Sprintf("%d/%d/%d", round, worker, n), 100+n*37
				if err := write(t.Context(), client.Bucket("load").Object(key), fakecmdtest.Content(key, size)); err != nil {
					return
				}
				l.mu.Lock()
				l.objects[key] = size
				l.mu.Unlock()
				if l.size() >= target {
					c.Strike() // another worker may have been faster
				}
			}
		})
	}
	wg.Wait()
	c.Kill()
}

func write(ctx context.Context, o *storage.ObjectHandle, body []byte) error {
	w := o.NewWriter(ctx)
	w.ChunkSize = 0
	_, err := w.Write(body)
	return errors.Join(err, w.Close())
}

func (l *ledger) check(t *testing.T, c child) {
	t.Helper()
	client, accounts := c.storage(t), c.accounts(t)
	for key, size := range l.objects {
		r, err := client.Bucket("load").Object(key).NewReader(t.Context())
		if err != nil {
			t.Fatalf("acknowledged object %s is lost: %v", key, err)
		}
		got, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, fakecmdtest.Content(key, size)) {
			t.Fatalf("acknowledged object %s came back with %d bytes, want %d: %v", key, len(got), size, err)
		}
	}
	for _, name := range l.accounts {
		if _, err := accounts.Get(name).Context(t.Context()).Do(); err != nil {
			t.Fatalf("acknowledged account %s is lost: %v", name, err)
		}
	}
}

// TestAResumableUploadSurvivesAKill goes on with an upload in another process.
func TestAResumableUploadSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	c := startChild(t, "--data", dir)
	if err := c.storage(t).Bucket("load").Create(t.Context(), c.project(), nil); err != nil {
		t.Fatal(err)
	}
	token := accessToken(t, c)
	send := func(c child, method, path, contentRange string, body []byte) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, c.Env["GCS_ENDPOINT_URL"]+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if contentRange != "" {
			req.Header.Set("Content-Range", contentRange)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		return resp
	}
	const chunk = 256 << 10
	whole := fakecmdtest.Content("resumed", 2*chunk)
	begun := send(c, http.MethodPost, "/upload/storage/v1/b/load/o?uploadType=resumable&name=o", "", nil)
	path := strings.TrimPrefix(begun.Header.Get("Location"), c.Env["GCS_ENDPOINT_URL"])
	if got := send(c, http.MethodPut, path, fmt.Sprintf("bytes 0-%d/*", chunk-1), whole[:chunk]); got.StatusCode != http.StatusPermanentRedirect {
		t.Fatalf("first chunk: %s", got.Status)
	}
	c.Kill()
	c = startChild(t, "--data", dir)
	if got := send(c, http.MethodPut, path, "bytes */*", nil); got.Header.Get("Range") != fmt.Sprintf("bytes=0-%d", chunk-1) {
		t.Fatalf("state after the kill: %s %q", got.Status, got.Header.Get("Range"))
	}
	if got := send(c, http.MethodPut, path, fmt.Sprintf("bytes %d-%d/%d", chunk, 2*chunk-1, 2*chunk), whole[chunk:]); got.StatusCode != http.StatusOK {
		t.Fatalf("second chunk: %s", got.Status)
	}
	l := &ledger{objects: map[string]int{}}
	l.check(t, c)
	r, err := c.storage(t).Bucket("load").Object("o").NewReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
}

// TestMemoryStaysBounded uploads a large object and looks at the process's peak memory.
func TestMemoryStaysBounded(t *testing.T) { //nolint:paralleltest // it moves 1 GiB, beside which nothing else is worth running
	if testing.Short() {
		t.Skip("-short: moves 1 GiB")
	}
	size := int64(1 << 30)
	if os.Getenv("COOPER_SOAK") != "" {
		size = 5 << 30
	}
	const limit = 256 << 20
	c := startChild(t)
	o := c.storage(t).Bucket("big").Object("big")
	if err := c.storage(t).Bucket("big").Create(t.Context(), c.project(), nil); err != nil {
		t.Fatal(err)
	}
	w := o.NewWriter(t.Context())
	if _, err := io.Copy(w, io.LimitReader(endless{}, size)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := o.NewReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, r)
	if err = errors.Join(err, r.Close()); err != nil || n != size {
		t.Fatalf("read back %d bytes, want %d: %v", n, size, err)
	}
	peak := c.PeakMemory(t)
	t.Logf("%d MiB in chunks: peak resident memory %d MiB", size>>20, peak>>20)
	if peak > limit {
		t.Errorf("peak resident memory %d MiB, want at most %d MiB", peak>>20, int64(limit)>>20)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
