// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// BenchmarkList lists pages of 1000 keys in a bucket of 20000, without a network.
func BenchmarkList(b *testing.B) {
	s := faketest.Open(b, s3fake.New, s3fake.Options{})
	w := &world{Server: s}
	for i := range 20000 {
		if i == 0 {
			w.send(b, s.Root(), operation{method: http.MethodPut, path: "/docs"})
		}
		w.send(b, s.Root(), operation{method: http.MethodPut, path: fmt.Sprintf("/docs/%03d/%08d", i%100, i), body: "x"})
	}
	b.ResetTimer()
	for b.Loop() {
		if got := w.send(b, s.Root(), operation{method: http.MethodGet, path: "/docs?list-type=2"}); got.Code != http.StatusOK {
			b.Fatal(got.Body.String())
		}
	}
}

// BenchmarkGet gets an object of 4 KiB again and again, signature and all, without a network.
func BenchmarkGet(b *testing.B) {
	s := faketest.Open(b, s3fake.New, s3fake.Options{})
	w := &world{Server: s}
	w.send(b, s.Root(), operation{method: http.MethodPut, path: "/docs"})
	w.send(b, s.Root(), operation{method: http.MethodPut, path: "/docs/k", body: strings.Repeat("x", 4096)})
	req := signedRequest(b, "http://127.0.0.1", aws.Credentials{AccessKeyID: s.Root().AccessKeyID, SecretAccessKey: s.Root().SecretAccessKey}, operation{method: http.MethodGet, path: "/docs/k"})
	b.ReportAllocs()
	for b.Loop() {
		got := httptest.NewRecorder()
		if s.ServeHTTP(got, req); got.Code != http.StatusOK {
			b.Fatal(got.Body.String())
		}
	}
}
