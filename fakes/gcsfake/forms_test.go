// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// form returns a request that a browser would send for a form: its fields, then the file, then the data after it.
func form(t *testing.T, bucket string, fields map[string]string, file string) *http.Request {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		wantNoError(t, w.WriteField(name, fields[name]))
	}
	part, err := w.CreateFormFile("file", "upload.txt")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	if err == nil {
		err = w.WriteField("after", "ignored")
	}
	if err == nil {
		err = w.Close()
	}
	wantNoError(t, err)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://storage.example.com/"+bucket, &b)
	req.Header.Set("Content-Type", w.FormDataContentType())
	return req
}

func (w *world) serve(req *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, req)
	return rec
}

// postVector is a policy document of Google's conformance tests.
type postVector struct {
	Description string
	PolicyInput struct{ Bucket, Timestamp string }

	PolicyOutput struct{ Fields map[string]string }
}

// TestGooglesPolicyDocuments sends the policy documents of Google's own conformance tests, at the time for which they
// were made and with the key that made them.
func TestGooglesPolicyDocuments(t *testing.T) {
	t.Parallel()
	var vectors struct {
		Posts []postVector `json:"postPolicyV4Tests"`
	}
	wantNoError(t, json.Unmarshal(conformance(t, "v4_signatures.json"), &vectors))
	if len(vectors.Posts) < 11 {
		t.Fatalf("%d vectors", len(vectors.Posts))
	}
	for _, v := range vectors.Posts {
		at, err := time.Parse(time.RFC3339, v.PolicyInput.Timestamp)
		wantNoError(t, err)
		w := conformanceAccount(t, at)
		fields := v.PolicyOutput.Fields
		if strings.Contains(v.Description, "ACL matching") { // has a condition for a field that its form leaves to the user
			fields["acl"] = "public-read"
		}
		// These buckets do not exist, so this error shows that the form's signer was authenticated and that the form
		// matches its document.
		if got := w.serve(form(t, v.PolicyInput.Bucket, fields, "text")); !strings.Contains(got.Body.String(), "NoSuchBucket") {
			t.Errorf("%s: %s", v.Description, got.Body.String())
		}
		if got := w.serve(form(t, "another-bucket", fields, "text")); !strings.Contains(got.Body.String(), "InvalidPolicyDocument") {
			t.Errorf("%s for another bucket: %s", v.Description, got.Body.String())
		}
		fields["x-goog-signature"] = strings.Repeat("0123", 128)
		if got := w.serve(form(t, v.PolicyInput.Bucket, fields, "text")); !strings.Contains(got.Body.String(), "SignatureDoesNotMatch") {
			t.Errorf("%s with another signature: %s", v.Description, got.Body.String())
		}
		w.close(t)
	}
}

// formWorld has a bucket and an account that may do something there, with keys of both kinds.
type formWorld struct {
	*world

	email string
	key   []byte
	hmac  gcsfake.HMAC
}

func newFormWorld(t *testing.T, permissions ...string) *formWorld {
	t.Helper()
	f := start(t, gcsfake.Options{})
	w := &formWorld{world: &world{Server: f.Server, known: map[string]string{}}}
	var err error
	if w.admin, err = f.Token(f.AdminEmail("")); err != nil {
		t.Fatal(err)
	}
	w.email, w.key = f.account(t, "form-owner")
	if w.hmac, err = f.NewHMAC(w.email); err != nil {
		t.Fatal(err)
	}
	w.must(t, operation{method: "POST", path: "/storage/v1/b?project=cooper-fake", body: `{"name":"docs","iamConfiguration":{"uniformBucketLevelAccess":{"enabled":true}}}`})
	w.must(t, operation{method: "POST", path: up + "?uploadType=media&name=there", body: "old"})
	if len(permissions) == 0 {
		return w
	}
	role, err := w.NewRole("", "formRole", permissions...)
	wantNoError(t, err)
	wantNoError(t, w.Grant("", "serviceAccount:"+w.email, role))
	return w
}

// sign has Google's client make the fields of a form.
func (w *formWorld) sign(t *testing.T, object string, fields *storage.PolicyV4Fields, conditions ...storage.PostPolicyV4Condition) map[string]string {
	t.Helper()
	var file struct {
		Key string `json:"private_key"`
	}
	wantNoError(t, json.Unmarshal(w.key, &file))
	made, err := storage.GenerateSignedPostPolicyV4("docs", object, &storage.PostPolicyV4Options{
		GoogleAccessID: w.email, PrivateKey: []byte(file.Key), Expires: time.Now().Add(time.Hour), Fields: fields, Conditions: conditions,
	})
	wantNoError(t, err)
	return made.Fields
}

