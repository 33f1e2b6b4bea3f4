// SPDX-License-Identifier: Apache-2.0

package gcsfakecmd_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/spf13/pflag"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/gcsfakecmd"
)

// childMark makes the test binary be the command instead of running tests.
const childMark = "GCSFAKECMD_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMark) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt) //nolint:forbidigo // this is a main, not a test
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, stdout io.Writer) error {
	flags := pflag.NewFlagSet("fakes gcs", pflag.ContinueOnError)
	run := gcsfakecmd.Prepare(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	return run(ctx, stdout, io.Discard)
}

// child is the command in a process of its own.
type child struct {
	cmd *exec.Cmd
	env map[string]string
}

func startChild(t *testing.T, args ...string) *child {
	t.Helper()
	key := filepath.Join(t.TempDir(), "admin.json")
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"--listen", "127.0.0.1:0", "--key-file", key}, args...)...)
	cmd.Env = append(os.Environ(), childMark+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, env: map[string]string{}}
	t.Cleanup(c.kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "# ready") {
			return c
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		c.env[name] = value
	}
	t.Fatal("the command ended before it was ready")
	return nil
}

// kill ends the process without giving it a chance; a second call does nothing.
func (c *child) kill() {
	_ = c.cmd.Process.Signal(syscall.SIGKILL) // it may be gone already
	_ = c.cmd.Wait()                          // killed: always an error
}

func (c *child) options(path string) []option.ClientOption {
	return []option.ClientOption{
		option.WithEndpoint(c.env["GCS_ENDPOINT_URL"] + path),
		option.WithAuthCredentialsFile(option.ServiceAccount, c.env["GOOGLE_APPLICATION_CREDENTIALS"]),
	}
}

func (c *child) storage(t *testing.T) *storage.Client {
	t.Helper()
	client, err := storage.NewClient(t.Context(), c.options("/storage/v1/")...)
	if err != nil {
		t.Fatal(err)
	}
	client.SetRetry(storage.WithPolicy(storage.RetryNever))
	return client
}

func (c *child) accounts(t *testing.T) *iam.ProjectsServiceAccountsService {
	t.Helper()
	s, err := iam.NewService(t.Context(), c.options("/")...)
	if err != nil {
		t.Fatal(err)
	}
	return s.Projects.ServiceAccounts
}

func (c *child) project() string { return c.env["GOOGLE_CLOUD_PROJECT"] }

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
func (l *ledger) load(t *testing.T, c *child, round, enough int) {
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
				if err := write(t.Context(), client.Bucket("load").Object(key), content(key, size)); err != nil {
					return
				}
				l.mu.Lock()
				l.objects[key] = size
				l.mu.Unlock()
				if l.size() >= target {
					_ = c.cmd.Process.Signal(syscall.SIGKILL) // another worker may have been faster
				}
			}
		})
	}
	wg.Wait()
	c.kill()
}

func write(ctx context.Context, o *storage.ObjectHandle, body []byte) error {
	w := o.NewWriter(ctx)
	w.ChunkSize = 0
	_, err := w.Write(body)
	return errors.Join(err, w.Close())
}

func content(key string, size int) []byte {
	return bytes.Repeat([]byte(key+"\n"), size/(len(key)+1)+1)[:size]
}

func (l *ledger) check(t *testing.T, c *child) {
	t.Helper()
	client, accounts := c.storage(t), c.accounts(t)
	for key, size := range l.objects {
		r, err := client.Bucket("load").Object(key).NewReader(t.Context())
		if err != nil {
			t.Fatalf("acknowledged object %s is lost: %v", key, err)
		}
		got, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, content(key, size)) {
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
	send := func(c *child, method, path, contentRange string, body []byte) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, c.env["GCS_ENDPOINT_URL"]+path, bytes.NewReader(body))
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
	whole := content("resumed", 2*chunk)
	begun := send(c, http.MethodPost, "/upload/storage/v1/b/load/o?uploadType=resumable&name=o", "", nil)
	path := strings.TrimPrefix(begun.Header.Get("Location"), c.env["GCS_ENDPOINT_URL"])
	if got := send(c, http.MethodPut, path, fmt.Sprintf("bytes 0-%d/*", chunk-1), whole[:chunk]); got.StatusCode != http.StatusPermanentRedirect {
		t.Fatalf("first chunk: %s", got.Status)
	}
	c.kill()
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
	peak := peakMemory(t, c.cmd.Process.Pid)
	t.Logf("%d MiB in chunks: peak resident memory %d MiB", size>>20, peak>>20)
	if peak > limit {
		t.Errorf("peak resident memory %d MiB, want at most %d MiB", peak>>20, int64(limit)>>20)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Skipf("no peak memory on this system: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("no VmHWM in the process's status")
	return 0
}
