// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// softDeleted lists the objects that can be restored, with name, contents and size.
func softDeleted(t *testing.T, b *storage.BucketHandle) []*storage.ObjectAttrs {
	t.Helper()
	var out []*storage.ObjectAttrs
	for it := b.Objects(t.Context(), &storage.Query{SoftDeleted: true}); ; {
		o, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return out
		}
		wantNoError(t, err)
		out = append(out, o)
	}
}

// TestSoftDelete deletes and overwrites with Google's client and restores everything, in a store that was reopened in
// between.
func TestSoftDelete(t *testing.T) {
	t.Parallel()
	dir, clock := t.TempDir()+"/data", time.Now()
	options := gcsfake.Options{Dir: dir, Now: func() time.Time { return clock }}
	f := start(t, options)
	b := f.bucket(t, "data")
	var err error
	for _, text := range []string{"first", "second"} {
		wantNoError(t, write(t.Context(), b.Object("o"), []byte(text), 0))
	}
	wantNoError(t, b.Object("o").Delete(t.Context()))
	wantNoError(t, f.Close())
	f = start(t, options)
	b = f.storage(t, f.adminKey(t)).Bucket("data")
	found := softDeleted(t, b)
	if len(found) != 2 || found[0].SoftDeleteTime.IsZero() || found[0].HardDeleteTime.Sub(found[0].SoftDeleteTime) != 7*24*time.Hour {
		t.Fatalf("soft-deleted are %+v", found)
	}
	for i, text := range []string{"first", "second"} {
		old := b.Object("o").Generation(found[i].Generation)
		if _, err := read(t.Context(), old); !errors.Is(err, storage.ErrObjectNotExist) {
			t.Errorf("a soft-deleted object is read: %v", err)
		}
		if got, err := old.SoftDeleted().Attrs(t.Context()); err != nil || got.Size != int64(len(text)) {
			t.Errorf("attributes of a soft-deleted object: %+v, %v", got, err)
		}
		if _, err := old.Restore(t.Context(), &storage.RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, err := read(t.Context(), b.Object("o")); err != nil || string(got) != text {
			t.Errorf("restored %q, %v, want %q", got, err, text)
		}
	}
	if _, err := b.Object("o").Generation(7).Restore(t.Context(), &storage.RestoreOptions{}); !errors.Is(err, storage.ErrObjectNotExist) {
		t.Errorf("what never was is restored: %v", err)
	}
	// After seven days all of that has been removed, and the bucket can be deleted.
	clock = clock.Add(8 * 24 * time.Hour)
	w := &world{Server: f.Server}
	if w.admin, err = f.Token(f.AdminEmail("")); err != nil {
		t.Fatal(err)
	}
	if got := w.send(t, w.admin, operation{method: "GET", path: "/storage/v1/b/data/o?softDeleted=true&fields=items"}); got.Body.String() != "{}" {
		t.Errorf("after its time is left %s", got.Body.String())
	}
	w.must(t, operation{method: "DELETE", path: "/storage/v1/b/data/o/o"})
	w.must(t, operation{method: "DELETE", path: "/storage/v1/b/data"})
}

func TestSoftDeleteCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	b := f.storage(t, f.adminKey(t)).Bucket("plain")
	wantNoError(t, b.Create(t.Context(), f.ProjectID(), &storage.BucketAttrs{SoftDeletePolicy: &storage.SoftDeletePolicy{RetentionDuration: 0}}))
	wantNoError(t, write(t.Context(), b.Object("o"), []byte("x"), 0))
	wantNoError(t, b.Object("o").Delete(t.Context()))
	if found := softDeleted(t, b); len(found) != 0 {
		t.Errorf("soft-deleted are %+v", found)
	}
}

// TestSoftDeletedObjectsAreBounded overwrites more often than a bucket keeps.
func TestSoftDeletedObjectsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	for n := range 1100 {
		w.must(t, operation{method: "POST", path: up + "?uploadType=media&name=o", body: fmt.Sprint(n)})
	}
	got := w.send(t, w.admin, operation{method: "GET", path: b + "/o?softDeleted=true&maxResults=1000&fields=items/generation,nextPageToken"})
	if n := strings.Count(got.Body.String(), "generation"); n != 1000 || strings.Contains(got.Body.String(), "nextPageToken") {
		t.Errorf("%d are kept: %.200s", n, got.Body.String())
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	b := f.bucket(t, "data")
	wantNoError(t, write(t.Context(), b.Object("from"), []byte("text"), 0))
	if _, err := b.Object("from").Move(t.Context(), storage.MoveObjectDestination{Object: "to"}); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t.Context(), b.Object("to")); err != nil || string(got) != "text" {
		t.Errorf("moved %q, %v", got, err)
	}
	if _, err := read(t.Context(), b.Object("from")); !errors.Is(err, storage.ErrObjectNotExist) {
		t.Errorf("the source: %v", err)
	}
	if _, err := b.Object("to").Move(t.Context(), storage.MoveObjectDestination{Object: "far", Conditions: &storage.Conditions{GenerationMatch: 7}}); status(err) != http.StatusPreconditionFailed {
		t.Errorf("a move onto another generation: %v", err)
	}
	if got, err := read(t.Context(), b.Object("to")); err != nil || string(got) != "text" {
		t.Errorf("after a refused move: %q, %v", got, err)
	}
}

