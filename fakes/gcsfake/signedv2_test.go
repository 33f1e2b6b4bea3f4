// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// TestURLsOfTheFormerProcess tests URLs in the default format of Google's Go client. A request with an invalid
// signature of this kind must not be treated as anonymous, although anonymous callers may read here.
func TestURLsOfTheFormerProcess(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	bucket := f.bucket(t, "data")
	wantNoError(t, write(t.Context(), bucket.Object("a b+ü/o"), []byte("hello"), 0))
	email, raw := f.account(t, "url-signer")
	stranger, _ := f.account(t, "stranger")
	bind(t, bucket, "roles/storage.objectUser", "serviceAccount:"+email)
	bind(t, bucket, "roles/storage.objectViewer", "allUsers")
	var key struct {
		Private string `json:"private_key"`
	}
	wantNoError(t, json.Unmarshal(raw, &key))
	type change = func(*storage.SignedURLOptions)
	for name, tc := range map[string]struct {
		sign change
		// change is made to the request after it was signed.
		change func(*http.Request)
		status int
		says   string
	}{
		"read": {status: 200, says: "hello"},
		"written with type and metadata": {sign: func(o *storage.SignedURLOptions) {
			o.Method, o.ContentType, o.Headers = "PUT", "text/plain", []string{"x-goog-meta-a:b c"}
		}, change: func(r *http.Request) {
			r.Header.Set("Content-Type", "text/plain")
			r.Header.Set("X-Goog-Meta-A", "b  c")
		}, status: 200},
		"a parameter that is not signed": {change: func(r *http.Request) { r.URL.RawQuery += "&response-content-type=text/x" }, status: 200, says: "hello"},
		"another method":                 {change: func(r *http.Request) { r.Method = http.MethodDelete }, status: 403, says: "SignatureDoesNotMatch"},
		"another object":                 {change: func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/data/other", "" }, status: 403, says: "SignatureDoesNotMatch"},
		"a type that is not signed":      {change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, status: 403, says: "SignatureDoesNotMatch"},
		"a header that is not signed":    {change: func(r *http.Request) { r.Header.Set("X-Goog-User-Project", "p") }, status: 403, says: "SignatureDoesNotMatch"},
		"a header of S3":                 {sign: func(o *storage.SignedURLOptions) { o.Method = "PUT" }, change: func(r *http.Request) { r.Header.Set("X-Amz-Acl", "public-read") }, status: 403, says: "not signed: x-amz-acl"},
		"a sub-resource":                 {change: func(r *http.Request) { r.URL.RawQuery += "&acl" }, status: 403, says: "SignatureDoesNotMatch"},
		"a sub-resource with a value":    {change: func(r *http.Request) { r.URL.RawQuery += "&uploadId=x" }, status: 400, says: "uploadId"},
		"an end that is later":           {change: func(r *http.Request) { r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "Expires=", "Expires=1", 1) }, status: 403, says: "SignatureDoesNotMatch"},
		"an end that is no number":       {change: func(r *http.Request) { r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "Expires=", "Expires=x", 1) }, status: 400, says: "Expires"},
		"over":                           {sign: func(o *storage.SignedURLOptions) { o.Expires = time.Now().Add(-time.Minute) }, status: 400, says: "ExpiredToken"},
		"by another's key":               {sign: func(o *storage.SignedURLOptions) { o.GoogleAccessID = stranger }, status: 403, says: "SignatureDoesNotMatch"},
		"by nobody's key":                {sign: func(o *storage.SignedURLOptions) { o.GoogleAccessID = "nobody@example.com" }, status: 401},
		"by an HMAC key":                 {sign: func(o *storage.SignedURLOptions) { o.GoogleAccessID = "GOOG1E" }, status: 400, says: "V2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &storage.SignedURLOptions{
				GoogleAccessID: email, PrivateKey: []byte(key.Private), Method: http.MethodGet, Expires: time.Now().Add(time.Hour),
				Hostname: strings.TrimPrefix(f.URL(), "http://"),
			}
			if tc.sign != nil {
				tc.sign(o)
			}
			object := "a b+ü/o"
			if o.Method == http.MethodPut {
				object = "new"
			}
			signed, err := storage.SignedURL("data", object, o)
			wantNoError(t, err)
			req, err := http.NewRequestWithContext(t.Context(), o.Method, strings.Replace(signed, "https:", "http:", 1), http.NoBody)
			wantNoError(t, err)
			if tc.change != nil {
				tc.change(req)
			}
			resp, err := http.DefaultClient.Do(req)
			wantNoError(t, err)
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != tc.status || !strings.Contains(string(body), tc.says) {
				t.Errorf("%d %s %v, want %d with %q", resp.StatusCode, body, err, tc.status, tc.says)
			}
		})
	}
}

// TestSubresourcesOfTheFormerProcess signs one and adds another, which selects the operation where it comes first.
func TestSubresourcesOfTheFormerProcess(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	bucket := f.bucket(t, "data")
	email, raw := f.account(t, "url-signer")
	bind(t, bucket, "roles/storage.admin", "serviceAccount:"+email)
	var file struct {
		Private string `json:"private_key"`
	}
	wantNoError(t, json.Unmarshal(raw, &file))
	block, _ := pem.Decode([]byte(file.Private))
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	wantNoError(t, err)
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		t.Fatalf("the key is a %T", parsed)
	}
	expires := strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
	sum := sha256.Sum256([]byte("GET\n\n\n" + expires + "\n/data?location"))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	wantNoError(t, err)
	query := "&" + url.Values{"GoogleAccessId": {email}, "Expires": {expires}, "Signature": {base64.StdEncoding.EncodeToString(signature)}}.Encode()
	for asked, want := range map[string]int{"location": 200, "location&lifecycle": 403, "lifecycle": 403} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.URL()+"/data?"+asked+query, http.NoBody)
		wantNoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		wantNoError(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("?%s is %d, want %d", asked, resp.StatusCode, want)
		}
	}
}
