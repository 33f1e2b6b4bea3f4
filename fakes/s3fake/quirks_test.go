// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestQuirks has the fake be another store than AWS, and tags of buckets be for access control.
func TestQuirks(t *testing.T) {
	t.Parallel()
	create := func(inside string) operation {
		return operation{method: http.MethodPut, path: "/box", body: "<CreateBucketConfiguration>" + inside + "</CreateBucketConfiguration>"}
	}
	plain := operation{method: http.MethodPut, path: "/box"}
	const tags = `<Tags><Tag><Key>a</Key><Value>b</Value></Tag></Tags>`
	user := query("CreateUser", "UserName=u", "Tags.member.1.Key=a", "Tags.member.1.Value=b")
	readTags, writeTags := operation{method: http.MethodGet, path: "/box?tagging"}, operation{method: http.MethodPut, path: "/box?tagging", body: tagging}
	abac := operation{method: http.MethodPut, path: "/box?abac", body: `<AbacStatus><Status>Enabled</Status></AbacStatus>`}
	tests := map[string]struct {
		quirks s3fake.Quirks
		before []operation
		op     operation
		status int
		code   string
		says   string
	}{
		"a user's tags are kept":                {s3fake.Quirks{}, []operation{user}, query("GetUser", "UserName=u"), 200, "", "<Key>a</Key>"},
		"a user's tags are forgotten":           {s3fake.Quirks{ForgetsTags: true}, []operation{user}, query("ListUserTags", "UserName=u"), 200, "", "<Tags></Tags>"},
		"tags without a location":               {s3fake.Quirks{LocationOnly: true}, nil, create(tags), 400, "InvalidArgument", ""},
		"no configuration at all":               {s3fake.Quirks{LocationOnly: true}, nil, plain, 200, "", ""},
		"no tags of buckets":                    {s3fake.Quirks{NoBucketTags: true}, []operation{plain}, writeTags, 501, "NotImplemented", ""},
		"tags for access control are read":      {s3fake.Quirks{}, []operation{create(tags), abac}, readTags, 200, "", "<Key>a</Key>"},
		"tags for access control are not set":   {s3fake.Quirks{}, []operation{plain, abac}, writeTags, 400, "InvalidRequest", "TagResource"},
		"tags for access control are announced": {s3fake.Quirks{}, []operation{plain, abac}, operation{method: http.MethodGet, path: "/box?abac"}, 200, "", "Enabled"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{Quirks: tc.quirks})}
			for _, op := range tc.before {
				if got := w.send(t, w.Root(), op); got.Code != http.StatusOK {
					t.Fatalf("%s %s: %d %s", op.method, op.path, got.Code, got.Body)
				}
			}
			if got := w.send(t, w.Root(), tc.op); got.Code != tc.status || errorCode(got.Body.Bytes()) != tc.code || !strings.Contains(got.Body.String(), tc.says) {
				t.Errorf("%d %s, want %d %s %s", got.Code, got.Body, tc.status, tc.code, tc.says)
			}
		})
	}
}