// redirected sends requests for Google's hosts to the fake, with a token.
type redirected struct{ host, token string }

// RoundTrip implements http.RoundTripper.
func (r redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.Host = "http", r.host, r.host
	out.Header.Set("Authorization", "Bearer "+r.token)
	return http.DefaultTransport.RoundTrip(out)
}

// TestSignedURLsWithoutAKey has Google's client sign a URL through signBlob, as it does where it runs without a key.
func TestSignedURLsWithoutAKey(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	bucket := f.bucket(t, "data")
	wantNoError(t, write(t.Context(), bucket.Object("o"), []byte("hello"), 0))
	signer, err := f.NewAccount("", "url-signer")
	wantNoError(t, err)
	bind(t, bucket, "roles/storage.objectViewer", "serviceAccount:"+signer)
	caller, err := f.NewAccount("", "signing-caller")
	wantNoError(t, err)
	token, err := f.Token(caller)
	wantNoError(t, err)
	host := strings.TrimPrefix(f.URL(), "http://")
	client, err := storage.NewClient(t.Context(), option.WithHTTPClient(&http.Client{Transport: redirected{host, token}}))
	wantNoError(t, err)
	defer func() { _ = client.Close() }()
	sign := func() (string, error) {
		return client.Bucket("data").SignedURL("o", &storage.SignedURLOptions{
			GoogleAccessID: signer, Method: http.MethodGet, Expires: time.Now().Add(time.Minute), Scheme: storage.SigningSchemeV4,
			Insecure: true, Hostname: host, Style: storage.PathStyle(),
		})
	}
	if _, err := sign(); err == nil || !strings.Contains(err.Error(), "iam.serviceAccounts.signBlob") {
		t.Errorf("signed without permission: %v", err)
	}
	wantNoError(t, f.Grant("", "serviceAccount:"+caller, "roles/iam.serviceAccountTokenCreator"))
	address, err := sign()
	wantNoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	wantNoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	wantNoError(t, err)
	got, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || string(got) != "hello" {
		t.Errorf("read %q, %v", got, err)
	}
}

// TestUndelete brings a service account back, and with it what bindings give it.
func TestUndelete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/data"
	f := start(t, gcsfake.Options{Dir: dir})
	b := f.bucket(t, "data")
	email, key := f.account(t, "come-back")
	bind(t, b, "roles/storage.objectViewer", "serviceAccount:"+email)
	accounts := f.iam(t, f.adminKey(t)).Projects.ServiceAccounts
	name := "projects/-/serviceAccounts/" + email
	before, err := accounts.Get(name).Context(t.Context()).Do()
	wantNoError(t, err)
	if _, err := accounts.Delete(name).Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
	former := f.URL()
	wantNoError(t, f.Close())
	f = start(t, gcsfake.Options{Dir: dir})
	accounts = f.iam(t, f.adminKey(t)).Projects.ServiceAccounts
	undelete := func(id string) error {
		_, err := accounts.Undelete("projects/"+f.ProjectID()+"/serviceAccounts/"+id, &iam.UndeleteServiceAccountRequest{}).Context(t.Context()).Do()
		return err
	}
	if err := undelete("123456789012345678901"); status(err) != http.StatusNotFound {
		t.Errorf("what never was comes back: %v", err)
	}
	wantNoError(t, undelete(before.UniqueId))
	if err := undelete(before.UniqueId); status(err) != http.StatusNotFound {
		t.Errorf("what is there comes back: %v", err)
	}
	token, err := f.Token(email)
	wantNoError(t, err)
	if got := (&world{Server: f.Server}).send(t, token, operation{method: "GET", path: "/storage/v1/b/data/o"}); got.Code != http.StatusOK {
		t.Errorf("the account that came back lists: %d", got.Code)
	}
	// Its key file names the token endpoint of the stopped server; an assertion with it is also rejected here.
	if _, err := f.storage(t, []byte(strings.ReplaceAll(string(key), former, f.URL()))).Bucket("data").Attrs(t.Context()); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("the key came back: %v", err)
	}
}

