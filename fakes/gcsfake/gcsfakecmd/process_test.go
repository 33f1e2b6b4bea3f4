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
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/gcsfakecmd"
	"github.com/cooper-cosi/cooper/fakes/internal/fakecmd/fakecmdtest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

func TestMain(m *testing.M) { os.Exit(fakecmdtest.Main(m, gcsfakecmd.Prepare)) }

// child is the command in a process of its own.
type child struct{ *fakecmdtest.Child }

// wantNoError ends the test if there is an error.
func wantNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

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
	wantNoError(t, err)
	client.SetRetry(storage.WithPolicy(storage.RetryNever))
	return client
}

func (c child) accounts(t *testing.T) *iam.ProjectsServiceAccountsService {
	t.Helper()
	s, err := iam.NewService(t.Context(), c.options("/")...)
	wantNoError(t, err)
	return s.Projects.ServiceAccounts
}

func (c child) project() string { return c.Env["GOOGLE_CLOUD_PROJECT"] }

// TestNothingAcknowledgedIsLost kills the process under load, again and again, and looks for everything that it had
// acknowledged: nothing is lost, and nothing that was deleted is back.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	l := newLedger()
	for round := range 3 {
		c := startChild(t, "--data", dir)
		if round == 0 {
			l.prepare(t, c)
		}
		l.check(t, c)
		l.load(t, c, round, 250)
	}
	l.check(t, startChild(t, "--data", dir))
}

// ledger records the writes that the process has acknowledged.
type ledger struct {
	mu    sync.Mutex
	count int
	// objects have contents determined by their name and size; deleted ones do not exist.
	objects map[string]int
	deleted []string
	// overwritten has the least size that the object has, which is written again and again and grows each time.
	overwritten int
	accounts    []string
	// inactive are HMAC keys that were switched off; members are in the bucket's policy.
	inactive, members []string
}

func newLedger() *ledger { return &ledger{objects: map[string]int{}} }

// note records an acknowledged write, and reports whether there are enough.
func (l *ledger) note(enough int, record func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	record()
	return l.count >= enough
}

// loaded is the account that the load makes HMAC keys for.
const loaded = "loaded-account"

func (l *ledger) prepare(t *testing.T, c child) {
	t.Helper()
	wantNoError(t, c.storage(t).Bucket("load").Create(t.Context(), c.project(), &storage.BucketAttrs{SoftDeletePolicy: &storage.SoftDeletePolicy{}}))
	if _, err := c.accounts(t).Create("projects/"+c.project(), &iam.CreateServiceAccountRequest{AccountId: loaded}).Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
}

// load writes from several clients until enough is acknowledged, then kills the process in the middle of it.
func (l *ledger) load(t *testing.T, c child, round, enough int) {
	t.Helper()
	l.mu.Lock()
	enough += l.count
	l.mu.Unlock()
	client, accounts := c.storage(t), c.accounts(t)
	work := map[string]func(n int) (func(), error){
		"accounts":   func(n int) (func(), error) { return l.makeAccount(t, c, accounts, round, n) },
		"policies":   func(n int) (func(), error) { return l.bind(t, client, round, n) },
		"HMAC keys":  func(int) (func(), error) { return l.switchOff(t, c, client) },
		"overwrites": func(int) (func(), error) { return l.overwrite(t, client) },
		"deletions":  func(n int) (func(), error) { return l.writeAndDelete(t, client, fmt.Sprintf("%d/gone/%d", round, n)) },
	}
	for worker := range 4 {
		work[fmt.Sprint("objects ", worker)] = func(n int) (func(), error) {
			return l.write(t, client, fmt.Sprintf("%d/%d/%d", round, worker, n), 100+n*37)
		}
	}
	var wg sync.WaitGroup
	for _, step := range work {
		wg.Go(func() {
			for n := 0; ; n++ {
				record, err := step(n)
				if err != nil {
					return
				}
				if l.note(enough, record) {
					c.Strike() // another worker may have been faster
				}
			}
		})
	}
	wg.Wait()
	c.Kill()
}

