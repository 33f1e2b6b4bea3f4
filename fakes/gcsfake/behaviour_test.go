// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// row is an operation, its caller, and the expected result.
type row struct {
	operation

	name string
	call caller
	want int
}

// caller is how a row calls.
type caller struct {
	// permissions are in a role of the caller's own, bound where: project, bucket, other (another project) or account
	// conditions that are true or false on the project.
	permissions []string
	where       string
	// as is the kind of credential: token by default, an invalid one, or a signature.
	as string
	// scope replaces cloud-platform.
	scope string
}

// rows are all rows of an operation. The fake's documentation counts them.
func rows(name string, op operation) []row {
	denied, anonymous := http.StatusForbidden, http.StatusUnauthorized
	xml := strings.HasPrefix(name, "xml.")
	if xml {
		anonymous = http.StatusForbidden
	}
	out := []row{{op, name + " with its permissions", caller{permissions: op.permissions, where: "project"}, op.status}}
	add := func(what string, c caller, want int) {
		if c.where == "" {
			c.where = "project"
		}
		out = append(out, row{op, name + " " + what, c, want})
	}
	for i, p := range op.permissions {
		rest := slices.Delete(slices.Clone(op.permissions), i, i+1)
		add("without "+p, caller{permissions: rest}, denied)
	}
	add("with its permissions in another project", caller{permissions: op.permissions, where: "other"}, denied)
	add("with a condition that does not hold", caller{permissions: op.permissions, where: "false"}, denied)
	add("with a condition that holds", caller{permissions: op.permissions, where: "true"}, op.status)
	add("without credentials", caller{permissions: op.permissions, as: "anonymous"}, anonymous)
	add("with an invented token", caller{permissions: op.permissions, as: "invented"}, 401)
	add("with an expired token", caller{permissions: op.permissions, as: "expired"}, 401)
	add("with a token of a disabled account", caller{permissions: op.permissions, as: "disabled"}, 401)
	add("with a token of a deleted account", caller{permissions: op.permissions, as: "deleted"}, 401)
	add("with a token for another service", caller{permissions: op.permissions, scope: "https://www.googleapis.com/auth/pubsub"}, denied)
	if !op.project {
		add("with its permissions on the bucket", caller{permissions: op.permissions, where: "bucket"}, op.status)
	}
	if !xml {
		return out
	}
	add("signed as for S3", caller{permissions: op.permissions, as: "AWS4"}, op.status)
	add("signed with a wrong secret", caller{permissions: op.permissions, as: "wrong secret"}, denied)
	add("signed with an unknown key", caller{permissions: op.permissions, as: "unknown key"}, denied)
	add("signed with an inactive key", caller{permissions: op.permissions, as: "inactive key"}, denied)
	add("signed with a deleted key", caller{permissions: op.permissions, as: "deleted key"}, denied)
	add("signed with a key of a deleted account", caller{permissions: op.permissions, as: "key of deleted"}, denied)
	add("signed without permissions", caller{as: "AWS4"}, denied)
	return out
}

func TestBehaviour(t *testing.T) {
	t.Parallel()
	all, refusals := 0, 0
	table := operations()
	for name, op := range table {
		for _, r := range rows(name, op) {
			all++
			if r.want >= 400 {
				refusals++
			}
		}
	}
	for name, op := range table {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := newWorld(t) // for rejected calls, which change nothing
			for _, r := range rows(name, op) {
				w := shared
				if r.want < http.StatusBadRequest {
					w = newWorld(t)
				}
				got := w.call(t, r)
				if got.Code != r.want {
					t.Errorf("%s: %d, want %d (%s)\n%s", r.name, got.Code, r.want, r.doc, got.Body.String())
				}
				if w != shared {
					w.close(t)
				}
			}
			shared.close(t)
		})
	}
	t.Logf("%d rows, %d of them refusals", all, refusals)
	if all < 300 || refusals*2 < all {
		t.Errorf("%d rows with %d refusals: the table must have 300 and half of them refusals", all, refusals)
	}
}

func TestEveryOperationHasARow(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for name := range operations() {
		op, _, _ := strings.Cut(name, " ")
		covered[op] = true
	}
	for _, name := range gcsfake.Operations() {
		if !covered[name] && !slices.Contains(elsewhere, name) {
			t.Errorf("operation %s is served and has no row", name)
		}
	}
}