// TestDisabledKeys makes sure that a disabled key gets no tokens until it is enabled.
func TestDisabledKeys(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	f.bucket(t, "data")
	email, key := f.account(t, "key-owner")
	keys := f.iam(t, f.adminKey(t)).Projects.ServiceAccounts.Keys
	list, err := keys.List("projects/-/serviceAccounts/" + email).KeyTypes("USER_MANAGED").Context(t.Context()).Do()
	if err != nil || len(list.Keys) != 1 {
		t.Fatalf("keys: %v, %v", list, err)
	}
	if _, err := keys.Disable(list.Keys[0].Name, &iam.DisableServiceAccountKeyRequest{}).Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
	use := func() error {
		_, err := f.storage(t, key).Bucket("data").Attrs(t.Context())
		return err
	}
	if err := use(); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("a disabled key: %v", err)
	}
	if _, err := keys.Enable(list.Keys[0].Name, &iam.EnableServiceAccountKeyRequest{}).Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
	if err := use(); status(err) != http.StatusForbidden {
		t.Errorf("an enabled key of an account without permissions: %v", err)
	}
}

// TestPartialResponses asks for some fields ("Partial response").
func TestPartialResponses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	for fields, want := range map[string]string{
		"items(name)":                    `{"items":[{"name":"dir/a"},{"name":"o"}]}`,
		"items/name,kind":                `{"items":[{"name":"dir/a"},{"name":"o"}],"kind":"storage#objects"}`,
		"items(name,size),items/bucket":  `{"items":[{"bucket":"docs","name":"dir/a","size":"5"},{"bucket":"docs","name":"o","size":"6"}]}`,
		"*/name":                         `{"items":[{"name":"dir/a"},{"name":"o"}],"kind":"storage#objects"}`,
		"nextPageToken":                  `{}`,
		"items(name,metadata/a),missing": `{"items":[{"name":"dir/a"},{"name":"o"}]}`,
	} {
		if got := w.send(t, w.admin, operation{method: "GET", path: b + "/o?fields=" + url.QueryEscape(fields)}); got.Body.String() != want {
			t.Errorf("%s: %s, want %s", fields, got.Body.String(), want)
		}
	}
	for _, fields := range []string{"items(", "items)", ",", "a//b", "a(b))", strings.Repeat("a/", 50) + "b"} {
		if got := w.send(t, w.admin, operation{method: "GET", path: b + "/o?fields=" + url.QueryEscape(fields)}); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "Invalid field selection") {
			t.Errorf("%s: %d %s", fields, got.Code, got.Body.String())
		}
	}
	if got := w.send(t, w.admin, operation{method: "GET", path: o + "?alt=media&fields=name"}); got.Body.String() != "second" {
		t.Errorf("media: %s", got.Body.String())
	}
	if got := w.send(t, w.admin, operation{method: "GET", path: o + "/none?fields=name"}); got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), "notFound") {
		t.Errorf("a refusal: %d %s", got.Code, got.Body.String())
	}
}

// TestConfigurationByXML writes in the one API and reads in the other.
func TestConfigurationByXML(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	const lifecycle = `<LifecycleConfiguration><Rule><Action><SetStorageClass>NEARLINE</SetStorageClass></Action><Condition><Age>30</Age><MatchesStorageClass>STANDARD</MatchesStorageClass></Condition></Rule><Rule><Action><Delete></Delete></Action><Condition><IsLive>false</IsLive><NumNewerVersions>3</NumNewerVersions></Condition></Rule></LifecycleConfiguration>`
	const cors = `<CorsConfig><Cors><Origins><Origin>https://example.com</Origin></Origins><Methods><Method>GET</Method></Methods><ResponseHeaders><ResponseHeader>ETag</ResponseHeader></ResponseHeaders><MaxAgeSec>60</MaxAgeSec></Cors></CorsConfig>`
	for query, body := range map[string]string{"versioning": `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status></VersioningConfiguration>`, "lifecycle": lifecycle, "cors": cors} {
		w.must(t, operation{method: "PUT", path: "/docs?" + query, body: body})
	}
	got := w.send(t, w.admin, operation{method: "GET", path: b + "?fields=cors,lifecycle,versioning"}).Body.String()
	want := `{"cors":[{"maxAgeSeconds":60,"method":["GET"],"origin":["https://example.com"],"responseHeader":["ETag"]}],` +
		`"lifecycle":{"rule":[{"action":{"storageClass":"NEARLINE","type":"SetStorageClass"},"condition":{"age":30,"matchesStorageClass":["STANDARD"]}},{"action":{"type":"Delete"},"condition":{"isLive":false,"numNewerVersions":3}}]},` +
		`"versioning":{"enabled":true}}`
	if got != want {
		t.Errorf("JSON shows %s, want %s", got, want)
	}
	for query, want := range map[string]string{"lifecycle": lifecycle, "cors": cors} {
		if got := w.send(t, w.admin, operation{method: "GET", path: "/docs?" + query}).Body.String(); !strings.HasSuffix(got, want) {
			t.Errorf("XML shows %s, want %s", got, want)
		}
	}
	w.must(t, operation{method: "PUT", path: "/docs?lifecycle", body: `<LifecycleConfiguration/>`})
	if got := w.send(t, w.admin, operation{method: "GET", path: b + "?fields=lifecycle"}).Body.String(); got != "{}" {
		t.Errorf("after its removal: %s", got)
	}
}

