// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// TestHeadersThatAreNotSigned adds headers to signed requests. S3 ignores those of Google Cloud Storage.
func TestHeadersThatAreNotSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := aws.Credentials{AccessKeyID: w.Root().AccessKeyID, SecretAccessKey: w.Root().SecretAccessKey}
	for header, want := range map[string]int{"X-Goog-Acl": http.StatusOK, "X-Goog-Meta-A": http.StatusOK, "X-Other": http.StatusOK, "X-Amz-Acl": http.StatusForbidden, "X-Amz-Meta-A": http.StatusForbidden} {
		req := signedRequest(t, "http://127.0.0.1", root, operation{method: http.MethodPut, path: "/docs/new"})
		plain := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "http://127.0.0.1/docs/new?X-Amz-Expires=60", http.NoBody)
		plain.Header.Set("Content-Length", "0")
		url, _, err := v4.NewSigner().PresignHTTP(t.Context(), root, plain, "UNSIGNED-PAYLOAD", "s3", w.Region(), time.Now())
		wantNoError(t, err)
		presigned := httptest.NewRequestWithContext(t.Context(), http.MethodPut, url, http.NoBody)
		presigned.Header.Set("Content-Length", "0")
		for how, r := range map[string]*http.Request{"by a header": req, "by the URL": presigned} {
			r.Header.Set(header, "private")
			if got := w.serve(r); got.Code != want {
				t.Errorf("%s, %s: %d %s, want %d", header, how, got.Code, got.Body, want)
			}
		}
	}
}
