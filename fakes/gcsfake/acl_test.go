// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

const docACL = "Access control lists: https://cloud.google.com/storage/docs/access-control/lists"

// aclOperations are the methods of access control lists, in a bucket without uniform access.
func aclOperations() map[string]operation {
	const fine = "/storage/v1/b/fine"
	out := map[string]operation{
		"storage.objects.patch acl":     {method: "PATCH", path: fine + "/o/o", body: `{"acl":[]}`, permissions: []string{"storage.objects.update", "storage.objects.setIamPolicy"}, status: 200, doc: docACL},
		"storage.buckets.patch acl":     {method: "PATCH", path: fine + "?predefinedAcl=publicRead", body: `{}`, permissions: []string{"storage.buckets.update", "storage.buckets.setIamPolicy"}, status: 200, doc: docACL},
		"storage.objects.insert acl":    {method: "POST", path: "/upload" + fine + "/o?uploadType=media&name=fresh&predefinedAcl=publicRead", body: "x", permissions: []string{"storage.objects.create"}, status: 200, doc: docACL},
		"storage.objects.insert put":    {method: "PUT", path: up + "?uploadType=media&name=fresh", body: "x", permissions: []string{"storage.objects.create"}, status: 200, doc: "JSON uploads: https://cloud.google.com/storage/docs/uploading-objects"},
		"storage.objects.restore acl":   {method: "POST", path: fine + "/o/gone/restore?copySourceAcl=true&generation={listed}", permissions: []string{"storage.objects.restore", "storage.objects.create", "storage.objects.setIamPolicy"}, status: 200, doc: docACL},
		"xml.PutBucket acl":             {method: "PUT", path: "/fresh", headers: "X-Amz-Acl: public-read", permissions: []string{"storage.buckets.create"}, project: true, status: 200, doc: docACL},
		"xml.GetBucketACL":              {method: "GET", path: "/fine?acl", permissions: []string{"storage.buckets.getIamPolicy"}, status: 200, doc: docACL},
		"xml.PutBucketACL":              {method: "PUT", path: "/fine?acl", headers: "X-Goog-Acl: public-read", permissions: []string{"storage.buckets.setIamPolicy"}, status: 200, doc: docACL},
		"xml.GetBucketDefaultObjectACL": {method: "GET", path: "/fine?defaultObjectAcl", permissions: []string{"storage.buckets.getIamPolicy"}, status: 200, doc: docACL},
		"xml.PutBucketDefaultObjectACL": {method: "PUT", path: "/fine?defaultObjectAcl", headers: "X-Goog-Acl: public-read", permissions: []string{"storage.buckets.setIamPolicy"}, status: 200, doc: docACL},
		"xml.GetObjectACL":              {method: "GET", path: "/fine/o?acl", permissions: []string{"storage.objects.getIamPolicy"}, status: 200, doc: docACL},
		"xml.PutObjectACL":              {method: "PUT", path: "/fine/o?acl", headers: "X-Goog-Acl: public-read", permissions: []string{"storage.objects.setIamPolicy"}, status: 200, doc: docACL},
		"xml.PutObject acl":             {method: "PUT", path: "/fine/fresh", headers: "X-Goog-Acl: public-read", body: "x", permissions: []string{"storage.objects.create"}, status: 200, doc: docACL},
		"storage.objects.get node":      {method: "GET", path: "/b/docs/o/o?alt=media", permissions: []string{"storage.objects.get"}, status: 200, doc: docJSON},
		"storage.buckets.list node":     {method: "GET", path: "/b?project=cooper-fake", permissions: []string{"storage.buckets.list"}, project: true, status: 200, doc: docJSON},
		"storage.objects.get acl full":  {method: "GET", path: fine + "/o/o?projection=full", permissions: []string{"storage.objects.get"}, status: 200, doc: docJSON},
	}
	for _, k := range []struct{ kind, path, on, entity string }{
		{"storage.bucketAccessControls.", fine + "/acl", "buckets", "domain-example.com"},
		{"storage.defaultObjectAccessControls.", fine + "/defaultObjectAcl", "buckets", "project-viewers-111111111111"},
		{"storage.objectAccessControls.", fine + "/o/o/acl", "objects", "project-viewers-111111111111"},
	} {
		get, set := []string{"storage." + k.on + ".getIamPolicy"}, []string{"storage." + k.on + ".setIamPolicy"}
		one := k.path + "/" + k.entity
		out[k.kind+"list"] = operation{method: "GET", path: k.path, permissions: get, status: 200, doc: docACL}
		out[k.kind+"get"] = operation{method: "GET", path: one, permissions: get, status: 200, doc: docACL}
		out[k.kind+"insert"] = operation{method: "POST", path: k.path, body: `{"entity":"domain-example.org","role":"READER"}`, permissions: set, status: 200, doc: docACL}
		out[k.kind+"patch"] = operation{method: "PATCH", path: one, body: `{"role":"READER"}`, permissions: set, status: 200, doc: docACL}
		out[k.kind+"update"] = operation{method: "PUT", path: one, body: `{"role":"READER"}`, permissions: set, status: 200, doc: docACL}
		out[k.kind+"delete"] = operation{method: "DELETE", path: one, permissions: set, status: 204, doc: docACL}
	}
	return out
}

