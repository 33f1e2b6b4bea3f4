// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// fake is a started server with clients for it.
type fake struct {
	*gcsfake.Server
}

// wantNoError ends the test if there is an error.
func wantNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func start(t *testing.T, o gcsfake.Options) fake {
	t.Helper()
	s := faketest.Start(t, gcsfake.New, o)
	return fake{s}
}

func (f fake) adminKey(t *testing.T) []byte {
	t.Helper()
	key, err := f.AdminKey("")
	wantNoError(t, err)
	return key
}

// storage is the official client with a JSON key.
func (f fake) storage(t *testing.T, key []byte, more ...option.ClientOption) *storage.Client {
	t.Helper()
	options := append([]option.ClientOption{option.WithEndpoint(f.URL() + "/storage/v1/"), option.WithAuthCredentialsJSON(option.ServiceAccount, key)}, more...)
	c, err := storage.NewClient(t.Context(), options...)
	wantNoError(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (f fake) iam(t *testing.T, key []byte) *iam.Service {
	t.Helper()
	s, err := iam.NewService(t.Context(), option.WithEndpoint(f.URL()+"/"), option.WithAuthCredentialsJSON(option.ServiceAccount, key))
	wantNoError(t, err)
	return s
}

// bucket makes a bucket with uniform access.
func (f fake) bucket(t *testing.T, name string) *storage.BucketHandle {
	t.Helper()
	b := f.storage(t, f.adminKey(t)).Bucket(name)
	wantNoError(t, b.Create(t.Context(), f.ProjectID(), &storage.BucketAttrs{UniformBucketLevelAccess: storage.UniformBucketLevelAccess{Enabled: true}}))
	return b
}

// account makes a service account with a JSON key through the IAM API.
func (f fake) account(t *testing.T, id string) (email string, key []byte) {
	t.Helper()
	accounts := f.iam(t, f.adminKey(t)).Projects.ServiceAccounts
	a, err := accounts.Create("projects/"+f.ProjectID(), &iam.CreateServiceAccountRequest{AccountId: id}).Context(t.Context()).Do()
	wantNoError(t, err)
	k, err := accounts.Keys.Create(a.Name, &iam.CreateServiceAccountKeyRequest{}).Context(t.Context()).Do()
	wantNoError(t, err)
	raw, err := base64.StdEncoding.DecodeString(k.PrivateKeyData)
	wantNoError(t, err)
	return a.Email, raw
}

// newElement returns an empty element for a list of messages.
func newElement[T any]([]*T) *T { return new(T) }

// bind adds a binding to a bucket's policy.
func bind(t *testing.T, b *storage.BucketHandle, role, member string) {
	t.Helper()
	p, err := b.IAM().V3().Policy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	added := newElement(p.Bindings)
	added.Role, added.Members = role, []string{member}
	p.Bindings = append(p.Bindings, added)
	if err := b.IAM().V3().SetPolicy(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func write(ctx context.Context, o *storage.ObjectHandle, body []byte, chunk int) error {
	w := o.NewWriter(ctx)
	w.ChunkSize = chunk
	w.ContentType = "text/plain"
	_, err := w.Write(body)
	return errors.Join(err, w.Close())
}

func read(ctx context.Context, o *storage.ObjectHandle) ([]byte, error) {
	r, err := o.NewReader(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(r)
	return raw, errors.Join(err, r.Close())
}

func status(err error) int {
	if e, ok := errors.AsType[*googleapi.Error](err); ok {
		return e.Code
	}
	return 0
}

// body is n bytes that differ.
func body(n int) []byte { return bytes.Repeat([]byte("0123456789abcdef\n"), n/17+1)[:n] }

func TestOfficialClientDoesItsOrdinaryWork(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	ctx := t.Context()
	b := f.storage(t, f.adminKey(t)).Bucket("work")
	attrs := &storage.BucketAttrs{
		Location: "europe-west1", StorageClass: "NEARLINE", VersioningEnabled: true, Labels: map[string]string{"cosi-name": "x"},
		UniformBucketLevelAccess: storage.UniformBucketLevelAccess{Enabled: true}, PublicAccessPrevention: storage.PublicAccessPreventionEnforced,
		Lifecycle: storage.Lifecycle{Rules: []storage.LifecycleRule{{Action: storage.LifecycleAction{Type: "Delete"}, Condition: storage.LifecycleCondition{AgeInDays: 3}}}},
	}
	wantNoError(t, b.Create(ctx, f.ProjectID(), attrs))
	if err := b.Create(ctx, f.ProjectID(), attrs); status(err) != http.StatusConflict {
		t.Errorf("create again: %v, want 409", err)
	}
	got, err := b.Attrs(ctx)
	wantNoError(t, err)
	if got.Location != "EUROPE-WEST1" || got.StorageClass != "NEARLINE" || !got.VersioningEnabled || got.Labels["cosi-name"] != "x" || len(got.Lifecycle.Rules) != 1 || got.PublicAccessPrevention != storage.PublicAccessPreventionEnforced {
		t.Errorf("attributes came back as %+v", got)
	}
	for name, chunk := range map[string]int{"one": 0, "chunks": 256 << 10} {
		want := body(1 << 20)
		if err := write(ctx, b.Object("dir/"+name), want, chunk); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
		back, err := read(ctx, b.Object("dir/"+name))
		if err != nil || !bytes.Equal(back, want) {
			t.Errorf("read %s: %d bytes, %v", name, len(back), err)
		}
	}
	if _, err := b.Object("copy").CopierFrom(b.Object("dir/one")).Run(ctx); err != nil {
		t.Error(err)
	}
	if _, err := b.Object("sum").ComposerFrom(b.Object("dir/one"), b.Object("copy")).Run(ctx); err != nil {
		t.Error(err)
	}
	if _, err := b.Object("sum").Update(ctx, storage.ObjectAttrsToUpdate{Metadata: map[string]string{"a": "b"}}); err != nil {
		t.Error(err)
	}
	if err := b.Object("copy").Delete(ctx); err != nil {
		t.Error(err)
	}
	if err := b.Delete(ctx); status(err) != http.StatusConflict {
		t.Errorf("delete a bucket with objects: %v, want 409", err)
	}
	emptyBucket(t, b, 4)
	if err := b.Delete(ctx); err != nil {
		t.Error(err)
	}
}

// emptyBucket deletes every generation.
func emptyBucket(t *testing.T, b *storage.BucketHandle, want int) {
	t.Helper()
	n := 0
	for it := b.Objects(t.Context(), &storage.Query{Versions: true}); ; n++ {
		o, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		wantNoError(t, err)
		if err := b.Object(o.Name).Generation(o.Generation).Delete(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n != want {
		t.Errorf("%d generations, want %d", n, want)
	}
}

func TestAKeyOpensWhatItsBindingsAllow(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	ctx := t.Context()
	b := f.bucket(t, "data")
	other := f.bucket(t, "other")
	email, key := f.account(t, "reader-one")
	wantNoError(t, write(ctx, b.Object("o"), []byte("hello"), 0))
	wantNoError(t, write(ctx, other.Object("o"), []byte("secret"), 0))
	bind(t, b, "roles/storage.objectViewer", "serviceAccount:"+email)
	client := f.storage(t, key)
	mine := client.Bucket("data").Object("o")
	if got, err := read(ctx, mine); err != nil || string(got) != "hello" {
		t.Errorf("read: %q, %v", got, err)
	}
	if err := write(ctx, mine, []byte("x"), 0); status(err) != http.StatusForbidden {
		t.Errorf("a reader writes: %v, want 403", err)
	}
	if _, err := read(ctx, client.Bucket("other").Object("o")); status(err) != http.StatusForbidden {
		t.Errorf("a reader reads another bucket: %v, want 403", err)
	}
	if _, err := f.iam(t, f.adminKey(t)).Projects.ServiceAccounts.Delete("projects/-/serviceAccounts/" + email).Context(ctx).Do(); err != nil {
		t.Fatal(err)
	}
	if _, err := read(ctx, mine); status(err) != http.StatusUnauthorized {
		t.Errorf("a deleted account reads: %v, want 401", err)
	}
	p, err := b.IAM().V3().Policy(ctx)
	wantNoError(t, err)
	if text := p.Bindings[len(p.Bindings)-1].Members[0]; !strings.HasPrefix(text, "deleted:serviceAccount:"+email+"?uid=") {
		t.Errorf("the member of a deleted account is shown as %q", text)
	}
}

func TestMinIOClientWorksWithAnHMACKey(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	ctx := t.Context()
	b := f.bucket(t, "data")
	email, _ := f.account(t, "writer-one")
	bind(t, b, "roles/storage.objectUser", "serviceAccount:"+email)
	bind(t, b, "roles/storage.legacyBucketReader", "serviceAccount:"+email)
	k, err := f.storage(t, f.adminKey(t)).CreateHMACKey(ctx, f.ProjectID(), email)
	wantNoError(t, err)
	c, err := minio.New(strings.TrimPrefix(f.URL(), "http://"), &minio.Options{Creds: credentials.NewStaticV4(k.AccessID, k.Secret, ""), Region: "auto"})
	wantNoError(t, err)
	if ok, err := c.BucketExists(ctx, "data"); !ok || err != nil {
		t.Errorf("bucket exists: %v, %v", ok, err)
	}
	for name, size := range map[string]int{"small": 100, "large": 17 << 20} {
		want := body(size)
		if _, err := c.PutObject(ctx, "data", name, bytes.NewReader(want), int64(size), minio.PutObjectOptions{PartSize: 5 << 20}); err != nil {
			t.Fatalf("put %s: %v", name, err)
		}
		o, err := c.GetObject(ctx, "data", name, minio.GetObjectOptions{})
		wantNoError(t, err)
		got, err := io.ReadAll(o)
		if err = errors.Join(err, o.Close()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("get %s: %d bytes, %v", name, len(got), err)
		}
	}
	n := 0
	for o := range c.ListObjects(ctx, "data", minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		n++
		if err := c.RemoveObject(ctx, "data", o.Key, minio.RemoveObjectOptions{}); err != nil {
			t.Error(err)
		}
	}
	if n != 2 {
		t.Errorf("%d objects listed, want 2", n)
	}
	handle := f.storage(t, f.adminKey(t)).HMACKeyHandle(f.ProjectID(), k.AccessID)
	if err := handle.Delete(ctx); status(err) != http.StatusBadRequest {
		t.Errorf("delete an active key: %v, want 400", err)
	}
	if _, err := handle.Update(ctx, storage.HMACKeyAttrsToUpdate{State: storage.Inactive}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PutObject(ctx, "data", "late", strings.NewReader("x"), 1, minio.PutObjectOptions{}); minio.ToErrorResponse(err).Code != "InvalidAccessKeyId" {
		t.Errorf("an inactive key writes: %v", err)
	}
	if err := handle.Delete(ctx); err != nil {
		t.Error(err)
	}
}
