// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestSignatureVersion2Header sends the Authorization header of Signature Version 2. LocalStack's test
// test_presigned_url_signature_authentication_multi_part shows that Amazon S3 accepted it in February 2026.
func TestSignatureVersion2Header(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	tests := map[string]struct {
		options      s3fake.Options
		date, amz    string
		auth, secret string
		status       int
		code         string
	}{
		"a date":                            {date: now.Format(http.TimeFormat), status: 200},
		"a date of S3":                      {amz: now.Format(http.TimeFormat), status: 200},
		"a date of Signature Version 4":     {amz: now.Format(signedDate), status: 200},
		"no date":                           {status: 403, code: "AccessDenied"},
		"an old date":                       {date: now.Add(-time.Hour).Format(http.TimeFormat), status: 403, code: "RequestTimeTooSkewed"},
		"a wrong secret":                    {date: now.Format(http.TimeFormat), secret: "wrong", status: 403, code: "SignatureDoesNotMatch"},
		"an unknown key":                    {date: now.Format(http.TimeFormat), auth: "AWS unknown:x", status: 403, code: "InvalidAccessKeyId"},
		"no signature":                      {date: now.Format(http.TimeFormat), auth: "AWS key", status: 400, code: "InvalidArgument"},
		"a server that refuses the version": {options: s3fake.Options{RefuseSignatureV2: true}, date: now.Format(http.TimeFormat), status: 400, code: "InvalidRequest"},
		"a region that does not have the version": {options: s3fake.Options{Region: "eu-central-1"}, date: now.Format(http.TimeFormat), status: 400, code: "InvalidRequest"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := faketest.Open(t, s3fake.New, tc.options)
			root := s.Root()
			(&world{Server: s}).send(t, root, operation{method: http.MethodPut, path: "/docs"}) // in another region the signature is refused first
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/docs/k?uploads", http.NoBody)
			text := "POST\n\n\n" + tc.date + "\n"
			if tc.date != "" {
				r.Header.Set("Date", tc.date)
			}
			if tc.amz != "" {
				r.Header.Set("X-Amz-Date", tc.amz)
				text += "x-amz-date:" + tc.amz + "\n"
			}
			if tc.secret != "" {
				root.SecretAccessKey = tc.secret
			}
			auth := "AWS " + root.AccessKeyID + ":" + version2(root.SecretAccessKey, text+"/docs/k?uploads")
			if tc.auth != "" {
				auth = tc.auth
			}
			r.Header.Set("Authorization", auth)
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, r)
			if code := errorCode(rec.Body.Bytes()); rec.Code != tc.status || code != tc.code || tc.status == http.StatusOK && !strings.Contains(rec.Body.String(), "<UploadId>") {
				t.Errorf("got %d %s, want %d %s\n%s", rec.Code, code, tc.status, tc.code, rec.Body)
			}
		})
	}
}