func (l *ledger) write(t *testing.T, client *storage.Client, key string, size int) (func(), error) {
	err := write(t.Context(), client.Bucket("load").Object(key), fakecmdtest.Content(key, size))
	return func() { l.objects[key] = size }, err
}

func (l *ledger) writeAndDelete(t *testing.T, client *storage.Client, key string) (func(), error) {
	o := client.Bucket("load").Object(key)
	if err := write(t.Context(), o, []byte("text")); err != nil {
		return nil, err
	}
	return func() { l.deleted = append(l.deleted, key) }, o.Delete(t.Context())
}

func (l *ledger) overwrite(t *testing.T, client *storage.Client) (func(), error) {
	size := l.overwritten + 1 // no other goroutine changes it
	err := write(t.Context(), client.Bucket("load").Object("same"), fakecmdtest.Content("same", size))
	return func() { l.overwritten = size }, err
}

// enoughAccounts is how many accounts one round makes: a project has room for a hundred.
const enoughAccounts = 20

func (l *ledger) makeAccount(t *testing.T, c child, accounts *iam.ProjectsServiceAccountsService, round, n int) (func(), error) {
	if n == enoughAccounts {
		return nil, errors.New("enough")
	}
	a, err := accounts.Create("projects/"+c.project(), &iam.CreateServiceAccountRequest{AccountId: fmt.Sprintf("account-%d-%d", round, n)}).Context(t.Context()).Do()
	if err != nil {
		return nil, err
	}
	return func() { l.accounts = append(l.accounts, a.Name) }, nil
}

func (l *ledger) bind(t *testing.T, client *storage.Client, round, n int) (func(), error) {
	handle := client.Bucket("load").IAM()
	policy, err := handle.Policy(t.Context())
	if err != nil {
		return nil, err
	}
	member := fmt.Sprintf("user:u-%d-%d@example.com", round, n)
	policy.Add(member, "roles/storage.objectViewer")
	return func() { l.members = append(l.members, member) }, handle.SetPolicy(t.Context(), policy)
}

// switchOff makes an HMAC key, switches it off, and deletes the one before, since an account has ten.
func (l *ledger) switchOff(t *testing.T, c child, client *storage.Client) (func(), error) {
	if n := len(l.inactive); n > 0 { // no other goroutine changes it
		former := l.inactive[n-1]
		l.inactive = l.inactive[:n-1]
		if err := client.HMACKeyHandle(c.project(), former).Delete(t.Context()); err != nil {
			return nil, err
		}
	}
	key, err := client.CreateHMACKey(t.Context(), c.project(), loaded+"@"+c.project()+".iam.gserviceaccount.com")
	if err != nil {
		return nil, err
	}
	_, err = client.HMACKeyHandle(c.project(), key.AccessID).Update(t.Context(), storage.HMACKeyAttrsToUpdate{State: storage.Inactive})
	return func() { l.inactive = append(l.inactive, key.AccessID) }, err
}

func (l *ledger) check(t *testing.T, c child) {
	t.Helper()
	client, accounts := c.storage(t), c.accounts(t)
	bucket := client.Bucket("load")
	for key, size := range l.objects {
		if got := read(t, bucket.Object(key)); !bytes.Equal(got, fakecmdtest.Content(key, size)) {
			t.Fatalf("acknowledged object %s came back with %d bytes, want %d", key, len(got), size)
		}
	}
	for _, key := range l.deleted {
		if _, err := bucket.Object(key).Attrs(t.Context()); !errors.Is(err, storage.ErrObjectNotExist) {
			t.Fatalf("deleted object %s is back: %v", key, err)
		}
	}
	if l.overwritten > 0 {
		got := read(t, bucket.Object("same"))
		if len(got) < l.overwritten || !bytes.Equal(got, fakecmdtest.Content("same", len(got))) {
			t.Fatalf("the overwritten object came back with %d bytes, want at least %d", len(got), l.overwritten)
		}
		l.overwritten = len(got) // a write whose acknowledgement was lost
	}
	for _, name := range l.accounts {
		if _, err := accounts.Get(name).Context(t.Context()).Do(); err != nil {
			t.Fatalf("acknowledged account %s is lost: %v", name, err)
		}
	}
	l.checkAccess(t, c, client)
}