// elsewhere are the operations that need no permission, or a key that takes long to make, and have tests of their own.
var elsewhere = []string{
	"storage.buckets.testIamPermissions", "cloudresourcemanager.projects.testIamPermissions", "oauth2.token", "sts.token",
	"iam.projects.serviceAccounts.keys.create", "iam.projects.serviceAccounts.testIamPermissions", "iam.roles.list", "iam.roles.get",
	"xml.PutResumable", "xml.DeleteResumable", "xml.DeleteObjects", "xml.PostObject",
}

// world is a server with something of everything in it, called without a listener.
type world struct {
	*gcsfake.Server

	admin   string
	known   map[string]string
	callers int // by call
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	return worldOf(tb, gcsfake.Options{})
}

// worldOf has two projects, and what setup makes in them.
func worldOf(tb testing.TB, o gcsfake.Options) *world {
	tb.Helper()
	o.Projects = []gcsfake.Project{{ID: "cooper-fake", Number: "111111111111"}, {ID: "other-project", Number: "222222222222"}}
	w := &world{Server: faketest.Open(tb, gcsfake.New, o), known: map[string]string{}}
	var err error
	if w.admin, err = w.TokenFor(w.AdminEmail(""), 1000*24*time.Hour, "https://www.googleapis.com/auth/cloud-platform"); err != nil {
		tb.Fatal(err)
	}
	for _, op := range setup() {
		got := w.send(tb, w.admin, op)
		if got.Code >= http.StatusMultipleChoices {
			tb.Fatalf("set up %s %s: %d %s", op.method, op.path, got.Code, got.Body.String())
		}
		w.learn(op, got)
	}
	return w
}

func (w *world) close(tb testing.TB) {
	tb.Helper()
	if err := w.Close(); err != nil {
		tb.Error(err)
	}
}

// setup fills a world.
func setup() []operation {
	const lists = "/storage/v1/b/fine"
	uniform := `"iamConfiguration":{"uniformBucketLevelAccess":{"enabled":true}}`
	insert := "/storage/v1/b?project=cooper-fake"
	return []operation{
		{method: "POST", path: insert, body: `{"name":"docs",` + uniform + `}`},
		{method: "POST", path: insert, body: `{"name":"empty",` + uniform + `}`},
		{method: "POST", path: insert, body: `{"name":"kept",` + uniform + `,"retentionPolicy":{"retentionPeriod":"60"}}`},
		{method: "POST", path: insert + "&enableObjectRetention=true", body: `{"name":"locked",` + uniform + `}`},
		{method: "POST", path: "/upload/storage/v1/b/locked/o?uploadType=media&name=o", body: "x"},
		{method: "POST", path: up + "?uploadType=media&name=dir/a", body: "first"},
		{method: "POST", path: up + "?uploadType=media&name=o", body: "second"},
		{method: "POST", path: insert, body: `{"name":"bin",` + uniform + `}`},
		{method: "POST", path: "/upload/storage/v1/b/bin/o?uploadType=media&name=gone", body: "gone", headers: "X-Learn: {soft}"},
		{method: "DELETE", path: "/storage/v1/b/bin/o/gone"},
		{method: "POST", path: "/upload/storage/v1/b/bin/o?uploadType=media&name=again", body: "old", headers: "X-Learn: {over}"},
		{method: "POST", path: "/upload/storage/v1/b/bin/o?uploadType=media&name=again", body: "new"},
		{method: "POST", path: insert, body: `{"name":"hard",` + uniform + `,"softDeletePolicy":{"retentionDurationSeconds":"0"}}`},
		{method: "POST", path: upHard + "?uploadType=media&name=secret", headers: keyHeaders("", 'k'), body: "secret"},
		{method: "POST", path: upHard + "?uploadType=media&name=plain", body: "plain"},
		{method: "POST", path: "/hard/m?uploads", headers: keyHeaders("", 'k')},
		{method: "POST", path: insert, body: `{"name":"fine"}`},
		{method: "POST", path: lists + "/acl", body: `{"entity":"domain-example.com","role":"READER"}`},
		{method: "POST", path: "/upload" + lists + "/o?uploadType=media&name=o", body: "fine"},
		{method: "POST", path: "/upload" + lists + "/o?uploadType=media&name=gone", body: "gone", headers: "X-Learn: {listed}"},
		{method: "DELETE", path: lists + "/o/gone"},
		{method: "POST", path: sas, body: `{"accountId":"target"}`},
		{method: "POST", path: sas, body: `{"accountId":"deleted"}`, headers: "X-Learn: {deleted}"},
		{method: "DELETE", path: sas + "/deleted@cooper-fake.iam.gserviceaccount.com"},
		{method: "POST", path: sa + "/keys:upload", body: `{"publicKeyData":"` + uploadedCertificate() + `"}`, headers: "X-Learn: {key}"},
		{method: "POST", path: "/docs/m?uploads"},
		{method: "PUT", path: "/docs/m?partNumber=1&uploadId={upload}", body: "part"},
		{method: "POST", path: hmac + "?serviceAccountEmail=target@cooper-fake.iam.gserviceaccount.com"},
		{method: "POST", path: hmac + "?serviceAccountEmail=target@cooper-fake.iam.gserviceaccount.com", headers: "X-Inactive: yes"},
		{method: "PUT", path: hmac + "/{inactive}", body: `{"state":"INACTIVE"}`},
		{method: "POST", path: "/v1/projects/cooper-fake/roles", body: `{"roleId":"spare","role":{"includedPermissions":["storage.objects.get"]}}`},
	}
}