// TestUniformAccessExcludesAccessControlLists requests access control lists under uniform access, and without permission.
func TestUniformAccessExcludesAccessControlLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	stranger := w.account(t, "caller-account")
	for _, path := range []string{"/acl", "/defaultObjectAcl", "/o/o/acl"} {
		for _, method := range []string{"GET", "POST"} {
			if got := w.send(t, w.admin, operation{method: method, path: b + path}); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "uniform bucket-level access") {
				t.Errorf("%s %s under uniform access: %d %s", method, path, got.Code, got.Body.String())
			}
			if got := w.send(t, stranger, operation{method: method, path: b + path}); got.Code != http.StatusForbidden {
				t.Errorf("%s %s by a stranger: %d %s", method, path, got.Code, got.Body.String())
			}
		}
	}
}

// TestPredefinedACLs writes an object with each predefined list of "Predefined ACLs" and reads it as several callers.
func TestPredefinedACLs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	writer, someone := w.account(t, "writer-account"), w.account(t, "some-account")
	viewer := w.account(t, "viewer-account")
	wantNoError(t, w.Grant("", "serviceAccount:viewer-account@cooper-fake.iam.gserviceaccount.com", "roles/viewer"))
	w.must(t, operation{method: "POST", path: "/storage/v1/b/fine/acl", body: `{"entity":"user-writer-account@cooper-fake.iam.gserviceaccount.com","role":"WRITER"}`})
	teams := []string{"project-owners-111111111111 OWNER", "project-editors-111111111111 OWNER", "project-viewers-111111111111 READER"}
	const owner = "user-writer-account@cooper-fake.iam.gserviceaccount.com OWNER"
	for name, tc := range map[string]struct {
		canned  string
		entries []string
		// readers are the callers who can read the object, apart from its owner.
		readers []string
	}{
		"projectPrivate":         {canned: "project-private", entries: teams, readers: []string{"viewer"}},
		"private":                {canned: "private"},
		"publicRead":             {canned: "public-read", entries: []string{"allUsers READER"}, readers: []string{"anonymous", "someone", "viewer"}},
		"authenticatedRead":      {canned: "authenticated-read", entries: []string{"allAuthenticatedUsers READER"}, readers: []string{"someone", "viewer"}},
		"bucketOwnerRead":        {canned: "bucket-owner-read", entries: []string{"project-owners-111111111111 READER"}},
		"bucketOwnerFullControl": {canned: "bucket-owner-full-control", entries: []string{"project-owners-111111111111 OWNER"}},
		"":                       {entries: teams, readers: []string{"viewer"}},
	} {
		query := ""
		if name != "" {
			query = "&predefinedAcl=" + name
		}
		for object, op := range map[string]operation{
			"json" + name: {method: "POST", path: "/upload/storage/v1/b/fine/o?uploadType=media&name=json" + name + query, body: "x"},
			"xml" + name:  {method: "PUT", path: "/fine/xml" + name, headers: "X-Goog-Acl: " + tc.canned, body: "x"},
		} {
			if got := w.send(t, writer, op); got.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", object, got.Code, got.Body)
			}
			path := "/storage/v1/b/fine/o/" + object
			want := append(slices.Clone(tc.entries), owner)
			if len(tc.entries) > 0 && strings.HasPrefix(tc.entries[0], "all") {
				slices.Reverse(want)
			}
			if diff := gocmp.Diff(want, w.entries(t, writer, path+"/acl")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", object, diff)
			}
			for caller, token := range map[string]string{"anonymous": "", "someone": someone, "viewer": viewer} {
				for _, read := range []string{path + "?alt=media", "/fine/" + object} {
					if got := w.send(t, token, operation{method: "GET", path: read}).Code == http.StatusOK; got != slices.Contains(tc.readers, caller) {
						t.Errorf("%s reads %s: %t", caller, read, got)
					}
				}
			}
			for _, read := range []string{path + "/acl", "/storage/v1/b/fine/acl"} {
				if got := w.send(t, someone, operation{method: "GET", path: read}); got.Code != http.StatusForbidden {
					t.Errorf("someone reads %s: %d", read, got.Code)
				}
			}
		}
	}
}