// signByHMAC signs a policy document with the HMAC key, in either dialect.
func (w *formWorld) signByHMAC(t *testing.T, s hmacSigner, expires time.Time, conditions []any) map[string]string {
	t.Helper()
	prefix := strings.ToLower(s.name(""))
	fields := map[string]string{
		prefix + "algorithm": s.family + "-HMAC-SHA256", prefix + "credential": s.id + "/" + s.scope("auto"), prefix + "date": s.date(),
	}
	for name, value := range fields {
		conditions = append(conditions, map[string]string{name: value})
	}
	document, err := json.Marshal(map[string]any{"expiration": expires.UTC().Format(time.RFC3339), "conditions": conditions})
	wantNoError(t, err)
	policy := base64.StdEncoding.EncodeToString(document)
	key := []byte(s.family + s.secret)
	for part := range strings.SplitSeq(s.scope("auto"), "/") {
		key = mac(key, part)
	}
	fields["policy"], fields[prefix+"signature"] = policy, hex.EncodeToString(mac(key, policy))
	return fields
}

// fieldsOf makes the fields of a form.
type fieldsOf func(t *testing.T, w *formWorld) map[string]string

// signed are fields that Google's client makes.
func signed(object string, fields *storage.PolicyV4Fields, conditions ...storage.PostPolicyV4Condition) fieldsOf {
	return func(t *testing.T, w *formWorld) map[string]string {
		t.Helper()
		return w.sign(t, object, fields, conditions...)
	}
}

// signedByHMAC are fields that the account's HMAC key signs.
func signedByHMAC(by func(id, secret string, at time.Time) hmacSigner, life time.Duration, conditions ...any) fieldsOf {
	return func(t *testing.T, w *formWorld) map[string]string {
		t.Helper()
		now := time.Now()
		return w.signByHMAC(t, by(w.hmac.AccessID, w.hmac.Secret, now), now.Add(life), append([]any{map[string]string{"bucket": "docs"}}, conditions...))
	}
}

// unsigned are fields that are not signed.
func unsigned(*testing.T, *formWorld) map[string]string { return map[string]string{"key": "new"} }

// with adds fields.
func (of fieldsOf) with(more ...string) fieldsOf {
	return func(t *testing.T, w *formWorld) map[string]string {
		t.Helper()
		fields := of(t, w)
		for i := 0; i < len(more); i += 2 {
			fields[more[i]] = more[i+1]
		}
		return fields
	}
}