// learn remembers what later requests need.
func (w *world) learn(op operation, got *httptest.ResponseRecorder) {
	body := got.Body.String()
	if _, rest, ok := strings.Cut(body, "<UploadId>"); ok {
		name := "{upload}"
		if strings.HasPrefix(op.path, "/hard/") {
			name = "{keyed upload}"
		}
		w.known[name], _, _ = strings.Cut(rest, "<")
	}
	if strings.Contains(op.path, "partNumber") {
		w.known["{part}"] = got.Header().Get("Etag")
	}
	var doc struct {
		Generation string `json:"generation"`
		Name       string `json:"name"`
		UniqueID   string `json:"uniqueId"`
		Metadata   struct {
			AccessID string `json:"accessId"`
		} `json:"metadata"`
	}
	if json.Unmarshal(got.Body.Bytes(), &doc) != nil {
		return
	}
	if _, name, ok := strings.Cut(op.headers, "X-Learn: "); ok {
		_, key, _ := strings.Cut(doc.Name, "/keys/")
		w.known[name] = map[string]string{"{soft}": doc.Generation, "{listed}": doc.Generation, "{over}": doc.Generation, "{deleted}": doc.UniqueID, "{key}": key}[name]
	}
	if strings.HasPrefix(op.path, up) {
		w.known["{generation}"] = doc.Generation
	}
	if doc.Metadata.AccessID != "" {
		name := "{hmac}"
		if op.headers == "X-Inactive: yes" {
			name = "{inactive}"
		}
		w.known[name] = doc.Metadata.AccessID
	}
}

func (w *world) fill(s string) string {
	for name, v := range w.known {
		s = strings.ReplaceAll(s, name, v)
	}
	return s
}

// call makes an account with the row's permissions and sends the row's request as it.
func (w *world) call(t *testing.T, r row) *httptest.ResponseRecorder {
	t.Helper()
	w.callers++
	email, err := w.NewAccount("", fmt.Sprintf("caller-%d", w.callers))
	wantNoError(t, err)
	w.grant(t, "serviceAccount:"+email, r)
	if strings.Contains(r.call.as, "key") || strings.Contains(r.call.as, "secret") || r.call.as == "AWS4" {
		return w.signed(t, email, r)
	}
	return w.send(t, w.token(t, email, r), r.operation)
}

func (w *world) token(t *testing.T, email string, r row) string {
	t.Helper()
	life, scope := time.Hour, r.call.scope
	if r.call.as == "expired" {
		life = -time.Second
	}
	if scope == "" {
		scope = "https://www.googleapis.com/auth/cloud-platform"
	}
	token, err := w.TokenFor(email, life, scope)
	wantNoError(t, err)
	switch r.call.as {
	case "anonymous":
		return ""
	case "invented":
		return token[:len(token)-4] + "AAAA"
	case "disabled":
		w.must(t, operation{method: "POST", path: sas + "/" + email + ":disable"})
	case "deleted":
		w.must(t, operation{method: "DELETE", path: sas + "/" + email})
	}
	return token
}

