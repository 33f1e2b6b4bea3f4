// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/api/iam/v1"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	create := operation{method: "POST", path: hmac + "?serviceAccountEmail=target@cooper-fake.iam.gserviceaccount.com"}
	for range 8 { // two are there
		w.must(t, create)
	}
	if got := w.send(t, w.admin, create); got.Code != http.StatusTooManyRequests {
		t.Errorf("the eleventh HMAC key: %d, want 429", got.Code)
	}
	w.must(t, operation{method: "DELETE", path: hmac + "/{inactive}"})
	w.must(t, create)   // deleted keys do not count
	for n := range 98 { // two are there
		w.must(t, operation{method: "POST", path: sas, body: fmt.Sprintf(`{"accountId":"account-%d"}`, n)})
	}
	got := w.send(t, w.admin, operation{method: "POST", path: sas, body: `{"accountId":"one-too-many"}`})
	if got.Code != http.StatusTooManyRequests || !strings.Contains(got.Body.String(), "RESOURCE_EXHAUSTED") {
		t.Errorf("the 101st account: %d %s, want 429", got.Code, got.Body.String())
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	email, key := f.account(t, "key-owner")
	f.bucket(t, "data")
	keys := f.iam(t, f.adminKey(t)).Projects.ServiceAccounts.Keys
	list, err := keys.List("projects/-/serviceAccounts/" + email).Context(t.Context()).Do()
	if err != nil || len(list.Keys) != 1 {
		t.Fatalf("keys: %v, %v", list, err)
	}
	if got, err := keys.Get(list.Keys[0].Name).Context(t.Context()).Do(); err != nil || got.PrivateKeyData != "" {
		t.Errorf("get a key: %v, %v", got, err)
	}
	if _, err := keys.Delete(list.Keys[0].Name).Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
	// A deleted key no longer gets a token.
	if _, err := f.storage(t, key).Bucket("data").Attrs(t.Context()); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("a deleted key logs in: %v", err)
	}
}

