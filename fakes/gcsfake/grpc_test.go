// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// tokenCredentials sends a token without TLS, which Google's credentials do not.
type tokenCredentials string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (c tokenCredentials) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(c)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (tokenCredentials) RequireTransportSecurity() bool { return false }

// grpc is the official client of the gRPC API with an access token, "" for none.
func (f fake) grpc(t *testing.T, token string, more ...option.ClientOption) *storage.Client {
	t.Helper()
	options := append([]option.ClientOption{
		option.WithEndpoint(strings.TrimPrefix(f.URL(), "http://")), option.WithoutAuthentication(), storage.WithDisabledClientMetrics(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}, more...)
	if token != "" {
		options = append(options, option.WithGRPCDialOption(grpc.WithPerRPCCredentials(tokenCredentials(token))))
	}
	c, err := storage.NewGRPCClient(t.Context(), options...)
	wantNoError(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// adminGRPC is a client with all permissions.
func (f fake) adminGRPC(t *testing.T, more ...option.ClientOption) *storage.Client {
	t.Helper()
	token, err := f.Token(f.AdminEmail(""))
	wantNoError(t, err)
	return f.grpc(t, token, more...)
}

// grpcBucket creates a bucket by gRPC.
func (f fake) grpcBucket(t *testing.T, name string, attrs *storage.BucketAttrs) *storage.BucketHandle {
	t.Helper()
	b := f.adminGRPC(t).Bucket(name)
	wantNoError(t, b.Create(t.Context(), f.ProjectID(), attrs))
	return b
}

// TestGRPCRefusals calls what the fake does not serve by gRPC. The call fails at once and its error names the feature.
func TestGRPCRefusals(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	conn, err := grpc.NewClient(strings.TrimPrefix(f.URL(), "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	wantNoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	b := f.grpcBucket(t, "docs", nil)
	wantNoError(t, write(t.Context(), b.Object("k"), []byte("x"), 0))
	for name, tc := range map[string]struct {
		call func() error
		want string
	}{
		"a call of the service": {func() error {
			return conn.Invoke(t.Context(), "/google.storage.v2.Storage/WriteObject", &emptypb.Empty{}, &emptypb.Empty{})
		}, "google.storage.v2.Storage/WriteObject"},
		"another service": {func() error {
			return conn.Invoke(t.Context(), "/google.storage.control.v2.StorageControl/GetFolder", &emptypb.Empty{}, &emptypb.Empty{})
		}, "STORAGE_EMULATOR_HOST"},
		"an appendable object": {func() error {
			w := b.Object("a").NewWriter(t.Context())
			w.Append = true
			return w.Close()
		}, "appendable objects"},
		"a field": {func() error {
			_, err := b.Object("k").Update(t.Context(), storage.ObjectAttrsToUpdate{
				Contexts: &storage.ObjectContexts{Custom: map[string]storage.ObjectCustomContextPayload{"a": {Value: "b"}}},
			})
			return err
		}, "field 38 of the message Object"},
		"a field of the JSON API": {func() error {
			return f.adminGRPC(t).Bucket("b2").Create(t.Context(), f.ProjectID(), &storage.BucketAttrs{HierarchicalNamespace: &storage.HierarchicalNamespace{Enabled: true}})
		}, "hierarchicalNamespace"},
	} {
		err := tc.call()
		if grpcstatus.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want Unimplemented with %q", name, err, tc.want)
		}
	}
}

// TestGRPCBuckets manages a bucket by gRPC.
func TestGRPCBuckets(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	ctx := t.Context()
	before := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)
	b := f.grpcBucket(t, "docs", &storage.BucketAttrs{
		Location: "EUROPE-WEST1", StorageClass: "NEARLINE", VersioningEnabled: true, Labels: map[string]string{"team": "a", "stage": "test"},
		UniformBucketLevelAccess: storage.UniformBucketLevelAccess{Enabled: true}, PublicAccessPrevention: storage.PublicAccessPreventionEnforced,
		SoftDeletePolicy: &storage.SoftDeletePolicy{RetentionDuration: 8 * 24 * time.Hour},
		Logging:          &storage.BucketLogging{LogBucket: "logs", LogObjectPrefix: "p"}, Website: &storage.BucketWebsite{MainPageSuffix: "index.html"},
		CORS: []storage.CORS{{MaxAge: time.Hour, Methods: []string{"GET"}, Origins: []string{"*"}, ResponseHeaders: []string{"ETag"}}},
		Lifecycle: storage.Lifecycle{Rules: []storage.LifecycleRule{
			{Action: storage.LifecycleAction{Type: "Delete"}, Condition: storage.LifecycleCondition{AgeInDays: 3, CreatedBefore: before, Liveness: storage.Archived}},
		}},
	})
	got, err := b.Attrs(ctx)
	wantNoError(t, err)
	byHTTP, err := f.storage(t, f.adminKey(t)).Bucket("docs").Attrs(ctx)
	wantNoError(t, err)
	same := func(got *storage.BucketAttrs) *storage.BucketAttrs {
		c := *got
		c.Etag = "" // the client does not read it by gRPC
		return &c
	}
	if diff := cmp.Diff(same(byHTTP), same(got)); diff != "" {
		t.Errorf("the bucket by HTTP and by gRPC (-HTTP +gRPC):\n%s", diff)
	}
	change := storage.BucketAttrsToUpdate{
		VersioningEnabled: false, Website: &storage.BucketWebsite{}, Lifecycle: &storage.Lifecycle{}, RetentionPolicy: &storage.RetentionPolicy{RetentionPeriod: time.Hour},
		UniformBucketLevelAccess: &storage.UniformBucketLevelAccess{Enabled: false},
	}
	change.SetLabel("team", "b")
	change.DeleteLabel("stage")
	got, err = b.If(storage.BucketConditions{MetagenerationMatch: got.MetaGeneration}).Update(ctx, change)
	wantNoError(t, err)
	if got.VersioningEnabled || got.UniformBucketLevelAccess.Enabled || len(got.Lifecycle.Rules) != 0 || got.RetentionPolicy.RetentionPeriod != time.Hour ||
		got.PublicAccessPrevention != storage.PublicAccessPreventionEnforced || !cmp.Equal(got.Labels, map[string]string{"team": "b"}) {
		t.Errorf("updated: %+v", got)
	}
	wantNoError(t, b.If(storage.BucketConditions{MetagenerationMatch: got.MetaGeneration}).LockRetentionPolicy(ctx))
	if got, err = b.Attrs(ctx); err != nil || !got.RetentionPolicy.IsLocked {
		t.Errorf("the policy is not locked: %+v, %v", got.RetentionPolicy, err)
	}
	f.grpcBucket(t, "other", nil)
	var names []string
	for it := f.adminGRPC(t).Buckets(ctx, f.ProjectID()); ; {
		attrs, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		wantNoError(t, err)
		names = append(names, attrs.Name)
	}
	if !slices.Equal(names, []string{"docs", "other"}) {
		t.Errorf("the buckets are %v", names)
	}
	wantNoError(t, b.Delete(ctx))
}

// TestGRPCAccess evaluates permissions by gRPC as by HTTP.
func TestGRPCAccess(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{AnonymousIs: "stand-in"})
	ctx := t.Context()
	b := f.grpcBucket(t, "docs", &storage.BucketAttrs{UniformBucketLevelAccess: storage.UniformBucketLevelAccess{Enabled: true}})
	wantNoError(t, write(ctx, b.Object("k"), []byte("x"), 0))
	email, err := f.NewAccount("", "reader")
	wantNoError(t, err)
	token, err := f.Token(email)
	wantNoError(t, err)
	reader := f.grpc(t, token).Bucket("docs")
	expect := func(when string, o *storage.ObjectHandle, want codes.Code) {
		t.Helper()
		if _, err := read(ctx, o); grpcstatus.Code(err) != want {
			t.Errorf("%s: got %v, want %v", when, err, want)
		}
	}
	expect("without a role", reader.Object("k"), codes.PermissionDenied)
	expect("an invalid token", f.grpc(t, "invented").Bucket("docs").Object("k"), codes.Unauthenticated)
	expect("anonymous without an account", f.grpc(t, "").Bucket("docs").Object("k"), codes.Unauthenticated)
	bind(t, b, "roles/storage.objectViewer", "serviceAccount:"+email)
	expect("with a role", reader.Object("k"), codes.OK)
	if err := write(ctx, reader.Object("k2"), []byte("x"), 0); grpcstatus.Code(err) != codes.PermissionDenied {
		t.Errorf("a write by a reader: %v", err)
	}
	got, err := reader.IAM().TestPermissions(ctx, []string{"storage.objects.get", "storage.objects.delete"})
	if err != nil || !slices.Equal(got, []string{"storage.objects.get"}) {
		t.Errorf("the permissions of a reader: %v, %v", got, err)
	}
	if _, err := reader.IAM().V3().Policy(ctx); grpcstatus.Code(err) != codes.PermissionDenied {
		t.Errorf("the policy for a reader: %v", err)
	}
	standIn, err := f.NewAccount("", "stand-in")
	wantNoError(t, err)
	bind(t, b, "roles/storage.objectViewer", "serviceAccount:"+standIn)
	expect("anonymous as an account", f.grpc(t, "").Bucket("docs").Object("k"), codes.OK)
	calls := f.Calls()
	if last := calls[len(calls)-1]; last.Operation != "storage.objects.get" || last.Principal != standIn || last.Resource != "docs/k" {
		t.Errorf("recorded %+v", last)
	}
}

// TestGRPCWrites writes objects of several sizes in all ways of the client, with lost connections.
func TestGRPCWrites(t *testing.T) {
	t.Parallel()
	insert := func(effect fault.Effect, nth int) *fault.Rule {
		return &fault.Rule{Operation: "storage.objects.insert", Nth: nth, Effect: effect}
	}
	for name, tc := range map[string]struct {
		size, chunk int
		rule        *fault.Rule
	}{
		"an empty object":                         {0, 0, nil},
		"one message":                             {1000, 0, nil},
		"one stream":                              {9<<20 + 1, 0, nil},
		"a resumable upload of one chunk":         {256 << 10, 256 << 10, nil},
		"a resumable upload of many chunks":       {3<<20 + 7, 256 << 10, nil},
		"a resumable upload of large chunks":      {9<<20 + 7, 8 << 20, nil},
		"a chunk is lost":                         {3<<20 + 7, 256 << 10, insert(fault.Drop, 4)},
		"the response to a chunk is lost":         {3<<20 + 7, 256 << 10, insert(fault.DropAfter, 4)},
		"the service is unavailable":              {3<<20 + 7, 256 << 10, &fault.Rule{Operation: "storage.objects.insert", Nth: 5, Code: "backendError"}},
		"the response to the last chunk is lost":  {300 << 10, 256 << 10, insert(fault.DropAfter, 4)},
		"the start of a resumable upload is lost": {1 << 20, 256 << 10, insert(fault.Drop, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, gcsfake.Options{})
			b := f.grpcBucket(t, "docs", nil)
			if tc.rule != nil {
				wantNoError(t, f.Faults.Add(*tc.rule))
			}
			want, o := body(tc.size), b.Object("a/ü%2F k").Retryer(storage.WithPolicy(storage.RetryAlways))
			wantNoError(t, write(t.Context(), o, want, tc.chunk))
			if got, err := read(t.Context(), o); err != nil || !bytes.Equal(got, want) {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
			attrs, err := f.storage(t, f.adminKey(t)).Bucket("docs").Object("a/ü%2F k").Attrs(t.Context())
			if err != nil || attrs.ContentType != "text/plain" || attrs.Size != int64(tc.size) {
				t.Errorf("by HTTP: %+v, %v", attrs, err)
			}
		})
	}
}

// TestGRPCChecksums sends wrong checksums. Each must prevent the creation of the object.
func TestGRPCChecksums(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	b := f.grpcBucket(t, "docs", nil)
	for name, tc := range map[string]struct {
		chunk int
		set   func(*storage.Writer)
	}{
		"CRC32C of one stream":         {0, func(w *storage.Writer) { w.CRC32C, w.SendCRC32C = 7, true }},
		"CRC32C of a resumable upload": {256 << 10, func(w *storage.Writer) { w.CRC32C, w.SendCRC32C = 7, true }},
		"MD5 of one stream":            {0, func(w *storage.Writer) { w.MD5 = bytes.Repeat([]byte{1}, 16) }},
		"MD5 of a resumable upload":    {256 << 10, func(w *storage.Writer) { w.MD5 = bytes.Repeat([]byte{1}, 16) }},
	} {
		w := b.Object("k").NewWriter(t.Context())
		w.ChunkSize = tc.chunk
		tc.set(w)
		_, err := w.Write(body(600 << 10))
		if err = errors.Join(err, w.Close()); grpcstatus.Code(w.Close()) != codes.InvalidArgument || err == nil {
			t.Errorf("%s: got %v, want InvalidArgument", name, err)
		}
	}
	if got := f.Inventory().Buckets[0]; got.Live != 0 {
		t.Errorf("there are %d objects", got.Live)
	}
}

// TestGRPCReads reads ranges with both calls of the client.
func TestGRPCReads(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	want := body(5<<20 + 3)
	size := int64(len(want))
	b := f.grpcBucket(t, "docs", nil)
	wantNoError(t, write(t.Context(), b.Object("k"), want, 0))
	wantNoError(t, write(t.Context(), b.Object("empty"), nil, 0))
	for call, client := range map[string]*storage.Client{"ReadObject": f.adminGRPC(t), "BidiReadObject": f.adminGRPC(t, storage.WithGRPCBidiReads())} {
		for name, tc := range map[string]struct {
			object         string
			offset, length int64
			want           []byte
			code           codes.Code
		}{
			"all":                    {"k", 0, -1, want, codes.OK},
			"the first bytes":        {"k", 0, 10, want[:10], codes.OK},
			"bytes of two messages":  {"k", 2<<20 - 5, 2 << 20, want[2<<20-5 : 4<<20-5], codes.OK},
			"up to the end":          {"k", 100, -1, want[100:], codes.OK},
			"beyond the end":         {"k", size - 3, 100, want[size-3:], codes.OK},
			"the last bytes":         {"k", -7, -1, want[size-7:], codes.OK},
			"more than it has":       {"k", -size - 1, -1, want, codes.OK},
			"after the end":          {"k", size + 1, 10, nil, codes.OutOfRange},
			"an empty object":        {"empty", 0, -1, []byte{}, codes.OK},
			"no object of that name": {"none", 0, -1, nil, codes.NotFound},
		} {
			r, err := client.Bucket("docs").Object(tc.object).NewRangeReader(t.Context(), tc.offset, tc.length)
			var got []byte
			if err == nil {
				got, err = io.ReadAll(r)
				wantNoError(t, r.Close())
			}
			if grpcstatus.Code(err) != tc.code || !bytes.Equal(got, tc.want) {
				t.Errorf("%s: %s: %d bytes, %v", call, name, len(got), err)
			}
		}
	}
}

// TestGRPCMultiRangeDownloader reads several ranges of an object in one stream.
func TestGRPCMultiRangeDownloader(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	want := body(5 << 20)
	wantNoError(t, write(t.Context(), f.grpcBucket(t, "docs", nil).Object("k"), want, 0))
	o := f.adminGRPC(t, storage.WithGRPCBidiReads()).Bucket("docs").Object("k")
	d, err := o.NewMultiRangeDownloader(t.Context())
	wantNoError(t, err)
	var results sync.Map
	ranges := [][2]int64{{0, 10}, {100, 3 << 20}, {-5, 0}, {0, 0}, {4 << 20, 9 << 20}, {5 << 20, 1}}
	outputs := make([]bytes.Buffer, len(ranges))
	for i, r := range ranges {
		d.Add(&outputs[i], r[0], r[1], func(_, n int64, err error) { results.Store(i, fmt.Sprint(n, err)) })
	}
	d.Wait()
	wantNoError(t, d.Close())
	for i, content := range [][]byte{want[:10], want[100 : 100+3<<20], want[5<<20-5:], want, want[4<<20:], nil} {
		if result, _ := results.Load(i); !bytes.Equal(outputs[i].Bytes(), content) || result != fmt.Sprint(len(content), nil) {
			t.Errorf("the range %v has %d bytes, and its result is %v", ranges[i], outputs[i].Len(), result)
		}
	}
}

// TestGRPCListings lists objects in pages, with and without a delimiter.
func TestGRPCListings(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	b := f.grpcBucket(t, "docs", nil)
	for _, name := range []string{"a", "b/1", "b/2", "c/1", "d"} {
		wantNoError(t, write(t.Context(), b.Object(name), []byte(name), 0))
	}
	for name, tc := range map[string]struct {
		query storage.Query
		want  []string
	}{
		"all":          {storage.Query{}, []string{"a", "b/1", "b/2", "c/1", "d"}},
		"a prefix":     {storage.Query{Prefix: "b/"}, []string{"b/1", "b/2"}},
		"a delimiter":  {storage.Query{Delimiter: "/"}, []string{"a", "b/", "c/", "d"}},
		"offsets":      {storage.Query{StartOffset: "b/2", EndOffset: "d"}, []string{"b/2", "c/1"}},
		"a glob":       {storage.Query{MatchGlob: "*/1"}, []string{"b/1", "c/1"}},
		"all versions": {storage.Query{Versions: true, Prefix: "a"}, []string{"a"}},
	} {
		var got []string
		for page := iterator.NewPager(b.Objects(t.Context(), &tc.query), 2, ""); ; {
			var attrs []*storage.ObjectAttrs
			next, err := page.NextPage(&attrs)
			wantNoError(t, err)
			for _, a := range attrs {
				got = append(got, a.Name+a.Prefix)
			}
			if next == "" {
				break
			}
		}
		if slices.Sort(got); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
	names := &storage.Query{}
	wantNoError(t, names.SetAttrSelection([]string{"Name"}))
	attrs, err := b.Objects(t.Context(), names).Next()
	if err != nil || attrs.Name != "a" || attrs.Size != 0 || attrs.Generation != 0 {
		t.Errorf("only names: %+v, %v", attrs, err)
	}
}

// TestGRPCObjects describes, changes, composes, copies, moves, restores and deletes objects, under preconditions.
func TestGRPCObjects(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	ctx := t.Context()
	b := f.grpcBucket(t, "docs", &storage.BucketAttrs{SoftDeletePolicy: &storage.SoftDeletePolicy{RetentionDuration: 8 * 24 * time.Hour}})
	for _, name := range []string{"a", "b"} {
		wantNoError(t, write(ctx, b.Object(name), []byte(name), 0))
	}
	refused := func(what string, err error, want codes.Code) {
		t.Helper()
		if grpcstatus.Code(err) != want {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	a := b.Object("a")
	attrs, err := a.Update(ctx, storage.ObjectAttrsToUpdate{
		ContentType: "text/css", CacheControl: "no-store", Metadata: map[string]string{"key.x": "v", "k": "w"}, TemporaryHold: true, CustomTime: time.Unix(5e8, 0).UTC(),
	})
	wantNoError(t, err)
	byHTTP, err := f.storage(t, f.adminKey(t)).Bucket("docs").Object("a").Attrs(ctx)
	wantNoError(t, err)
	byHTTP.MediaLink, byHTTP.Etag, attrs.CustomerKeySHA256 = "", "", "" // the client does not read them by gRPC
	if diff := cmp.Diff(byHTTP, attrs); diff != "" {
		t.Errorf("the object by HTTP and by gRPC (-HTTP +gRPC):\n%s", diff)
	}
	refused("an object under a hold", a.Delete(ctx), codes.PermissionDenied)
	attrs, err = a.If(storage.Conditions{MetagenerationMatch: attrs.Metageneration}).Update(ctx, storage.ObjectAttrsToUpdate{TemporaryHold: false, CacheControl: "", Metadata: map[string]string{}})
	if err != nil || attrs.TemporaryHold || attrs.CacheControl != "" || len(attrs.Metadata) != 0 || attrs.ContentType != "text/css" {
		t.Errorf("updated: %+v, %v", attrs, err)
	}
	composer := b.Object("c").ComposerFrom(a, b.Object("b"))
	composer.ContentType = "text/html"
	if attrs, err = composer.Run(ctx); err != nil || attrs.ComponentCount != 2 || attrs.ContentType != "text/html" || attrs.MD5 != nil {
		t.Errorf("composed: %+v, %v", attrs, err)
	}
	if attrs, err = b.Object("d").CopierFrom(b.Object("c")).Run(ctx); err != nil || attrs.Name != "d" || attrs.ContentType != "text/html" || attrs.Size != 2 {
		t.Errorf("copied: %+v, %v", attrs, err)
	}
	if attrs, err = b.Object("d").Move(ctx, storage.MoveObjectDestination{Object: "e"}); err != nil || attrs.Name != "e" {
		t.Errorf("moved: %+v, %v", attrs, err)
	}
	if got, err := read(ctx, b.Object("e")); err != nil || string(got) != "ab" {
		t.Errorf("read %q, %v", got, err)
	}
	refused("a write if there is no object", write(ctx, a.If(storage.Conditions{DoesNotExist: true}), []byte("x"), 0), codes.FailedPrecondition)
	refused("a resumable write if there is no object", write(ctx, a.If(storage.Conditions{DoesNotExist: true}), body(600<<10), 256<<10), codes.FailedPrecondition)
	refused("a deletion of another generation", a.If(storage.Conditions{GenerationMatch: 1}).Delete(ctx), codes.FailedPrecondition)
	_, err = a.If(storage.Conditions{GenerationNotMatch: attrs.Generation + 1}).Attrs(ctx)
	wantNoError(t, err)
	refused("a bucket that is not empty", b.Delete(ctx), codes.FailedPrecondition)
	refused("a bucket that exists", b.Create(ctx, f.ProjectID(), nil), codes.AlreadyExists)
	wantNoError(t, b.Object("e").Delete(ctx))
	if _, err := b.Object("e").Attrs(ctx); !errors.Is(err, storage.ErrObjectNotExist) {
		t.Errorf("a deleted object: %v", err)
	}
	if attrs, err = b.Object("e").Generation(attrs.Generation).Restore(ctx, &storage.RestoreOptions{}); err != nil || attrs.Size != 2 {
		t.Errorf("restored: %+v, %v", attrs, err)
	}
}

// TestGRPCCustomerKeys protects an object by a customer-supplied key.
func TestGRPCCustomerKeys(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	b := f.grpcBucket(t, "docs", nil)
	plain, keyed := b.Object("k"), b.Object("k").Key(customerKey('a'))
	wantNoError(t, write(t.Context(), keyed, []byte("x"), 0))
	if got, err := read(t.Context(), keyed); err != nil || string(got) != "x" {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := read(t.Context(), plain); grpcstatus.Code(err) != codes.InvalidArgument {
		t.Errorf("read without the key: %v", err)
	}
	if _, err := plain.Key(customerKey('b')).CopierFrom(keyed).Run(t.Context()); err != nil {
		t.Errorf("rewritten with another key: %v", err)
	}
	if _, err := read(t.Context(), keyed); grpcstatus.Code(err) != codes.InvalidArgument {
		t.Errorf("read with the old key: %v", err)
	}
}

// TestGRPCACLs changes access control lists, for which the client sends whole lists.
func TestGRPCACLs(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	ctx := t.Context()
	b := f.grpcBucket(t, "docs", nil)
	wantNoError(t, write(ctx, b.Object("k"), []byte("x"), 0))
	for name, handle := range map[string]*storage.ACLHandle{"a bucket": b.ACL(), "an object": b.Object("k").ACL(), "new objects": b.DefaultObjectACL()} {
		has := func() bool {
			rules, err := handle.List(ctx)
			wantNoError(t, err)
			return slices.ContainsFunc(rules, func(r storage.ACLRule) bool { return r.Entity == storage.AllUsers && r.Role == storage.RoleReader })
		}
		wantNoError(t, handle.Set(ctx, storage.AllUsers, storage.RoleReader))
		if !has() {
			t.Errorf("%s: the rule is not in the list", name)
		}
		wantNoError(t, handle.Delete(ctx, storage.AllUsers))
		if has() {
			t.Errorf("%s: the rule is still in the list", name)
		}
	}
	_, err := b.Object("k").Update(ctx, storage.ObjectAttrsToUpdate{PredefinedACL: "publicRead"})
	wantNoError(t, err)
	if got, err := read(ctx, f.grpc(t, "").Bucket("docs").Object("k")); err != nil || string(got) != "x" {
		t.Errorf("read a public object: %q, %v", got, err)
	}
}

// TestStorageEmulatorHostGRPC uses Google's client for Go without options, as its variable configures it.
func TestStorageEmulatorHostGRPC(t *testing.T) { //nolint:paralleltest // it sets a variable of the process
	f := start(t, gcsfake.Options{AnonymousIs: "cooper-admin"})
	for name, host := range map[string]string{"url": f.URL(), "host-and-port": strings.TrimPrefix(f.URL(), "http://")} {
		t.Setenv("STORAGE_EMULATOR_HOST_GRPC", host)
		client, err := storage.NewGRPCClient(t.Context())
		wantNoError(t, err)
		b := client.Bucket(name)
		wantNoError(t, b.Create(t.Context(), "any-project", nil))
		wantNoError(t, write(t.Context(), b.Object("k"), []byte("x"), 0))
		if got, err := read(t.Context(), b.Object("k")); err != nil || string(got) != "x" {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
		wantNoError(t, client.Close())
	}
}

// TestGRPCOverTLS uses Google's client with a JSON key, whose credentials require TLS.
func TestGRPCOverTLS(t *testing.T) {
	t.Parallel()
	config, ca, err := gcsfake.SelfSigned()
	wantNoError(t, err)
	f := start(t, gcsfake.Options{TLS: config})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client, err := storage.NewGRPCClient(t.Context(), option.WithEndpoint(strings.TrimPrefix(f.URL(), "https://")), storage.WithDisabledClientMetrics(),
		option.WithAuthCredentialsJSON(option.ServiceAccount, f.adminKey(t)),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}))))
	wantNoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	b := client.Bucket("docs")
	wantNoError(t, b.Create(t.Context(), f.ProjectID(), nil))
	wantNoError(t, write(t.Context(), b.Object("k"), []byte("x"), 0))
	if got, err := read(t.Context(), b.Object("k")); err != nil || string(got) != "x" {
		t.Errorf("read %q, %v", got, err)
	}
}

// TestGRPCReadsOfReplacedObjects simulates that another request replaces the object between the two requests of a read.
func TestGRPCReadsOfReplacedObjects(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	wantNoError(t, write(t.Context(), f.grpcBucket(t, "docs", nil).Object("k"), []byte("x"), 0))
	for call, client := range map[string]*storage.Client{"ReadObject": f.adminGRPC(t), "BidiReadObject": f.adminGRPC(t, storage.WithGRPCBidiReads())} {
		o := client.Bucket("docs").Object("k")
		attrs, err := o.Attrs(t.Context())
		wantNoError(t, err)
		for _, tc := range []struct {
			object *storage.ObjectHandle
			want   error
		}{{o, nil}, {o.Generation(attrs.Generation), storage.ErrObjectNotExist}} {
			f.Faults.Clear()
			wantNoError(t, f.Faults.Add(fault.Rule{Operation: "storage.objects.get", Nth: 2, Code: "notFound"}))
			if got, err := read(t.Context(), tc.object); !errors.Is(err, tc.want) || (err == nil && string(got) != "x") {
				t.Errorf("%s: read %q, %v; want %v", call, got, err, tc.want)
			}
		}
	}
}