func (w *world) must(t *testing.T, op operation) {
	t.Helper()
	if got := w.send(t, w.admin, op); got.Code >= 300 {
		t.Fatalf("%s %s: %d %s", op.method, op.path, got.Code, got.Body.String())
	}
}

// grant binds a role with the row's permissions at the level that the row selects.
func (w *world) grant(t *testing.T, member string, r row) {
	t.Helper()
	if len(r.call.permissions) == 0 {
		return
	}
	role, err := w.NewRole("", fmt.Sprintf("rowRole%d", w.callers), r.call.permissions...)
	wantNoError(t, err)
	switch r.call.where {
	case "project":
		err = w.Grant("", member, role)
	case "other":
		err = w.Grant("other-project", member, role)
	case "true", "false":
		condition := fmt.Sprintf(`resource.name.startsWith("projects/") == %s`, r.call.where)
		w.must(t, operation{method: "POST", path: "/v1/projects/cooper-fake:setIamPolicy", body: fmt.Sprintf(
			`{"policy":{"version":3,"bindings":[{"role":"roles/owner","members":["serviceAccount:%[3]s"]},{"role":"roles/storage.admin","members":["serviceAccount:%[3]s"]},{"role":%[1]q,"members":[%[2]q],"condition":{"title":"c","expression":%[4]q}}]}}`,
			role, member, w.AdminEmail(""), condition)})
	case "bucket":
		for _, bucket := range []string{"docs", "empty", "kept", "locked", "bin", "hard", "fine"} {
			w.must(t, operation{method: "PUT", path: "/storage/v1/b/" + bucket + "/iam", body: fmt.Sprintf(
				`{"bindings":[{"role":%q,"members":[%q]},{"role":"roles/storage.legacyBucketReader","members":["domain:example.com"]}]}`, role, member)})
		}
		w.known["ifMetagenerationMatch=1"] = "ifMetagenerationMatch=2" // a policy is part of the metadata
	}
	wantNoError(t, err)
}

// send serves one request with a bearer token, without one for "".
func (w *world) send(tb testing.TB, token string, op operation) *httptest.ResponseRecorder {
	tb.Helper()
	req := w.request(tb, op)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, req)
	return rec
}

func (w *world) request(tb testing.TB, op operation) *http.Request {
	tb.Helper()
	req := httptest.NewRequestWithContext(tb.Context(), op.method, "http://127.0.0.1"+w.fill(op.path), strings.NewReader(w.fill(op.body)))
	for line := range strings.SplitSeq(op.headers, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			req.Header.Add(name, value)
		}
	}
	if op.path == "/" || op.path == "/fresh" {
		req.Header.Set("X-Goog-Project-Id", "cooper-fake")
	}
	return req
}

// signed serves one request with a signature as AWS's clients make it.
func (w *world) signed(t *testing.T, email string, r row) *httptest.ResponseRecorder {
	t.Helper()
	k, err := w.NewHMAC(email)
	wantNoError(t, err)
	deactivate := operation{method: "PUT", path: hmac + "/" + k.AccessID, body: `{"state":"INACTIVE"}`}
	creds := aws.Credentials{AccessKeyID: k.AccessID, SecretAccessKey: k.Secret}
	switch r.call.as {
	case "wrong secret":
		creds.SecretAccessKey = "wrong"
	case "unknown key":
		creds.AccessKeyID = "GOOG1ENOBODY"
	case "inactive key":
		w.must(t, deactivate)
	case "deleted key":
		w.must(t, deactivate)
		w.must(t, operation{method: "DELETE", path: deactivate.path})
	case "key of deleted":
		w.must(t, operation{method: "DELETE", path: sas + "/" + email})
	}
	req := w.request(t, r.operation)
	sum := sha256.Sum256([]byte(w.fill(r.body)))
	hash := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", hash)
	wantNoError(t, v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(t.Context(), creds, req, hash, "s3", "auto", time.Now()))
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, req)
	return rec
}
