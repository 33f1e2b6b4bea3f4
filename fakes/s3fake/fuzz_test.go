// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// fuzzWorld is one server for all inputs of a fuzz target.
func fuzzWorld(f *testing.F) *world {
	f.Helper()
	s := faketest.Open(f, s3fake.New, s3fake.Options{})
	return &world{Server: s, known: map[string]string{}}
}

// noServerError fails on a 500; 501 and 503 are responses of the service.
func noServerError(t *testing.T, status int, body *bytes.Buffer) {
	t.Helper()
	if status == http.StatusInternalServerError {
		t.Errorf("returned 500: %s", body)
	}
}

// FuzzQueries sends arbitrary parameters to IAM and STS.
func FuzzQueries(f *testing.F) {
	w := fuzzWorld(f)
	f.Add("Action=CreateUser&UserName=a&Tags.member.1.Key=k&Tags.member.1.Value=v")
	f.Add("Action=ListUsers&MaxItems=0&Marker=%00&PathPrefix=/")
	f.Add("Action=AssumeRoleWithWebIdentity&WebIdentityToken=a.b.c&RoleArn=arn:aws:iam::000000000000:role/r&RoleSessionName=xx")
	f.Fuzz(func(t *testing.T, query string) {
		got := w.send(t, w.Root(), operation{method: "POST", path: "/", body: query})
		noServerError(t, got.Code, got.Body)
	})
}

// FuzzListings sends arbitrary parameters to the listings.
func FuzzListings(f *testing.F) {
	w := fuzzWorld(f)
	f.Add("list-type=2&prefix=a&delimiter=/&max-keys=-1&continuation-token=!")
	f.Add("versions&key-marker=a&version-id-marker=b&encoding-type=url")
	f.Add("uploads&upload-id-marker=x&max-uploads=99999999999")
	f.Fuzz(func(t *testing.T, query string) {
		for _, setup := range []operation{{method: "PUT", path: "/docs"}, {method: "PUT", path: "/docs/a/b", body: "x"}} {
			w.send(t, w.Root(), setup)
		}
		if strings.ContainsAny(query, " \x00\r\n\t#") || !valid(query) {
			t.Skip("not a query that a client could send")
		}
		got := w.send(t, w.Root(), operation{method: "GET", path: "/docs?" + query})
		noServerError(t, got.Code, got.Body)
	})
}

func valid(query string) bool {
	for _, c := range []byte(query) {
		if c < 0x21 || c > 0x7e {
			return false
		}
	}
	_, err := http.NewRequest(http.MethodGet, "http://h/docs?"+query, http.NoBody)
	return err == nil
}

// FuzzDocuments sends arbitrary bodies to everything that reads XML or JSON.
func FuzzDocuments(f *testing.F) {
	w := fuzzWorld(f)
	for _, body := range []string{tagging, lifecycle, cors, block, ownership, sse, objLock, retention, hold, bucketPol, parts, accessPolicy, `<Delete><Object><Key>k</Key></Object></Delete>`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, setup := range []operation{{method: "PUT", path: "/docs"}, {method: "PUT", path: "/docs/k", body: "x"}} {
			w.send(t, w.Root(), setup)
		}
		for _, sub := range []string{"tagging", "lifecycle", "cors", "publicAccessBlock", "ownershipControls", "encryption", "object-lock", "policy", "versioning", "acl"} {
			got := w.send(t, w.Root(), operation{method: "PUT", path: "/docs?" + sub, body: body})
			noServerError(t, got.Code, got.Body)
		}
		for _, op := range []operation{{method: "PUT", path: "/docs/k?tagging"}, {method: "PUT", path: "/docs/k?retention"}, {method: "PUT", path: "/docs/k?legal-hold"}, {method: "PUT", path: "/docs/k?acl"}, {method: "POST", path: "/docs?delete"}, {method: "POST", path: "/docs/k?uploadId=x"}} {
			op.body = body
			got := w.send(t, w.Root(), op)
			noServerError(t, got.Code, got.Body)
		}
	})
}