func (l *ledger) checkAccess(t *testing.T, c child, client *storage.Client) {
	t.Helper()
	for _, id := range l.inactive {
		if got, err := client.HMACKeyHandle(c.project(), id).Get(t.Context()); err != nil || got.State != storage.Inactive {
			t.Fatalf("HMAC key %s, which was switched off: %+v, %v", id, got, err)
		}
	}
	if len(l.members) == 0 {
		return
	}
	policy, err := client.Bucket("load").IAM().V3().Policy(t.Context())
	wantNoError(t, err)
	var bound []string
	for _, b := range policy.Bindings {
		bound = append(bound, b.Members...)
	}
	for _, member := range l.members {
		if !slices.Contains(bound, member) {
			t.Fatalf("acknowledged member %s is lost", member)
		}
	}
}

func read(t *testing.T, o *storage.ObjectHandle) []byte {
	t.Helper()
	r, err := o.NewReader(t.Context())
	if err != nil {
		t.Fatalf("acknowledged object %s is lost: %v", o.ObjectName(), err)
	}
	got, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatalf("read object %s: %v", o.ObjectName(), err)
	}
	return got
}

func write(ctx context.Context, o *storage.ObjectHandle, body []byte) error {
	w := o.NewWriter(ctx)
	w.ChunkSize = 0
	_, err := w.Write(body)
	return errors.Join(err, w.Close())
}

// TestAResumableUploadSurvivesAKill continues an upload in another process.
func TestAResumableUploadSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	c := startChild(t, "--data", dir)
	wantNoError(t, c.storage(t).Bucket("load").Create(t.Context(), c.project(), nil))
	token := accessToken(t, c)
	send := func(c child, method, path, contentRange string, body []byte) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, c.Env["GCS_ENDPOINT_URL"]+path, bytes.NewReader(body))
		wantNoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		if contentRange != "" {
			req.Header.Set("Content-Range", contentRange)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		wantNoError(t, err)
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
	// The response was lost with the process: the client asks again, and gets the same object.
	c.Kill()
	c = startChild(t, "--data", dir)
	if got := send(c, http.MethodPut, path, fmt.Sprintf("bytes */%d", 2*chunk), nil); got.StatusCode != http.StatusOK {
		t.Errorf("state after the end: %s", got.Status)
	}
	if got := read(t, c.storage(t).Bucket("load").Object("o")); !bytes.Equal(got, whole) {
		t.Errorf("%d bytes came back", len(got))
	}
}

// TestMemoryStaysBounded uploads a large object and looks at the process's peak memory.
func TestMemoryStaysBounded(t *testing.T) { //nolint:paralleltest // it moves 1 GiB and needs the whole machine
	fulltest.Only(t, "TestMemoryStaysBounded in fakes/s3fake/s3fakecmd")
	size := int64(fulltest.Size(1024, 1024, 5120)) << 20 // more than limit
	const limit = 256 << 20
	c := startChild(t)
	o := c.storage(t).Bucket("big").Object("big")
	wantNoError(t, c.storage(t).Bucket("big").Create(t.Context(), c.project(), nil))
	w := o.NewWriter(t.Context())
	if _, err := io.Copy(w, io.LimitReader(endless{}, size)); err != nil {
		t.Fatal(err)
	}
	wantNoError(t, w.Close())
	r, err := o.NewReader(t.Context())
	wantNoError(t, err)
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
