// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

func version2(secret, text string) string {
	h := hmac.New(sha1.New, []byte(secret))
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// TestSignatureVersion2 presigns URLs as boto3 does without configuration.
func TestSignatureVersion2(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options s3fake.Options
		// stored are the headers with which the object was stored.
		stored            string
		method            string
		resource          string
		signed, sent      map[string]string
		secret, signature string
		expired           bool
		status            int
		code              string
	}{
		"a read":                                  {method: "GET", status: 200},
		"a write":                                 {method: "PUT", status: 200},
		"a write of the signed type":              {method: "PUT", signed: map[string]string{"Content-Type": "text/plain"}, sent: map[string]string{"Content-Type": "text/plain"}, status: 200},
		"a write of another type":                 {method: "PUT", signed: map[string]string{"Content-Type": "text/plain"}, sent: map[string]string{"Content-Type": "text/xml"}, status: 403, code: "SignatureDoesNotMatch"},
		"a header that the signature ignores":     {method: "PUT", sent: map[string]string{"Content-Encoding": "gzip"}, status: 200},
		"metadata that is not signed":             {method: "PUT", sent: map[string]string{"X-Amz-Meta-A": "b"}, status: 403, code: "SignatureDoesNotMatch"},
		"a sub-resource":                          {method: "GET", resource: "?tagging", status: 200},
		"an override":                             {method: "GET", resource: "?response-content-type=text/html", status: 200},
		"a wrong secret":                          {method: "GET", secret: "wrong", status: 403, code: "SignatureDoesNotMatch"},
		"an expired URL":                          {method: "GET", expired: true, status: 403, code: "AccessDenied"},
		"no signature":                            {method: "GET", signature: "-", status: 403, code: "AccessDenied"},
		"an object under a KMS key":               {stored: "X-Amz-Server-Side-Encryption: aws:kms", method: "GET", status: 400, code: "InvalidArgument"},
		"a server that refuses the version":       {options: s3fake.Options{RefuseSignatureV2: true}, method: "GET", status: 400, code: "InvalidRequest"},
		"a region that does not have the version": {options: s3fake.Options{Region: "eu-central-1"}, method: "GET", status: 400, code: "InvalidRequest"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := faketest.Open(t, s3fake.New, tc.options)
			root := s.Root()
			for _, step := range []operation{{path: "/docs"}, {path: "/docs/k", headers: tc.stored}} { // in another region the signature is refused first
				step.method = http.MethodPut
				(&world{Server: s}).send(t, root, step)
			}
			expires := time.Now().Add(time.Minute)
			if tc.expired {
				expires = time.Now().Add(-time.Minute)
			}
			query := url.Values{"AWSAccessKeyId": {root.AccessKeyID}, "Expires": {strconv.FormatInt(expires.Unix(), 10)}}
			secret := root.SecretAccessKey
			if tc.secret != "" {
				secret = tc.secret
			}
			text := strings.Join([]string{tc.method, "", tc.signed["Content-Type"], query.Get("Expires"), "/docs/k" + tc.resource}, "\n")
			if tc.signature != "-" {
				query.Set("Signature", version2(secret, text))
			}
			if extra, err := url.ParseQuery(strings.TrimPrefix(tc.resource, "?")); err == nil {
				maps.Copy(query, extra)
			}
			req := httptest.NewRequestWithContext(t.Context(), tc.method, "http://127.0.0.1/docs/k?"+query.Encode(), strings.NewReader("y"))
			for name, value := range tc.sent {
				req.Header.Set(name, value)
			}
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, req)
			if code := errorCode(rec.Body.Bytes()); rec.Code != tc.status || code != tc.code {
				t.Errorf("got %d %s, want %d %s\n%s", rec.Code, code, tc.status, tc.code, rec.Body)
			}
		})
	}
}

func TestBucketInTheHostName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for host, want := range map[string]int{
		"docs.localhost": http.StatusOK, "docs.localhost:9000": http.StatusOK, "docs.s3.localhost": http.StatusOK, "docs.127.0.0.1.nip.io:9000": http.StatusOK,
		"missing.localhost": http.StatusNotFound, "localhost": http.StatusBadRequest, "s3.localhost": http.StatusBadRequest, // the bucket is "k"
	} {
		req := signedRequest(t, "http://"+host, aws.Credentials{AccessKeyID: w.Root().AccessKeyID, SecretAccessKey: w.Root().SecretAccessKey}, operation{method: http.MethodGet, path: "/k"})
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, req)
		if rec.Code != want {
			t.Errorf("%s: got %d, want %d\n%s", host, rec.Code, want, rec.Body)
		}
	}
}

// TestOvertakenUpload completes an upload under a condition, in a process after the one in which its key was deleted.
func TestOvertakenUpload(t *testing.T) {
	t.Parallel()
	options := s3fake.Options{Dir: t.TempDir(), RootAccessKeyID: "root", RootSecretAccessKey: "secret"}
	s, err := s3fake.New(options)
	wantNoError(t, err)
	w := &world{Server: s, known: map[string]string{}}
	for _, step := range []operation{
		{method: "PUT", path: "/docs"},
		{method: "PUT", path: "/docs/k", body: "x"},
		{method: "POST", path: "/docs/k?uploads"},
		{method: "PUT", path: "/docs/k?partNumber=1&uploadId={upload}", body: "y"},
		{method: "DELETE", path: "/docs/k"},
	} {
		got := w.send(t, s.Root(), step)
		if got.Code >= http.StatusMultipleChoices {
			t.Fatalf("%s %s: %d %s", step.method, step.path, got.Code, got.Body)
		}
		w.learn(step, got)
	}
	wantNoError(t, s.Close())
	w.Server = faketest.Open(t, s3fake.New, options)
	complete := operation{method: "POST", path: "/docs/k?uploadId={upload}", headers: "If-None-Match: *", body: parts}
	if got := w.send(t, w.Root(), complete); got.Code != http.StatusConflict || errorCode(got.Body.Bytes()) != "ConditionalRequestConflict" {
		t.Errorf("got %d %s, want ConditionalRequestConflict", got.Code, got.Body)
	}
	complete.headers = ""
	if got := w.send(t, w.Root(), complete); got.Code != http.StatusOK {
		t.Errorf("without a condition: %d %s", got.Code, got.Body)
	}
}
