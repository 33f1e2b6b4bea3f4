// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// seed is an account that lists buckets, and a bucket that it may read.
const seed = `
accounts:
- id: reader
  roles: [roles/storage.bucketViewer]
buckets:
- name: logs
- name: photos
  resource: {location: EU, versioning: {enabled: true}}
  bindings:
  - {role: roles/storage.objectViewer, members: ["serviceAccount:reader@cooper-fake.iam.gserviceaccount.com"]}
  - {role: roles/storage.objectAdmin, members: ["serviceAccount:cooper-admin@cooper-fake.iam.gserviceaccount.com"]}
`

// TestSeed tries what the seed allows and what it does not, and repeats this after a reset.
func TestSeed(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	for range 2 { // the second time it is there already
		wantNoError(t, f.Seed([]byte(seed)))
	}
	admin := f.storage(t, f.adminKey(t))
	token, err := f.Token("reader@cooper-fake.iam.gserviceaccount.com")
	wantNoError(t, err)
	want := f.Inventory()
	reader, err := storage.NewClient(t.Context(), option.WithEndpoint(f.URL()+"/storage/v1/"), option.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})))
	wantNoError(t, err)
	for range 2 {
		if err := write(t.Context(), admin.Bucket("photos").Object("cat"), []byte("meow"), 0); err != nil {
			t.Error(err)
		}
		if got, err := read(t.Context(), reader.Bucket("photos").Object("cat")); err != nil || string(got) != "meow" {
			t.Errorf("the reader reads: %q %v", got, err)
		}
		if err := write(t.Context(), reader.Bucket("photos").Object("dog"), []byte("x"), 0); status(err) != http.StatusForbidden {
			t.Errorf("the reader writes: %v", err)
		}
		if _, err := reader.Bucket("logs").Object("dog").Attrs(t.Context()); status(err) != http.StatusForbidden {
			t.Errorf("the reader looks into another bucket: %v", err)
		}
		wantNoError(t, f.Reset())
		if diff := cmp.Diff(want, f.Inventory()); diff != "" || len(f.Calls()) > 0 {
			t.Errorf("after a reset there are %d calls, and (-want +got):\n%s", len(f.Calls()), diff)
		}
	}
}

// TestSeedObjects reads objects of a seed, which is applied twice.
func TestSeedObjects(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	for range 2 {
		wantNoError(t, f.Seed([]byte("buckets: [{name: photos, objects: [{name: \"cats/tom & co\", content: meow, contentType: text/plain, metadata: {owner: me}}, {name: empty}]}]")))
	}
	bucket := f.storage(t, f.adminKey(t)).Bucket("photos")
	attrs, err := bucket.Object("cats/tom & co").Attrs(t.Context())
	if err != nil || attrs.ContentType != "text/plain" || attrs.Metadata["owner"] != "me" {
		t.Errorf("got %+v, %v", attrs, err)
	}
	for name, want := range map[string]string{"cats/tom & co": "meow", "empty": ""} {
		if got, err := read(t.Context(), bucket.Object(name)); err != nil || string(got) != want {
			t.Errorf("%s is %q: %v", name, got, err)
		}
	}
}

func TestBadSeeds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ seed, want string }{
		"a field that is not known":    {"containers: [{name: photos}]", `unknown field "containers"`},
		"a name that no bucket has":    {"buckets: [{name: A_B}]", "bucket A_B of the seed: "},
		"a name that no account has":   {"accounts: [{id: A}]", "account A of the seed: "},
		"a project with an invalid ID": {"buckets: [{name: photos, project: Other}]", "bucket photos of the seed: "},
		"a role that is not there":     {"accounts: [{id: reader, roles: [roles/king]}]", "role roles/king does not exist"},
		"a member that is not there":   {`buckets: [{name: photos, bindings: [{role: roles/storage.objectViewer, members: ["serviceAccount:nobody@cooper-fake.iam.gserviceaccount.com"]}]}]`, "bucket photos of the seed: "},
		"a storage class that is none": {"buckets: [{name: photos, resource: {storageClass: KING}}]", "bucket photos of the seed: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := start(t, gcsfake.Options{}).Seed([]byte(test.seed))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
