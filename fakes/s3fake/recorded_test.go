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

// TestRecordedHeaders expects what Amazon S3 was recorded to answer in the tests of gocloud.dev v0.46.0. judges/replay
// replays all of those recordings.
func TestRecordedHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := operation{method: http.MethodPut, path: "/docs/untyped", headers: "Content-Type: \"\"", body: "x"}
	if got := w.send(t, w.Root(), put); got.Code != http.StatusOK {
		t.Fatal(got.Body.String())
	}
	for _, list := range []string{"/docs", "/docs?list-type=2"} {
		if got := w.send(t, w.Root(), operation{method: http.MethodGet, path: list}); got.Header().Get("X-Amz-Bucket-Region") != w.Region() {
			t.Errorf("%s: got headers %v", list, got.Header())
		}
	}
	const checksum = "X-Amz-Checksum-Crc64nvme"
	read := operation{method: http.MethodGet, path: "/docs/untyped", headers: "X-Amz-Checksum-Mode: ENABLED"}
	got := w.send(t, w.Root(), read)
	if types := got.Header().Values("Content-Type"); len(types) != 1 || types[0] != "" {
		t.Errorf("got the content type %q, want an empty one", types)
	}
	if got.Header().Get(checksum) == "" {
		t.Errorf("no checksum in %v", got.Header())
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/docs/untyped?X-Amz-Checksum-Mode=ENABLED&X-Amz-Expires=60", http.NoBody)
	root := aws.Credentials{AccessKeyID: w.Root().AccessKeyID, SecretAccessKey: w.Root().SecretAccessKey}
	signed, _, err := v4.NewSigner().PresignHTTP(t.Context(), root, req, "UNSIGNED-PAYLOAD", "s3", w.Region(), time.Now())
	wantNoError(t, err)
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, signed, http.NoBody))
	if rec.Code != http.StatusOK || rec.Header().Get(checksum) != "" {
		t.Errorf("presigned: got %d %s %v", rec.Code, rec.Body.String(), rec.Header())
	}
}
