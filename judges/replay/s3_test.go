// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

const (
	s3Region = "us-west-1"
	s3Domain = "s3." + s3Region + ".amazonaws.com"
	s3Bucket = "https://go-cloud-testing-2." + s3Domain + "/"
)

func s3Suite() suite {
	return suite{
		name: "S3", module: "gocloud.dev", files: "blob/s3blob/testdata",
		want: score{recorded: 1084, sent: 1082, status: 1082, equal: 1082},
		outside: []exclusion{
			{match: `/\?(list-type=2&)?max-keys=1 = 200$`, reason: "the bucket held objects that are not recorded", count: 2},
		},
		start: startS3,
		rules: rules{
			format: func(e *exchange) string {
				if e.Response.StatusCode >= http.StatusMultipleChoices || e.Request.Header.Get("X-Amz-Copy-Source") != "" || strings.HasPrefix(e.Request.URL, s3Bucket+"?") {
					return formXML
				}
				return data
			},
			listed:  regexp.MustCompile(`\.Contents(\[\d+\])?\.Key$`),
			ignored: regexp.MustCompile(`^(Server|X-Amz-Id-2)$`),
			varying: regexp.MustCompile(`^(Date|Last-Modified|X-Amz-Request-Id)$|\.(LastModified|RequestId|HostId|ID|NextContinuationToken|ContinuationToken|AWSAccessKeyId|StringToSign|SignatureProvided|StringToSignBytes|CanonicalRequest|CanonicalRequestBytes)$`),
			later:   regexp.MustCompile(`\.Contents(\[\d+\])?\.Checksum(Algorithm|Type)$`), // objects of 2024 have no checksum
		},
	}
}

// startS3 stores the objects that the recording lists before it writes them.
func startS3(t *testing.T, r *recording) service {
	t.Helper()
	server := faketest.Start(t, s3fake.New, s3fake.Options{Region: s3Region, Domains: []string{s3Domain}})
	root := server.Root()
	out := service{url: server.URL(), sign: signS3(aws.Credentials{AccessKeyID: root.AccessKeyID, SecretAccessKey: root.SecretAccessKey})}
	unsigned := http.Header{"X-Amz-Content-Sha256": {"UNSIGNED-PAYLOAD"}}
	region := []byte("<CreateBucketConfiguration><LocationConstraint>" + s3Region + "</LocationConstraint></CreateBucketConfiguration>")
	out.prepare(t, http.MethodPut, s3Bucket, unsigned, region)
	for _, key := range r.leftovers(t, s3Suite().rules) {
		escaped := strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(key))
		out.prepare(t, http.MethodPut, s3Bucket+escaped, http.Header{"X-Amz-Content-Sha256": {"UNSIGNED-PAYLOAD"}, "X-Amz-Checksum-Crc32": {"NhCmhg=="}, "Content-Type": {"text/plain"}}, []byte(leftover))
	}
	return out
}

// signS3 signs like the SDK did: in headers, in the URL, or not at all.
func signS3(key aws.Credentials) func(*testing.T, *http.Request, *exchange) {
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	return func(t *testing.T, r *http.Request, _ *exchange) {
		t.Helper()
		query := r.URL.Query()
		if query.Get("x-id") == "PutObject" && r.Header.Get("Content-Type") == "" && !query.Has("X-Amz-Algorithm") {
			r.Header.Set("Content-Type", "") // the SDK sends an empty one, which S3 keeps
		}
		if sum := r.Header.Get("X-Amz-Content-Sha256"); sum != "" {
			if err := signer.SignHTTP(t.Context(), key, r, sum, "s3", s3Region, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if !query.Has("X-Amz-Algorithm") {
			return
		}
		for _, name := range []string{"X-Amz-Algorithm", "X-Amz-Date", "X-Amz-SignedHeaders"} {
			query.Del(name)
		}
		target := *r.URL
		target.RawQuery = query.Encode()
		// A URL that was signed for another method is part of the recordings.
		method := map[string]string{"GetObject": http.MethodGet, "PutObject": http.MethodPut, "DeleteObject": http.MethodDelete}[query.Get("x-id")]
		plain, err := http.NewRequestWithContext(t.Context(), method, "/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		plain.URL = &target
		signed, _, err := signer.PresignHTTP(t.Context(), key, plain, "UNSIGNED-PAYLOAD", "s3", s3Region, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		_, r.URL.RawQuery, _ = strings.Cut(signed, "?")
	}
}
