// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/storage"

	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

// noServerError fails on a 500; 503 is a response of the service.
func noServerError(t *testing.T, got *httptest.ResponseRecorder) {
	t.Helper()
	if got.Code == http.StatusInternalServerError {
		t.Errorf("returned 500: %s", got.Body.String())
	}
}

func sendable(s string) bool {
	_, err := http.NewRequest(http.MethodGet, "http://h"+s, http.NoBody)
	return err == nil && !strings.ContainsAny(s, " \r\n\t#") && strings.HasPrefix(s, "/")
}

// FuzzPaths sends arbitrary methods and addresses.
func FuzzPaths(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	for _, op := range operations() {
		f.Add(op.method, op.path, op.body)
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if _, err := http.NewRequestWithContext(t.Context(), method, "http://h/", http.NoBody); err != nil || method == "" || !sendable(path) {
			t.Skip("not a request that a client could send")
		}
		noServerError(t, w.send(t, w.admin, operation{method: method, path: path, body: body}))
	})
}

// FuzzForms sends arbitrary forms with arbitrary policy documents, which an HMAC key signs.
func FuzzForms(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	k, err := w.NewHMAC(w.AdminEmail(""))
	wantNoError(f, err)
	f.Add("--z\r\nContent-Disposition: form-data; name=key\r\n\r\no\r\n--z\r\nContent-Disposition: form-data; name=file\r\n\r\ntext\r\n--z--", `{"expiration":"2099-01-01T00:00:00Z","conditions":[{"bucket":"docs"},["starts-with","$key",""],["content-length-range",1,9]]}`)
	f.Add("--z\r\n", `{"conditions":[["eq","$key"],[],{}]}`)
	f.Fuzz(func(t *testing.T, rest, document string) {
		s := googleSigner(k.AccessID, k.Secret, time.Now())
		policy := base64.StdEncoding.EncodeToString([]byte(document))
		key := []byte(s.family + s.secret)
		for part := range strings.SplitSeq(s.scope("auto"), "/") {
			key = mac(key, part)
		}
		var body strings.Builder
		for _, field := range [][2]string{
			{"policy", policy},
			{"x-goog-algorithm", "GOOG4-HMAC-SHA256"},
			{"x-goog-credential", s.id + "/" + s.scope("auto")},
			{"x-goog-date", s.date()},
			{"x-goog-signature", hex.EncodeToString(mac(key, policy))},
		} {
			body.WriteString("--z\r\nContent-Disposition: form-data; name=" + field[0] + "\r\n\r\n" + field[1] + "\r\n")
		}
		noServerError(t, w.send(t, "", operation{method: "POST", path: "/docs", headers: "Content-Type: multipart/form-data; boundary=z", body: body.String() + rest}))
	})
}

