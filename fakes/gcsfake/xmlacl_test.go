// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestXMLAccessControlLists writes lists by the XML API and reads them by the JSON API.
func TestXMLAccessControlLists(t *testing.T) {
	t.Parallel()
	const bucket, object = "/storage/v1/b/fine", "/storage/v1/b/fine/o/o"
	admin := "user-cooper-admin@cooper-fake.iam.gserviceaccount.com OWNER"
	entry := func(scope, permission string) string {
		return "<AccessControlList><Entries><Entry>" + scope + "<Permission>" + permission + "</Permission></Entry></Entries></AccessControlList>"
	}
	for name, tc := range map[string]struct {
		path, canned, body string
		status             int
		list               string
		want               []string
	}{
		"a predefined list of a bucket":  {"/fine?acl", "public-read-write", "", 200, bucket + "/acl", []string{"project-owners-111111111111 OWNER", "allUsers WRITER"}},
		"a predefined list of an object": {"/fine/o?acl", "authenticated-read", "", 200, object + "/acl", []string{admin, "allAuthenticatedUsers READER"}},
		"a predefined default":           {"/fine?defaultObjectAcl", "public-read", "", 200, bucket + "/defaultObjectAcl", []string{"allUsers READER"}},
		"a list of a bucket":             {"/fine?acl", "", entry(`<Scope type="UserByEmail"><EmailAddress>a@example.com</EmailAddress><Name>A</Name></Scope>`, "FULL_CONTROL"), 200, bucket + "/acl", []string{"user-a@example.com OWNER"}},
		"a domain":                       {"/fine?acl", "", entry(`<Scope type="GroupByDomain"><Domain>example.com</Domain></Scope>`, "WRITE"), 200, bucket + "/acl", []string{"domain-example.com WRITER"}},
		"a group":                        {"/fine/o?acl", "", entry(`<Scope type="GroupByEmail"><EmailAddress>g@example.com</EmailAddress></Scope>`, "READ"), 200, object + "/acl", []string{"group-g@example.com READER", admin}},
		"everyone":                       {"/fine/o?acl", "", entry(`<Scope type="AllUsers"/>`, "READ"), 200, object + "/acl", []string{admin, "allUsers READER"}},
		"an unknown name":                {"/fine/o?acl", "secret", "", 400, "", nil},
		"an unknown permission":          {"/fine/o?acl", "", entry(`<Scope type="AllUsers"/>`, "WRITE"), 400, "", nil},
		"an unknown ID":                  {"/fine/o?acl", "", entry(`<Scope type="GroupById"><ID>0123</ID></Scope>`, "READ"), 400, "", nil},
		"an unknown type":                {"/fine/o?acl", "", entry(`<Scope type="Robot"/>`, "READ"), 400, "", nil},
		"an unknown element":             {"/fine/o?acl", "", entry(`<Scope type="AllUsers"><Colour/></Scope>`, "READ"), 400, "", nil},
		"another document":               {"/fine/o?acl", "", "<AccessControlPolicy/>", 400, "", nil},
		"nothing":                        {"/fine/o?acl", "", "", 400, "", nil},
		"both":                           {"/fine/o?acl", "public-read", entry(`<Scope type="AllUsers"/>`, "READ"), 400, "", nil},
		"an unknown generation":          {"/fine/o?acl&generation=77", "public-read", "", 404, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			defer w.close(t)
			op := operation{method: "PUT", path: tc.path, body: tc.body}
			if tc.canned != "" {
				op.headers = "X-Goog-Acl: " + tc.canned
			}
			if got := w.send(t, w.admin, op); got.Code != tc.status {
				t.Fatalf("%d %s", got.Code, got.Body)
			}
			if tc.status != http.StatusOK {
				return
			}
			before := w.entries(t, w.admin, tc.list)
			if diff := gocmp.Diff(tc.want, before); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			// A list that is sent back does not change.
			shown := w.send(t, w.admin, operation{method: "GET", path: tc.path})
			w.must(t, operation{method: "PUT", path: tc.path, body: shown.Body.String()})
			if diff := gocmp.Diff(before, w.entries(t, w.admin, tc.list)); diff != "" {
				t.Errorf("after %s (-want +got):\n%s", shown.Body, diff)
			}
		})
	}
}

// TestXMLAccessControlListOfProjects reads the list of a new object, whose entries for teams have opaque IDs.
func TestXMLAccessControlListOfProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	got := w.send(t, w.admin, operation{method: "GET", path: "/fine/o?acl"}).Body.String()
	if strings.Count(got, `<Scope type="GroupById"><ID>`) != 3 || !strings.Contains(got, "<Owner><ID>") || !strings.Contains(got, `<Scope type="UserByEmail">`) {
		t.Error(got)
	}
	w.must(t, operation{method: "PUT", path: "/fine/o?acl", body: got})
	if list := w.entries(t, w.admin, "/storage/v1/b/fine/o/o/acl"); len(list) != 4 {
		t.Errorf("the list is %v", list)
	}
}