// entries returns a list as "entity role".
func (w *world) entries(t *testing.T, token, path string) []string {
	t.Helper()
	got := w.send(t, token, operation{method: "GET", path: path})
	var doc struct {
		Items []struct{ Entity, Role string }
	}
	wantNoError(t, json.Unmarshal(got.Body.Bytes(), &doc))
	var out []string
	for _, e := range doc.Items {
		out = append(out, e.Entity+" "+e.Role)
	}
	return out
}

// TestChangesOfAccessControlLists changes lists and reads the results.
func TestChangesOfAccessControlLists(t *testing.T) {
	t.Parallel()
	const object, bucket = "/storage/v1/b/fine/o/o", "/storage/v1/b/fine"
	admin := "user-cooper-admin@cooper-fake.iam.gserviceaccount.com OWNER"
	teams := []string{"project-owners-111111111111 OWNER", "project-editors-111111111111 OWNER", "project-viewers-111111111111 READER"}
	for name, tc := range map[string]struct {
		op     operation
		status int
		list   string
		want   []string
	}{
		"Node's makePublic":       {operation{method: "POST", path: object + "/acl", body: `{"entity":"allUsers","role":"READER"}`}, 200, object + "/acl", slices.Concat(teams, []string{admin, "allUsers READER"})},
		"Node's makePrivate":      {operation{method: "PATCH", path: object + "?predefinedAcl=private", body: `{"acl":null}`}, 200, object + "/acl", []string{admin}},
		"Python's make_public":    {operation{method: "PATCH", path: object + "?projection=full", body: `{"acl":[{"entity":"allUsers","role":"READER"}]}`}, 200, object + "/acl", []string{admin, "allUsers READER"}},
		"an empty list":           {operation{method: "PATCH", path: object, body: `{"acl":[]}`}, 200, object + "/acl", []string{admin}},
		"an entry that is absent": {operation{method: "PATCH", path: object + "/acl/allUsers", body: `{"role":"READER"}`}, 404, object + "/acl", append(slices.Clone(teams), admin)},
		"Go's ACLHandle.Set":      {operation{method: "PUT", path: object + "/acl/allUsers", body: `{"role":"READER"}`}, 200, object + "/acl", slices.Concat(teams, []string{admin, "allUsers READER"})},
		"the owner's deletion":    {operation{method: "DELETE", path: object + "/acl/user-cooper-admin@cooper-fake.iam.gserviceaccount.com"}, 204, object + "/acl", append(slices.Clone(teams), admin)},
		"a role of buckets":       {operation{method: "POST", path: object + "/acl", body: `{"entity":"allUsers","role":"WRITER"}`}, 400, object + "/acl", append(slices.Clone(teams), admin)},
		"an unknown entity":       {operation{method: "POST", path: object + "/acl", body: `{"entity":"everybody","role":"READER"}`}, 400, object + "/acl", append(slices.Clone(teams), admin)},
		"an unknown account":      {operation{method: "POST", path: object + "/acl", body: `{"entity":"user-no@cooper-fake.iam.gserviceaccount.com","role":"READER"}`}, 400, object + "/acl", append(slices.Clone(teams), admin)},
		"a project by its ID":     {operation{method: "DELETE", path: object + "/acl/project-viewers-cooper-fake"}, 204, object + "/acl", append(slices.Clone(teams[:2]), admin)},
		"an invalid name":         {operation{method: "PATCH", path: object + "?predefinedAcl=secret", body: `{}`}, 400, object + "/acl", append(slices.Clone(teams), admin)},

		"a bucket's predefined list": {operation{method: "PATCH", path: bucket + "?predefinedAcl=publicReadWrite", body: `{}`}, 200, bucket + "/acl", []string{"project-owners-111111111111 OWNER", "allUsers WRITER"}},
		"a bucket's list":            {operation{method: "PATCH", path: bucket, body: `{"acl":[{"entity":"group-g@example.com","role":"OWNER"}]}`}, 200, bucket + "/acl", []string{"group-g@example.com OWNER"}},
		"a bucket's policy":          {operation{method: "PUT", path: bucket + "/iam", body: `{"bindings":[{"role":"roles/storage.legacyBucketWriter","members":["allUsers","user:a@example.com"]}]}`}, 200, bucket + "/acl", []string{"allUsers WRITER", "user-a@example.com WRITER"}},
		"a default":                  {operation{method: "PATCH", path: bucket + "?predefinedDefaultObjectAcl=private", body: `{}`}, 200, bucket + "/defaultObjectAcl", nil},
		"an entry of the default":    {operation{method: "POST", path: bucket + "/defaultObjectAcl", body: `{"entity":"allUsers","role":"READER"}`}, 200, bucket + "/defaultObjectAcl", append(slices.Clone(teams), "allUsers READER")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			defer w.close(t)
			if got := w.send(t, w.admin, tc.op); got.Code != tc.status {
				t.Errorf("%d %s", got.Code, got.Body)
			}
			if diff := gocmp.Diff(tc.want, w.entries(t, w.admin, tc.list)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAccessControlListsOfLibraries makes the calls of django-storages and of Firebase's admin SDK for Node, which use
// Google's clients for Python and Node.
func TestAccessControlListsOfLibraries(t *testing.T) {
	t.Parallel()
	const objects, upload = "/storage/v1/b/fine/o", "/upload/storage/v1/b/fine/o?uploadType=multipart"
	const parts = "--==z==\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n{\"name\": \"media/cat.txt\"}\r\n--==z==\r\ncontent-type: text/plain\r\n\r\nmeow\r\n--==z==--"
	const admin = "user-cooper-admin@cooper-fake.iam.gserviceaccount.com"
	teams := []string{"project-owners-111111111111 OWNER", "project-editors-111111111111 OWNER", "project-viewers-111111111111 READER"}
	public := operation{method: "POST", path: objects + "/o/acl", body: `{"entity":"allUsers","role":"READER"}`, status: 200}
	for name, tc := range map[string]struct {
		calls  []operation
		object string
		want   []string
		// anonymous is the status of reading the public URL.
		anonymous int
	}{
		"django-storages: save with the default ACL publicRead": {[]operation{
			{method: "GET", path: objects + "/media%2Fcat.txt?projection=noAcl&prettyPrint=false", status: 404},
			{method: "POST", path: upload + "&predefinedAcl=publicRead", headers: `Content-Type: multipart/related; boundary="==z=="`, body: parts, status: 200},
		}, "media/cat.txt", []string{admin + " OWNER", "allUsers READER"}, 200},
		"django-storages: make_public of a saved blob": {[]operation{
			{method: "GET", path: objects + "/o/acl?prettyPrint=false", status: 200},
			{method: "PATCH", path: objects + "/o?projection=full&prettyPrint=false", status: 200, body: `{"acl":[{"entity":"project-owners-111111111111","role":"OWNER"},
				{"entity":"project-editors-111111111111","role":"OWNER"},{"entity":"project-viewers-111111111111","role":"READER"},
				{"entity":"` + admin + `","role":"OWNER"},{"entity":"allUsers","role":"READER"}]}`},
		}, "o", slices.Concat(teams, []string{admin + " OWNER", "allUsers READER"}), 200},
		"Firebase: makePublic":         {[]operation{public}, "o", slices.Concat(teams, []string{admin + " OWNER", "allUsers READER"}), 200},
		"Firebase: makePrivate":        {[]operation{public, {method: "PATCH", path: objects + "/o?predefinedAcl=projectPrivate", body: `{"acl":null}`, status: 200}}, "o", slices.Concat(teams, []string{admin + " OWNER"}), 403},
		"Firebase: makePrivate strict": {[]operation{public, {method: "PATCH", path: objects + "/o?predefinedAcl=private", body: `{"acl":null}`, status: 200}}, "o", []string{admin + " OWNER"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			defer w.close(t)
			for _, op := range tc.calls {
				if got := w.send(t, w.admin, op); got.Code != op.status {
					t.Errorf("%s %s: %d %s", op.method, op.path, got.Code, got.Body)
				}
			}
			if diff := gocmp.Diff(tc.want, w.entries(t, w.admin, objects+"/"+url.PathEscape(tc.object)+"/acl")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := w.send(t, "", operation{method: "GET", path: "/fine/" + tc.object}); got.Code != tc.anonymous {
				t.Errorf("the public URL: %d", got.Code)
			}
		})
	}
}

// TestDefaultObjectACL writes objects after the default has changed, and before.
func TestDefaultObjectACL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.must(t, operation{method: "POST", path: "/storage/v1/b/fine/defaultObjectAcl", body: `{"entity":"allUsers","role":"READER"}`})
	w.must(t, operation{method: "POST", path: "/upload/storage/v1/b/fine/o?uploadType=media&name=later", body: "x"})
	w.must(t, operation{method: "POST", path: "/storage/v1/b/fine/o/later/copyTo/b/docs/o/copy"})
	w.must(t, operation{method: "POST", path: "/storage/v1/b/docs/o/o/copyTo/b/fine/o/copy"})
	for path, want := range map[string]int{"/fine/o": 403, "/fine/later": 200, "/docs/copy": 403, "/fine/copy": 200} {
		if got := w.send(t, "", operation{method: "GET", path: path}); got.Code != want {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

// TestDefaultObjectACLAfterUniformAccess disables uniform access. An object that is older than uniform access regains its
// list, and one that was created under uniform access has the default list.
func TestDefaultObjectACLAfterUniformAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	uniform := func(enabled string) operation {
		return operation{method: "PATCH", path: "/storage/v1/b/fine", body: `{"iamConfiguration":{"uniformBucketLevelAccess":{"enabled":` + enabled + `}}}`}
	}
	w.must(t, operation{method: "POST", path: "/storage/v1/b/fine/defaultObjectAcl", body: `{"entity":"allUsers","role":"READER"}`})
	w.must(t, uniform("true"))
	w.must(t, operation{method: "POST", path: "/upload/storage/v1/b/fine/o?uploadType=media&name=json", body: "x"})
	w.must(t, operation{method: "PUT", path: "/fine/xml", body: "x"})
	read := func(object string, want int) {
		t.Helper()
		if got := w.send(t, "", operation{method: "GET", path: "/fine/" + object}); got.Code != want {
			t.Errorf("%s: %d", object, got.Code)
		}
	}
	read("json", http.StatusForbidden)
	w.must(t, uniform("false"))
	read("json", http.StatusOK)
	read("xml", http.StatusOK)
	read("o", http.StatusForbidden)
	want := []string{"project-owners-111111111111 OWNER", "project-editors-111111111111 OWNER", "project-viewers-111111111111 READER", "allUsers READER"}
	if diff := gocmp.Diff(want, w.entries(t, w.admin, "/storage/v1/b/fine/o/json/acl")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPublicAccessPreventionOfLists checks that prevention rejects public entries and disables existing ones.
func TestPublicAccessPreventionOfLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	read := operation{method: "GET", path: "/fine/o"}
	public := operation{method: "PUT", path: "/storage/v1/b/fine/o/o/acl/allUsers", body: `{"role":"READER"}`}
	w.must(t, public)
	w.must(t, operation{method: "PATCH", path: "/storage/v1/b/fine?predefinedDefaultObjectAcl=publicRead", body: `{}`})
	started := w.send(t, w.admin, operation{method: "POST", path: "/upload/storage/v1/b/fine/o?uploadType=resumable&name=resumed&predefinedAcl=publicRead"})
	_, session, _ := strings.Cut(started.Header().Get("Location"), "http://127.0.0.1")
	if got := w.send(t, "", read); got.Code != http.StatusOK {
		t.Errorf("public: %d", got.Code)
	}
	w.must(t, operation{method: "PATCH", path: "/storage/v1/b/fine", body: `{"iamConfiguration":{"publicAccessPrevention":"enforced"}}`})
	w.must(t, operation{method: "PUT", path: session, body: "x"})
	w.must(t, operation{method: "POST", path: "/upload/storage/v1/b/fine/o?uploadType=media&name=by-default", body: "x"})
	for _, object := range []string{"o", "resumed", "by-default"} {
		if got := w.send(t, "", operation{method: "GET", path: "/fine/" + object}); got.Code != http.StatusForbidden {
			t.Errorf("%s under prevention: %d", object, got.Code)
		}
	}
	for name, op := range map[string]operation{
		"an entry":        public,
		"an upload":       {method: "POST", path: "/upload/storage/v1/b/fine/o?uploadType=media&name=p&predefinedAcl=publicRead", body: "x"},
		"a bucket's list": {method: "PATCH", path: "/storage/v1/b/fine?predefinedAcl=publicRead", body: `{}`},
		"the default":     {method: "POST", path: "/storage/v1/b/fine/defaultObjectAcl", body: `{"entity":"allAuthenticatedUsers","role":"READER"}`},
	} {
		if got := w.send(t, w.admin, op); got.Code != http.StatusPreconditionFailed {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}

// TestOwnerOfAnonymousObject changes the list of an object that an anonymous caller has created. The object still has
// no owner.
func TestOwnerOfAnonymousObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.must(t, operation{method: "POST", path: "/storage/v1/b/fine/acl", body: `{"entity":"allUsers","role":"WRITER"}`})
	if got := w.send(t, "", operation{method: "POST", path: "/upload/storage/v1/b/fine/o?uploadType=media&name=a", body: "x"}); got.Code != http.StatusOK {
		t.Fatalf("an anonymous upload: %d %s", got.Code, got.Body)
	}
	w.must(t, operation{method: "PATCH", path: "/storage/v1/b/fine/o/a", body: `{"acl":[]}`})
	if diff := gocmp.Diff([]string{"project-owners-111111111111 OWNER"}, w.entries(t, w.admin, "/storage/v1/b/fine/o/a/acl")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestEntryOfARecreatedAccount deletes an account in a list and creates another one with its name. Entries for the new
// account and a restored list do not give it the permissions of the deleted one.
func TestEntryOfARecreatedAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	const email = "reader-account@cooper-fake.iam.gserviceaccount.com"
	first := w.account(t, "reader-account")
	w.must(t, operation{method: "POST", path: "/storage/v1/b/fine/o/o/acl", body: `{"entity":"user-` + email + `","role":"READER"}`})
	w.must(t, operation{method: "PUT", path: "/storage/v1/b/fine/iam", body: `{"bindings":[{"role":"roles/storage.objectViewer","members":["serviceAccount:` + email + `"]}]}`})
	read := operation{method: "GET", path: "/storage/v1/b/fine/o/o"}
	if got := w.send(t, first, read); got.Code != http.StatusOK {
		t.Errorf("the account in the list: %d", got.Code)
	}
	w.must(t, operation{method: "DELETE", path: sas + "/" + email})
	second := w.account(t, "reader-account")
	expect := func(when string) {
		t.Helper()
		if got := w.send(t, second, read); got.Code != http.StatusForbidden {
			t.Errorf("another account with its name %s: %d", when, got.Code)
		}
	}
	expect("after its creation")
	w.must(t, operation{method: "POST", path: "/storage/v1/b/fine/acl", body: `{"entity":"user-` + email + `","role":"READER"}`})
	expect("after an entry for it")
	if got := w.send(t, w.admin, operation{method: "GET", path: "/storage/v1/b/fine/iam"}); !strings.Contains(got.Body.String(), "deleted:serviceAccount:"+email+"?uid=") {
		t.Errorf("the policy is %s", got.Body)
	}
	var object struct{ Generation string }
	wantNoError(t, json.Unmarshal(w.send(t, w.admin, read).Body.Bytes(), &object))
	w.must(t, operation{method: "DELETE", path: read.path})
	w.must(t, operation{method: "POST", path: read.path + "/restore?copySourceAcl=true&generation=" + object.Generation})
	expect("after a restoration")
	if got := w.entries(t, w.admin, read.path+"/acl"); !slices.Contains(got, "user-"+email+" READER") {
		t.Errorf("the restored list is %v", got)
	}
}

// TestOfficialClientsAccessControlLists uses the methods of Google's client for lists.
func TestOfficialClientsAccessControlLists(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	ctx := t.Context()
	bucket := f.storage(t, f.adminKey(t)).Bucket("lists")
	wantNoError(t, bucket.Create(ctx, f.ProjectID(), &storage.BucketAttrs{PredefinedDefaultObjectACL: "publicRead"}))
	object := bucket.Object("o")
	wantNoError(t, write(ctx, object, []byte("x"), 0))
	rules, err := object.ACL().List(ctx)
	wantNoError(t, err)
	if len(rules) != 2 || rules[1].Entity != storage.AllUsers || rules[0].Email != f.AdminEmail("") || rules[0].Role != storage.RoleOwner {
		t.Errorf("rules are %+v", rules)
	}
	wantNoError(t, object.ACL().Delete(ctx, storage.AllUsers))
	wantNoError(t, bucket.ACL().Set(ctx, storage.AllAuthenticatedUsers, storage.RoleWriter))
	attrs, err := bucket.Attrs(ctx)
	wantNoError(t, err)
	if len(attrs.ACL) != 4 || len(attrs.DefaultObjectACL) != 1 {
		t.Errorf("the bucket's lists are %+v and %+v", attrs.ACL, attrs.DefaultObjectACL)
	}
	changed, err := object.Update(ctx, storage.ObjectAttrsToUpdate{PredefinedACL: "authenticatedRead"})
	wantNoError(t, err)
	if len(changed.ACL) != 2 || changed.Owner != "user-"+f.AdminEmail("") {
		t.Errorf("the object is %+v", changed)
	}
	if policy, err := bucket.IAM().Policy(ctx); err != nil || !policy.HasRole("allAuthenticatedUsers", "roles/storage.legacyBucketWriter") {
		t.Errorf("the bucket's policy is %+v, %v", policy, err)
	}
}