// FuzzDocuments sends arbitrary bodies to everything that reads JSON or XML.
func FuzzDocuments(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	for _, op := range operations() {
		f.Add(op.body)
	}
	f.Add(`{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":-1}}]},"cors":[{}]}`)
	f.Add(`{"version":3,"bindings":[{"role":"roles/storage.objectViewer","members":["allUsers"],"condition":{"expression":"resource.name.extract('{a}') == ''"}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, op := range []operation{
			{method: "POST", path: "/storage/v1/b?project=cooper-fake"},
			{method: "PATCH", path: b},
			{method: "PUT", path: b},
			{method: "PUT", path: b + "/iam"},
			{method: "PATCH", path: o},
			{method: "PUT", path: o},
			{method: "POST", path: b + "/o/x/compose"},
			{method: "POST", path: o + "/copyTo/b/docs/o/x"},
			{method: "POST", path: up + "?uploadType=multipart", headers: "Content-Type: multipart/related; boundary=z"},
			{method: "POST", path: up + "?uploadType=resumable"},
			{method: "PUT", path: hmac + "/{hmac}"},
			{method: "POST", path: sas},
			{method: "PATCH", path: sa},
			{method: "POST", path: sa + ":setIamPolicy"},
			{method: "POST", path: "/v1/projects/cooper-fake/roles"},
			{method: "POST", path: sa + ":signBlob"},
			{method: "POST", path: sa + ":signJwt"},
			{method: "POST", path: sa + "/keys:upload"},
			{method: "PUT", path: "/docs?versioning"},
			{method: "PUT", path: "/docs?cors"},
			{method: "PUT", path: "/docs?lifecycle"},
			{method: "PUT", path: "/docs"},
			{method: "POST", path: "/docs?delete"},
			{method: "POST", path: "/docs/m?uploadId={upload}"},
			{method: "POST", path: "/token", headers: "Content-Type: application/json"},
			{method: "POST", path: "/v1/token", headers: "Content-Type: application/json"},
		} {
			op.body = body
			noServerError(t, w.send(t, w.admin, op))
		}
	})
}

// FuzzPolicies sets arbitrary policies; accepted ones must be returned and can be set again.
func FuzzPolicies(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	f.Add(`{"bindings":[{"role":"roles/storage.objectViewer","members":["allUsers","deleted:serviceAccount:a@b.iam.gserviceaccount.com?uid=1"]}]}`)
	f.Add(`{"version":3,"etag":"","bindings":[{"role":"roles/storage.admin","members":["principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/subject/s"],"condition":{"title":"t","expression":"true"}}]}`)
	f.Add(`{"version":2}`)
	f.Fuzz(func(t *testing.T, doc string) {
		set := w.send(t, w.admin, operation{method: "PUT", path: b + "/iam", body: doc})
		noServerError(t, set)
		if set.Code != http.StatusOK {
			return
		}
		again := w.send(t, w.admin, operation{method: "PUT", path: b + "/iam", body: set.Body.String()})
		if again.Code != http.StatusOK {
			t.Errorf("accepted, shown as %s, and then refused: %d %s", set.Body.String(), again.Code, again.Body.String())
		}
		// The administrator retains access through the project, regardless of a bucket's policy.
		noServerError(t, w.send(t, "", operation{method: "GET", path: o}))
	})
}

// FuzzAccessControlLists sets arbitrary entries. One that is accepted is in the list afterwards, and the policy of the
// bucket is still one that can be set.
func FuzzAccessControlLists(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	for _, entity := range []string{"allUsers", "user-a@example.com", "group-g@example.com", "domain-example.com", "project-owners-cooper-fake", "user-target@cooper-fake.iam.gserviceaccount.com", "x"} {
		f.Add(entity, "READER", "gzip;q=0, *")
	}
	f.Fuzz(func(t *testing.T, entity, role, accepts string) {
		raw, err := json.Marshal(map[string]string{"entity": entity, "role": role})
		wantNoError(t, err)
		for _, path := range []string{"/acl", "/defaultObjectAcl", "/o/o/acl"} {
			got := w.send(t, w.admin, operation{method: "POST", path: "/storage/v1/b/fine" + path, body: string(raw)})
			noServerError(t, got)
			var entry struct{ Entity, Role string }
			if got.Code != http.StatusOK {
				continue
			}
			wantNoError(t, json.Unmarshal(got.Body.Bytes(), &entry))
			if list := w.entries(t, w.admin, "/storage/v1/b/fine"+path); !slices.Contains(list, entry.Entity+" "+entry.Role) {
				t.Errorf("%s has no %s %s: %q", path, entry.Entity, entry.Role, list)
			}
		}
		policy := w.send(t, w.admin, operation{method: "GET", path: "/storage/v1/b/fine/iam"}).Body.String()
		if got := w.send(t, w.admin, operation{method: "PUT", path: "/storage/v1/b/fine/iam", body: policy}); got.Code != http.StatusOK {
			t.Errorf("the policy %s is refused: %s", policy, got.Body)
		}
		for _, path := range []string{"/acl/", "/defaultObjectAcl/", "/o/o/acl/"} { // lists do not grow without end
			noServerError(t, w.send(t, w.admin, operation{method: "DELETE", path: "/storage/v1/b/fine" + path + url.PathEscape(entity)}))
		}
		req := w.request(t, operation{method: "GET", path: o + "?alt=media"})
		req.Header.Set("Accept-Encoding", accepts)
		noServerError(t, w.serve(req))
	})
}

// FuzzSignatures sends arbitrary credentials in headers and queries of both dialects: none may be taken for a key's.
func FuzzSignatures(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	for _, family := range []string{"AWS4-HMAC-SHA256", "GOOG4-HMAC-SHA256", "GOOG4-RSA-SHA256"} {
		x := map[bool]string{true: "X-Amz-", false: "X-Goog-"}[family[0] == 'A']
		f.Add(family+" Credential="+w.known["{hmac}"]+"/20200101/auto/storage/goog4_request,SignedHeaders=host,Signature=00", "")
		f.Add("", x+"Algorithm="+family+"&"+x+"Credential="+w.known["{hmac}"]+"%2F20200101%2Fauto%2Fs3%2Faws4_request&"+x+"Date=20200101T000000Z&"+x+"Expires=60&"+x+"SignedHeaders=host&"+x+"Signature=00")
	}
	f.Add("Bearer a.b.c", "access_token=x")
	f.Fuzz(func(t *testing.T, auth, query string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/docs/o", http.NoBody)
		req.URL.RawQuery = query
		if auth != "" {
			req.Header.Set("Authorization", auth)
		}
		req.Header.Set("X-Goog-Date", "20200101T000000Z")
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, req)
		noServerError(t, rec)
		if rec.Code < http.StatusBadRequest {
			t.Errorf("somebody without a secret gets %d", rec.Code)
		}
	})
}

// FuzzResumable sends arbitrary ranges for an upload, and a body for them.
func FuzzResumable(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	f.Add("bytes 0-3/4", "text", "bytes */4")
	f.Add("bytes 0-*/*", "text", "bytes 2-5/6")
	f.Add("bytes */*", "", "")
	f.Add("bytes 9223372036854775807-9223372036854775807/9223372036854775807", "x", "bytes -1-0/0")
	f.Fuzz(func(t *testing.T, first, body, second string) {
		if strings.ContainsAny(first+second, "\r\n\x00") {
			t.Skip("not a header that a client could send")
		}
		begun := w.send(t, w.admin, operation{method: "POST", path: up + "?uploadType=resumable&name=fuzz"})
		_, path, _ := strings.Cut(begun.Header().Get("Location"), "127.0.0.1")
		for _, contentRange := range []string{first, second} {
			noServerError(t, w.send(t, w.admin, operation{method: "PUT", path: path, headers: "Content-Range: " + contentRange, body: body}))
		}
		if got := w.send(t, w.admin, operation{method: "GET", path: b + "/o/fuzz?alt=media"}); got.Code == http.StatusOK && !strings.HasPrefix(got.Body.String(), body[:min(len(body), got.Body.Len())]) {
			t.Errorf("stored %q of %q", got.Body.String(), body)
		}
		w.send(t, w.admin, operation{method: "DELETE", path: path})
		w.send(t, w.admin, operation{method: "DELETE", path: b + "/o/fuzz"})
	})
}

// FuzzMultipart sends arbitrary bodies of several parts: uploads and batches.
func FuzzMultipart(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	f.Add("--z\r\nContent-Type: application/json\r\n\r\n{\"name\":\"m\"}\r\n--z\r\nContent-Type: text/plain\r\n\r\nx\r\n--z--\r\n", "z")
	f.Add("--z\r\nContent-Type: application/http\r\nContent-ID: <1>\r\n\r\nGET /storage/v1/b/docs HTTP/1.1\r\nA: b\r\n\r\n\r\n--z--\r\n", "z")
	f.Add("--z\r\nContent-Type: application/http\r\n\r\nPOST /storage/v1/b/docs/o \r\n--z--", "z")
	f.Fuzz(func(t *testing.T, body, boundary string) {
		if strings.ContainsAny(boundary, "\r\n\x00") {
			t.Skip("not a header that a client could send")
		}
		noServerError(t, w.send(t, w.admin, operation{method: "POST", path: up + "?uploadType=multipart", headers: "Content-Type: multipart/related; boundary=" + boundary, body: body}))
		noServerError(t, w.send(t, w.admin, operation{method: "POST", path: "/batch/storage/v1", headers: "Content-Type: multipart/mixed; boundary=" + boundary, body: body}))
	})
}

// FuzzSelections asks for arbitrary fields, and for names by arbitrary globs.
func FuzzSelections(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	f.Add("items(name,metadata/a),kind,*/x")
	f.Add("((((((")
	f.Add(`**/{a,[!b-]?}\*`)
	f.Fuzz(func(t *testing.T, fields string) {
		noServerError(t, w.send(t, w.admin, operation{method: "GET", path: b + "/o?fields=" + url.QueryEscape(fields)}))
		noServerError(t, w.send(t, w.admin, operation{method: "GET", path: b + "/o?matchGlob=" + url.QueryEscape(fields)}))
	})
}

// FuzzSignedURLs has Google's client sign URLs for arbitrary names, parameters and headers: all of them must be
// recognised.
func FuzzSignedURLs(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	wantNoError(f, err)
	if got := w.send(f, w.admin, operation{method: "POST", path: sa + "/keys:upload", body: `{"publicKeyData":"` + certificateOf(key) + `"}`}); got.Code != http.StatusOK {
		f.Fatal(got.Body.String())
	}
	f.Add("dir/o", "response-content-type", "text/plain; a=b", "a  b\tc")
	f.Add("ü +%2F~/;?", "prefix", "a&b=c", "")
	f.Add("//a//", "a-b", "", " x ")
	f.Fuzz(func(t *testing.T, object, name, value, header string) {
		if object == "" || !utf8.ValidString(object+name+value) || strings.HasPrefix(strings.ToLower(name), "x-goog-") {
			t.Skip("not what a client could ask for")
		}
		for _, fixed := range []string{"X-Goog-Algorithm", "X-Goog-Credential", "X-Goog-Date", "X-Goog-Expires", "X-Goog-SignedHeaders"} {
			if (name < fixed) != (sigv4.Encode(name, false) < fixed) {
				t.Skip("the client sorts names before it encodes them, the service after")
			}
		}
		for _, r := range header {
			if r != '\t' && (r < ' ' || r > '~') {
				t.Skip("not a header that a client could send")
			}
		}
		signed, err := storage.SignedURL("docs", object, &storage.SignedURLOptions{
			GoogleAccessID: "target@cooper-fake.iam.gserviceaccount.com", Method: http.MethodGet, Expires: time.Now().Add(time.Minute), Scheme: storage.SigningSchemeV4,
			SignBytes: func(b []byte) ([]byte, error) {
				sum := sha256.Sum256(b)
				return rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
			},
			Hostname: "storage.example.com", Style: storage.PathStyle(), QueryParameters: url.Values{name: {value}}, Headers: []string{"x-goog-meta-a:" + header},
		})
		if err != nil {
			t.Skip(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, signed, http.NoBody)
		if err != nil {
			t.Skip("not a URL that a client could send")
		}
		req.Header.Set("X-Goog-Meta-A", header)
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, req)
		noServerError(t, rec)
		if strings.Contains(rec.Body.String(), "SignatureDoesNotMatch") {
			t.Errorf("%s: %s", signed, rec.Body.String())
		}
	})
}