// batchOf is a batch of requests without bodies but for the ones that have one after a blank.
func batchOf(calls ...string) operation {
	var body bytes.Buffer
	for n, call := range calls {
		line, rest, _ := strings.Cut(call, "\n")
		fmt.Fprintf(&body, "--z\r\nContent-Type: application/http\r\nContent-ID: <call+%d>\r\n\r\n%s\r\nContent-Type: application/json\r\n\r\n%s\r\n", n, line, rest)
	}
	body.WriteString("--z--\r\n")
	return operation{method: "POST", path: "/batch/storage/v1", headers: "Content-Type: multipart/mixed; boundary=z", body: body.String()}
}

// TestBatches sends several calls in one request ("Batch requests").
func TestBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	got := w.send(t, w.admin, batchOf("PATCH "+o+" HTTP/1.1\n"+`{"metadata":{"a":"b"}}`, "DELETE "+b+"/o/dir%2Fa", "GET "+b+"/o/none", "DELETE "+b))
	_, params, err := mime.ParseMediaType(got.Header().Get("Content-Type"))
	if got.Code != http.StatusOK || err != nil {
		t.Fatalf("%d %v %s", got.Code, err, got.Body.String())
	}
	parts := multipart.NewReader(got.Body, params["boundary"])
	for n, want := range []string{"200 OK", "204 No Content", "404 Not Found", "409 Conflict"} {
		part, err := parts.NextPart()
		wantNoError(t, err)
		raw, err := io.ReadAll(part)
		wantNoError(t, err)
		if id := part.Header.Get("Content-Id"); id != fmt.Sprintf("<response-call+%d>", n) || !strings.HasPrefix(string(raw), "HTTP/1.1 "+want+"\r\n") {
			t.Errorf("call %d: %s %s, want %s", n, id, raw, want)
		}
	}
	if got := w.send(t, w.admin, operation{method: "GET", path: o}); !strings.Contains(got.Body.String(), `"metadata":{"a":"b"}`) {
		t.Errorf("the change of a batch: %s", got.Body.String())
	}
	if got := w.send(t, "", batchOf("GET "+o)); !strings.Contains(got.Body.String(), "HTTP/1.1 401") {
		t.Errorf("without credentials: %s", got.Body.String())
	}
	for name, op := range map[string]operation{
		"no calls":          batchOf(),
		"another service":   batchOf("GET /v1/projects/cooper-fake"),
		"an escaped slash":  batchOf("GET /storage%2Fv1/o"),
		"a download":        batchOf("GET " + o + "?alt=media"),
		"a batch in itself": batchOf("POST /batch/storage/v1"),
		"too many":          batchOf(strings.Split(strings.Repeat("GET "+o+"|", 101), "|")[:101]...),
		"no batch":          {method: "POST", path: "/batch/storage/v1", body: "x"},
		"not a POST":        {method: "GET", path: "/batch/storage/v1"},
	} {
		if got := w.send(t, w.admin, op); got.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, got.Code, got.Body.String())
		}
	}
}

// TestPredefinedRoles reads Google's roles, which needs no permission.
func TestPredefinedRoles(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	_, key := f.account(t, "role-reader")
	roles := f.iam(t, key).Roles
	list, err := roles.List().View("FULL").Context(t.Context()).Do()
	if err != nil || len(list.Roles) < 20 || len(list.Roles[0].IncludedPermissions) == 0 {
		t.Errorf("roles: %v, %v", list, err)
	}
	if got, err := roles.Get("roles/storage.objectViewer").Context(t.Context()).Do(); err != nil || len(got.IncludedPermissions) != 3 {
		t.Errorf("role: %+v, %v", got, err)
	}
	if _, err := roles.Get("roles/none").Context(t.Context()).Do(); status(err) != http.StatusNotFound {
		t.Errorf("a role that is none: %v", err)
	}
}
