// SPDX-License-Identifier: Apache-2.0

package sigv4_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

func verifier() sigv4.Verifier {
	return sigv4.Verifier{Expect: sigv4.Expect{Service: "s3", Region: "us-east-1"}, Now: time.Now, Version2: true, Lookup: func(string, string) (string, error) { return "secret", nil }}
}

// refusal fails unless err is nil or a 4xx of the service.
func refusal(t *testing.T, err error) {
	t.Helper()
	var e *awserr.Error
	if err != nil && !errors.Is(err, io.EOF) && (!errors.As(err, &e) || e.Status < 400 || e.Status >= 500 && e.Status != http.StatusNotImplemented) {
		t.Errorf("not a refusal of the service: %v", err)
	}
}

// FuzzCanonicalisation signs requests with the AWS SDK and verifies them: both must agree on every path and query.
func FuzzCanonicalisation(f *testing.F) {
	f.Add("/b/k", "a=b&c=d+e", "v  w")
	f.Add("/b/ü /%2F~", "x=%zz&&=&;=1", "")
	f.Add("/", "X-Amz-Signature=1", "\t")
	f.Add("/", "a-b=1&a=2&a.b=3", "")
	f.Fuzz(func(t *testing.T, path, query, header string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Path, req.URL.RawPath, req.URL.RawQuery = "/"+path, httpbinding.EscapePath("/"+path, false), query // as the SDK's S3 client does
		if _, err := http.NewRequestWithContext(t.Context(), http.MethodGet, req.URL.String(), http.NoBody); err != nil {
			t.Skip("not a URL that a client could send")
		}
		if !sameOrder(req.URL.Query()) {
			t.Skip("the SDK sorts names and values before it encodes them, AWS after")
		}
		for _, r := range header {
			if r < ' ' || r > '~' {
				t.Skip("not a header that a client could send")
			}
		}
		req.Header.Set("X-Amz-Meta-A", header)
		req.Header.Set("X-Amz-Content-Sha256", sigv4.UnsignedPayload)
		err = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(t.Context(), aws.Credentials{AccessKeyID: "AKIA", SecretAccessKey: "secret"}, req, sigv4.UnsignedPayload, "s3", "us-east-1", time.Now())
		if err != nil {
			t.Skip(err)
		}
		if _, err = verifier().Verify(req); err != nil {
			t.Errorf("%s was signed by the SDK and is refused: %v", req.URL, err)
		}
	})
}

// sameOrder reports whether names and values are in the same order before and after they are encoded.
func sameOrder(query url.Values) bool {
	encoded := func(list []string) bool {
		return slices.IsSortedFunc(list, func(a, b string) int { return strings.Compare(sigv4.Encode(a, false), sigv4.Encode(b, false)) })
	}
	for _, values := range query {
		if !encoded(slices.Sorted(slices.Values(values))) {
			return false
		}
	}
	return encoded(slices.Sorted(maps.Keys(query)))
}

// FuzzAuthorization feeds arbitrary headers and queries.
func FuzzAuthorization(f *testing.F) {
	f.Add("AWS4-HMAC-SHA256 Credential=a/20200101/us-east-1/s3/aws4_request,SignedHeaders=host,Signature=0", "")
	f.Add("", "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=a%2F20200101%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20200101T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=0")
	f.Add("AWS a:b", "AWSAccessKeyId=a&Signature=b")
	f.Fuzz(func(t *testing.T, auth, query string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/", nil)
		req.Header.Set("Authorization", auth)
		req.URL.RawQuery = query
		_, err := verifier().Verify(req)
		refusal(t, err)
		_, err = verifier().VerifyService(req)
		refusal(t, err)
		sigv4.ServiceOf(req)
	})
}

// FuzzChunkedBody feeds arbitrary framing.
func FuzzChunkedBody(f *testing.F) {
	f.Add([]byte("5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"), "5", "x-amz-checksum-crc32")
	f.Add([]byte("5;chunk-signature=00\r\nhello\r\n0\r\n\r\n"), "5", "")
	f.Add([]byte("ffffffffffffffff\r\n"), "9223372036854775807", "")
	f.Fuzz(func(t *testing.T, body []byte, length, trailer string) {
		for _, payload := range []string{sigv4.StreamingUnsignedTrailer, sigv4.StreamingSigned, sigv4.StreamingSignedTrailer} {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "http://h/b/k", bytes.NewReader(body))
			req.Header.Set("X-Amz-Content-Sha256", payload)
			req.Header.Set("X-Amz-Decoded-Content-Length", length)
			req.Header.Set("X-Amz-Trailer", trailer)
			b, err := sigv4.NewBody(req, &sigv4.Verified{Mode: sigv4.Header, PayloadHash: payload})
			refusal(t, err)
			if err == nil {
				_, err = io.Copy(io.Discard, b)
				refusal(t, err)
			}
		}
	})
}