// TestForms uploads by forms ("Upload an object with HTML forms"; "Policy documents").
func TestForms(t *testing.T) {
	t.Parallel()
	create, keyIsNew, keyInDir := []string{"storage.objects.create"}, map[string]string{"key": "new"}, []string{"starts-with", "$key", "dir/"}
	otherDocument := func(t *testing.T, w *formWorld) map[string]string {
		t.Helper()
		return signed("new", nil).with("policy", w.sign(t, "other", nil)["policy"])(t, w)
	}
	nobody := func(_, secret string, at time.Time) hmacSigner { return googleSigner("GOOG1ENOBODY", secret, at) }
	attributes := &storage.PolicyV4Fields{ContentType: "text/plain", CacheControl: "no-store", Metadata: map[string]string{"x-goog-meta-a": "b"}, StatusCodeOnSuccess: 201}
	for name, tc := range map[string]struct {
		permissions []string
		fields      fieldsOf
		status      int
		text        string
	}{
		"a form of Google's client":          {create, signed("new", nil), 204, ""},
		"with attributes":                    {create, signed("new", attributes), 201, "<Key>new</Key>"},
		"that redirects":                     {create, signed("new", &storage.PolicyV4Fields{RedirectToURLOnSuccess: "https://example.com/done?a=b"}), 303, ""},
		"over an object":                     {append(create, "storage.objects.delete"), signed("there", nil), 204, ""},
		"over an object without permission":  {create, signed("there", nil), 403, "storage.objects.delete"},
		"of an account without permission":   {nil, signed("new", nil), 403, "storage.objects.create"},
		"with a field that nobody signed":    {create, signed("new", nil).with("x-goog-meta-a", "b"), 400, "InvalidPolicyDocument"},
		"with a field that is to be ignored": {create, signed("new", nil).with("x-ignore-a", "b"), 204, ""},
		"with a field that forms have not":   {create, signedByHMAC(googleSigner, time.Hour, keyIsNew, map[string]string{"colour": "red"}).with("key", "new", "colour", "red"), 400, "field colour"},
		"of nobody, with a field of S3's":    {nil, fieldsOf(unsigned).with("tagging", "<Tagging/>"), 400, "field tagging"},
		"for another object":                 {create, signed("new", nil).with("key", "other"), 400, "InvalidPolicyDocument"},
		"with another document":              {create, otherDocument, 403, "SignatureDoesNotMatch"},
		"with a file of the right size":      {create, signed("new", nil, storage.ConditionContentLengthRange(2, 5)), 204, ""},
		"with a file that is too small":      {create, signed("new", nil, storage.ConditionContentLengthRange(5, 9)), 400, "EntityTooSmall"},
		"with a file that is too large":      {create, signed("new", nil, storage.ConditionContentLengthRange(0, 3)), 400, "EntityTooLarge"},
		"with the beginning of a name":       {create, signedByHMAC(googleSigner, time.Hour, keyInDir).with("key", "dir/${filename}"), 204, ""},
		"with another beginning":             {create, signedByHMAC(googleSigner, time.Hour, keyInDir).with("key", "new"), 400, "InvalidPolicyDocument"},
		"signed as for S3":                   {create, signedByHMAC(awsSigner, time.Hour, keyIsNew).with("key", "new"), 204, ""},
		"whose document has expired":         {create, signedByHMAC(googleSigner, -time.Minute, keyIsNew).with("key", "new"), 400, "expired"},
		"by an unknown key":                  {create, signedByHMAC(nobody, time.Hour, keyIsNew).with("key", "new"), 403, "InvalidAccessKeyId"},
		"of the former signing process":      {create, fieldsOf(unsigned).with("GoogleAccessId", "x", "policy", "e30=", "signature", "x"), 400, "V4"},
		"of nobody":                          {create, unsigned, 403, "Anonymous caller"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFormWorld(t, tc.permissions...)
			got := w.serve(form(t, "docs", tc.fields(t, w), "text"))
			if got.Code != tc.status || !strings.Contains(got.Body.String(), tc.text) {
				t.Errorf("%d %s, want %d with %q", got.Code, got.Body.String(), tc.status, tc.text)
			}
			stored := w.send(t, w.admin, operation{method: "GET", path: b + "/o?fields=items(name,size,contentType,cacheControl,metadata)"}).Body.String()
			if kept := strings.Contains(stored, `"size":"4"`); kept != (tc.status < 400) {
				t.Errorf("stored is %s", stored)
			}
			switch name {
			case "with attributes":
				if !strings.Contains(stored, `"cacheControl":"no-store","contentType":"text/plain","metadata":{"a":"b"}`) {
					t.Errorf("attributes are %s", stored)
				}
			case "with the beginning of a name":
				if !strings.Contains(stored, `"dir/upload.txt"`) {
					t.Errorf("the file's name is not in the object's: %s", stored)
				}
			case "that redirects":
				if to := got.Header().Get("Location"); !strings.HasPrefix(to, "https://example.com/done?a=b&bucket=docs&etag=") {
					t.Errorf("it redirects to %q", to)
				}
			}
		})
	}
}

// TestFormOfARequester sends forms to a bucket with Requester Pays, with and without a project.
func TestFormOfARequester(t *testing.T) {
	t.Parallel()
	w := newFormWorld(t, "storage.objects.create", "serviceusage.services.use")
	w.must(t, operation{method: "PATCH", path: "/storage/v1/b/docs", body: `{"billing":{"requesterPays":true}}`})
	fields := signed("new", nil)(t, w)
	for project, want := range map[string]int{"": 400, "nowhere": 404, "cooper-fake": 204} {
		req := form(t, "docs", fields, "text")
		if project != "" {
			req.Header.Set("X-Goog-User-Project", project)
		}
		if got := w.serve(req); got.Code != want {
			t.Errorf("project %q: %d %s", project, got.Code, got.Body)
		}
	}
}

// TestFormsOfTheDisabled makes sure that a form dies with its key and its account.
func TestFormsOfTheDisabled(t *testing.T) {
	t.Parallel()
	w := newFormWorld(t, "storage.objects.create")
	fields := w.sign(t, "new", nil)
	w.must(t, operation{method: "POST", path: sas + "/" + w.email + ":disable"})
	if got := w.serve(form(t, "docs", fields, "text")); got.Code < 400 || got.Code >= 500 {
		t.Errorf("of a disabled account: %d %s", got.Code, got.Body.String())
	}
	w.must(t, operation{method: "POST", path: sas + "/" + w.email + ":enable"})
	if got := w.serve(form(t, "docs", fields, "text")); got.Code != http.StatusNoContent {
		t.Errorf("of the account that was enabled again: %d %s", got.Code, got.Body.String())
	}
	w.must(t, operation{method: "DELETE", path: sas + "/" + w.email})
	if got := w.serve(form(t, "docs", w.sign(t, "other", nil), "text")); got.Code < 400 || got.Code >= 500 {
		t.Errorf("of a deleted account: %d %s", got.Code, got.Body.String())
	}
}
