// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestReadsOfTheAuthorizedVersion replaces an object during reads by a user whose policy requires a tag on the object. Each
// read returns a version with the tag or is rejected.
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

// TestChangesOfTheAuthorizedVersion replaces or deletes an object while its owner, another account, sends a new ACL for it. The
// new object must not get this ACL or this owner.
func TestChangesOfTheAuthorizedVersion(t *testing.T) {
	t.Parallel()
	const everyone = "http://acs.amazonaws.com/groups/global/AllUsers"
	replace := operation{method: http.MethodPut, path: "/open/k", body: "secret"}
	remove := operation{method: http.MethodDelete, path: "/open/k"}
	tests := map[string]struct {
		before, meanwhile []operation
		status            int
		// read is an object, public the status of an anonymous read of it, and changed whether its ACL is the new one.
		read    string
		public  int
		changed bool
	}{
		"nothing happens":                  {nil, nil, 200, "/open/k", 200, true},
		"the object is replaced":           {nil, []operation{replace}, 200, "/open/k", 403, false},
		"the object is deleted":            {nil, []operation{remove}, 403, "/open/k", 403, false},
		"the object is created again":      {nil, []operation{remove, replace}, 200, "/open/k", 403, false},
		"a version is added":               {[]operation{versioned}, []operation{replace}, 200, "/open/k", 403, false},
		"a version is added to an old one": {[]operation{versioned}, []operation{replace}, 200, "/open/k?versionId=null", 200, true},
		"a delete marker is added":         {[]operation{versioned}, []operation{remove}, 200, "/open/k?versionId=null", 200, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{}), known: map[string]string{}}
			guest := s3fake.Credentials{AccessKeyID: "AKIAGUEST", SecretAccessKey: "secret"}
			wantNoError(t, w.ImportUser(s3fake.ImportedUser{Name: "guest", Credentials: guest, Account: "111122223333", Policy: allow("*", "*")}))
			send := func(c s3fake.Credentials, steps ...operation) {
				for _, step := range steps {
					if got := w.send(t, c, step); got.Code >= http.StatusMultipleChoices {
						t.Fatalf("%s %s: %d %s", step.method, step.path, got.Code, got.Body)
					}
				}
			}
			send(w.Root(), operation{method: http.MethodPut, path: "/open", headers: "X-Amz-Object-Ownership: ObjectWriter"},
				operation{method: http.MethodDelete, path: "/open?publicAccessBlock"}, accessList("/open", "X-Amz-Grant-Write: id="+guestID))
			send(guest, operation{method: http.MethodPut, path: "/open/k", body: "text"})
			send(w.Root(), tc.before...)

			change := operation{method: http.MethodPut, path: "/open/k?acl", body: strings.Replace(accessPolicy, strings.Repeat("0", 64), guestID, 1)}
			r := signedRequest(t, "http://127.0.0.1", aws.Credentials{AccessKeyID: guest.AccessKeyID, SecretAccessKey: guest.SecretAccessKey}, change)
			body, client := io.Pipe()
			r.Body = body
			got, done := httptest.NewRecorder(), make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = body.Close() }() // ends the client's writes
				w.ServeHTTP(got, r)
			}()
			_, err := io.WriteString(client, change.body[:1]) // returns when the fake, which has authorized the request, reads its body
			wantNoError(t, err)
			send(w.Root(), tc.meanwhile...)
			_, err = io.WriteString(client, change.body[1:])
			wantNoError(t, err)
			wantNoError(t, client.Close())
			<-done
			if got.Code != tc.status {
				t.Errorf("the change: %d %s, want %d", got.Code, got.Body, tc.status)
			}
			if read := w.send(t, s3fake.Credentials{}, operation{method: http.MethodGet, path: tc.read}); read.Code != tc.public {
				t.Errorf("an anonymous read: %d %s, want %d", read.Code, read.Body, tc.public)
			}
			if tc.status != http.StatusOK {
				return
			}
			acl := w.send(t, w.Root(), operation{method: http.MethodGet, path: strings.Replace(tc.read+"&acl", "k&", "k?", 1)}).Body.String()
			if changed := strings.Contains(acl, everyone) && strings.Contains(acl, "<Owner><ID>"+guestID); changed != tc.changed {
				t.Errorf("the ACL is %s", acl)
			}
		})
	}
}

// versioned enables versioning.
var versioned = operation{method: http.MethodPut, path: "/open?versioning", body: `<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>`}
