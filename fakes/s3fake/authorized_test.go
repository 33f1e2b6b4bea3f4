// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestReadsOfTheAuthorizedVersion replaces an object while a user reads it who may read it only while it has a tag. Each read
// returns a version with the tag or is rejected.
func TestReadsOfTheAuthorizedVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := s3fake.Credentials{AccessKeyID: "AKIAREADERREADER0000", SecretAccessKey: "secret"}
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*","Condition":{"StringEquals":{"s3:ExistingObjectTag/open":"yes"}}},` +
		`{"Effect":"Allow","Action":["s3:PutObject","s3:ListBucket"],"Resource":"*"}]}`
	wantNoError(t, w.ImportUser(s3fake.ImportedUser{Name: "reader", Credentials: c, Policy: policy}))
	write := map[string]operation{
		"open":   {method: http.MethodPut, path: "/empty/k", headers: "X-Amz-Tagging: open=yes", body: "open"},
		"secret": {method: http.MethodPut, path: "/empty/k", body: "secret"},
	}
	for _, op := range write {
		w.send(t, w.Root(), op)
	}
	var running sync.WaitGroup
	const rounds = 1000
	for _, op := range write {
		running.Go(func() {
			for range rounds {
				w.send(t, w.Root(), op)
			}
		})
	}
	for _, op := range []operation{{method: http.MethodGet, path: "/empty/k"}, {method: http.MethodPut, path: "/empty/copy", headers: "X-Amz-Copy-Source: empty/k"}} {
		running.Go(func() {
			for range rounds {
				got := w.send(t, c, op)
				// The ETag of a copy is the MD5 of "secret".
				if strings.Contains(got.Body.String(), "secret") || strings.Contains(got.Body.String(), "5ebe2294ecd0e0f08eab7690d2a6ee69") {
					t.Errorf("%s: %d %s", op.method, got.Code, got.Body)
					return
				}
			}
		})
	}
	running.Wait()
}