// TestParallelPolicyChanges adds members from many clients at once, as a driver does: none may get lost.
func TestParallelPolicyChanges(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	bucket := f.bucket(t, "data")
	var wg sync.WaitGroup
	for n := range 8 {
		email, err := f.NewAccount("", fmt.Sprintf("account-%d", n))
		wantNoError(t, err)
		wg.Go(func() {
			for {
				p, err := bucket.IAM().Policy(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				p.Add("serviceAccount:"+email, "roles/storage.objectViewer")
				err = bucket.IAM().SetPolicy(t.Context(), p)
				if err == nil {
					return
				}
				if status(err) != http.StatusPreconditionFailed {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	n := 0
	for _, line := range f.Inventory().Buckets[0].Bindings {
		if strings.HasPrefix(line, "roles/storage.objectViewer ") {
			n++
		}
	}
	if n != 8 {
		t.Errorf("%d bindings, want 8", n)
	}
}

func TestConditionsInBothVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	email, err := w.NewAccount("", "reader-one")
	wantNoError(t, err)
	doc := fmt.Sprintf(`{"version":3,"bindings":[{"role":"roles/storage.objectViewer","members":["serviceAccount:%s"],"condition":{"title":"dir only","expression":"resource.name.startsWith('projects/_/buckets/docs/objects/dir/')"}}]}`, email)
	w.must(t, operation{method: "PUT", path: b + "/iam", body: doc})
	token, err := w.Token(email)
	wantNoError(t, err)
	if got := w.send(t, token, operation{method: "GET", path: b + "/o/dir%2Fa"}); got.Code != http.StatusOK {
		t.Errorf("inside of the condition: %d", got.Code)
	}
	if got := w.send(t, token, operation{method: "GET", path: o}); got.Code != http.StatusForbidden {
		t.Errorf("outside of the condition: %d", got.Code)
	}
	plain := w.send(t, w.admin, operation{method: "GET", path: b + "/iam"})
	if text := plain.Body.String(); !strings.Contains(text, "roles/storage.objectViewer_withcond_") || strings.Contains(text, "dir only") {
		t.Errorf("version 1 shows %s", text)
	}
	var read struct {
		ETag string `json:"etag"`
	}
	wantNoError(t, json.Unmarshal(plain.Body.Bytes(), &read))
	if got := w.send(t, w.admin, operation{method: "PUT", path: b + "/iam", body: `{"version":1,"etag":"` + read.ETag + `","bindings":[]}`}); got.Code != http.StatusBadRequest {
		t.Errorf("a change in version 1 of a policy with conditions: %d, want 400", got.Code)
	}
}

func TestRetentionAndHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	kept := "/storage/v1/b/kept"
	w.must(t, operation{method: "POST", path: "/upload/storage/v1/b/kept/o?uploadType=media&name=o", body: "x"})
	for what, op := range map[string]operation{
		"delete":    {method: "DELETE", path: kept + "/o/o"},
		"overwrite": {method: "POST", path: "/upload/storage/v1/b/kept/o?uploadType=media&name=o", body: "y"},
	} {
		if got := w.send(t, w.admin, op); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "retentionPolicyNotMet") {
			t.Errorf("%s under retention: %d %s", what, got.Code, got.Body.String())
		}
	}
	w.must(t, operation{method: "PATCH", path: o, body: `{"temporaryHold":true}`})
	if got := w.send(t, w.admin, operation{method: "DELETE", path: o}); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "objectUnderActiveHold") {
		t.Errorf("delete under a hold: %d %s", got.Code, got.Body.String())
	}
	w.must(t, operation{method: "POST", path: kept + "/lockRetentionPolicy?ifMetagenerationMatch=1"})
	if got := w.send(t, w.admin, operation{method: "PATCH", path: kept, body: `{"retentionPolicy":{"retentionPeriod":"1"}}`}); got.Code != http.StatusForbidden {
		t.Errorf("a locked retention shrinks: %d", got.Code)
	}
}

func TestPublicAccessPrevention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	public := operation{method: "PUT", path: b + "/iam", body: `{"bindings":[{"role":"roles/storage.objectViewer","members":["allUsers"]}]}`}
	w.must(t, public)
	if got := w.send(t, "", operation{method: "GET", path: o}); got.Code != http.StatusOK {
		t.Errorf("a public object: %d", got.Code)
	}
	w.must(t, operation{method: "PATCH", path: b, body: `{"iamConfiguration":{"publicAccessPrevention":"enforced"}}`})
	if got := w.send(t, "", operation{method: "GET", path: o}); got.Code != http.StatusUnauthorized {
		t.Errorf("a public object under prevention: %d", got.Code)
	}
	if got := w.send(t, w.admin, public); got.Code != http.StatusPreconditionFailed {
		t.Errorf("a public binding under prevention: %d, want 412", got.Code)
	}
}

// issuer is an OpenID Connect issuer with one key.
type issuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	wantNoError(t, err)
	point, err := key.PublicKey.Bytes()
	wantNoError(t, err)
	i := &issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/keys")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		x, y := base64.RawURLEncoding.EncodeToString(point[1:33]), base64.RawURLEncoding.EncodeToString(point[33:])
		fmt.Fprintf(w, `{"keys":[{"kid":"k","kty":"EC","crv":"P-256","x":%q,"y":%q}]}`, x, y)
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) token(t *testing.T, claims jwt.MapClaims) string {
	t.Helper()
	now := time.Now()
	all := jwt.MapClaims{"iss": i.URL, "aud": "cooper-fake.svc.id.goog", "sub": "system:serviceaccount:shop:app", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	token := jwt.NewWithClaims(jwt.SigningMethodES256, all)
	token.Header["kid"] = "k"
	text, err := token.SignedString(i.key)
	wantNoError(t, err)
	return text
}

func exchange(t *testing.T, w *world, audience, token string) (access, code string) {
	t.Helper()
	const kind = "urn:ietf:params:oauth:token-type:"
	form := url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "audience": {audience}, "scope": {"https://www.googleapis.com/auth/cloud-platform"},
		"requested_token_type": {kind + "access_token"}, "subject_token": {token}, "subject_token_type": {kind + "jwt"},
	}
	got := w.send(t, "", operation{method: "POST", path: "/v1/token", headers: "Content-Type: application/x-www-form-urlencoded", body: form.Encode()})
	var out struct {
		Access string `json:"access_token"`
		Error  string `json:"error"`
	}
	wantNoError(t, json.Unmarshal(got.Body.Bytes(), &out))
	return out.Access, out.Error
}

func TestWorkloadIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	i, stranger := newIssuer(t), newIssuer(t)
	wantNoError(t, w.AddPool(gcsfake.Pool{ID: "cooper-fake.svc.id.goog", Issuer: i.URL}))
	pool := "//iam.googleapis.com/projects/111111111111/locations/global/workloadIdentityPools/cooper-fake.svc.id.goog"
	audience := pool + "/providers/kubernetes"
	w.must(t, operation{method: "PUT", path: b + "/iam", body: `{"bindings":[{"role":"roles/storage.objectViewer","members":["principal:` + pool + `/subject/ns/shop/sa/app"]}]}`})
	reads := func(claims jwt.MapClaims) int {
		access, code := exchange(t, w, audience, i.token(t, claims))
		if access == "" {
			t.Fatalf("no token: %s", code)
		}
		return w.send(t, access, operation{method: "GET", path: o}).Code
	}
	if got := reads(nil); got != http.StatusOK {
		t.Errorf("the bound service account reads: %d", got)
	}
	if got := reads(jwt.MapClaims{"sub": "system:serviceaccount:shop:other"}); got != http.StatusForbidden {
		t.Errorf("another service account reads: %d", got)
	}
	if got := reads(jwt.MapClaims{"sub": "system:serviceaccount:other:app"}); got != http.StatusForbidden {
		t.Errorf("a service account of another namespace reads: %d", got)
	}
	refused := map[string]struct{ audience, token, code string }{
		"another pool":              {strings.Replace(audience, "cooper-fake", "none", 1), i.token(t, nil), "invalid_target"},
		"another issuer":            {audience, stranger.token(t, nil), "invalid_grant"},
		"a foreign key":             {audience, stranger.token(t, jwt.MapClaims{"iss": i.URL}), "invalid_grant"},
		"a token for another":       {audience, i.token(t, jwt.MapClaims{"aud": "https://kubernetes.default"}), "invalid_grant"},
		"a token that has expired":  {audience, i.token(t, jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()}), "invalid_grant"},
		"a token of later":          {audience, i.token(t, jwt.MapClaims{"nbf": time.Now().Add(30 * time.Minute).Unix()}), "invalid_grant"},
		"a token issued later":      {audience, i.token(t, jwt.MapClaims{"iat": time.Now().Add(30 * time.Minute).Unix()}), "invalid_grant"},
		"a token issued at no time": {audience, i.token(t, jwt.MapClaims{"iat": nil}), "invalid_grant"},
		"a token of two days":       {audience, i.token(t, jwt.MapClaims{"exp": time.Now().Add(49 * time.Hour).Unix()}), "invalid_grant"},
		"a token of nobody":         {audience, i.token(t, jwt.MapClaims{"sub": ""}), "invalid_grant"},
		"no token at all":           {audience, "x", "invalid_request"},
	}
	for name, tc := range refused {
		if access, code := exchange(t, w, tc.audience, tc.token); access != "" || code != tc.code {
			t.Errorf("%s: %q, want %q", name, code, tc.code)
		}
	}
}

func TestSignedURLs(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	bucket := f.bucket(t, "data")
	wantNoError(t, write(t.Context(), bucket.Object("o"), []byte("hello"), 0))
	email, raw := f.account(t, "url-signer")
	var key struct {
		Private string `json:"private_key"`
	}
	wantNoError(t, json.Unmarshal(raw, &key))
	signed, err := storage.SignedURL("data", "o", &storage.SignedURLOptions{
		GoogleAccessID: email, PrivateKey: []byte(key.Private), Method: http.MethodGet, Expires: time.Now().Add(time.Hour), Scheme: storage.SigningSchemeV4,
		Insecure: true, Hostname: strings.TrimPrefix(f.URL(), "http://"), Style: storage.PathStyle(),
	})
	wantNoError(t, err)
	get := func(address string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		wantNoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		wantNoError(t, err)
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		return resp.StatusCode
	}
	if got := get(signed); got != http.StatusForbidden {
		t.Errorf("signed by somebody without permissions: %d", got)
	}
	bind(t, bucket, "roles/storage.objectViewer", "serviceAccount:"+email)
	if got := get(signed); got != http.StatusOK {
		t.Errorf("signed by a reader: %d", got)
	}
	if got := get(strings.Replace(signed, "/data/o?", "/data/other?", 1)); got != http.StatusForbidden {
		t.Errorf("signed for another object: %d", got)
	}
}

func TestPermissionsCanBeTested(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	bucket := f.bucket(t, "data")
	email, key := f.account(t, "reader-one")
	bind(t, bucket, "roles/storage.objectViewer", "serviceAccount:"+email)
	ask := []string{"storage.objects.get", "storage.objects.create", "storage.objects.list"}
	got, err := f.storage(t, key).Bucket("data").IAM().TestPermissions(t.Context(), ask)
	if want := []string{"storage.objects.get", "storage.objects.list"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("permissions %v, %v, want %v", got, err, want)
	}
	if _, err := f.iam(t, key).Projects.ServiceAccounts.Create("projects/"+f.ProjectID(), &iam.CreateServiceAccountRequest{AccountId: "not-allowed"}).Context(t.Context()).Do(); status(err) != http.StatusForbidden {
		t.Errorf("a reader makes accounts: %v", err)
	}
}
