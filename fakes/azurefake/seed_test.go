// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"io"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// seed is a container with a stored access policy, and an application that reads it and no other.
const seed = `
containers:
- name: logs
- name: photos
  policies:
  - {id: writers, permission: cw, expiry: "2100-01-01T00:00:00Z"}
principals:
- name: reader
  clientID: 11111111-1111-1111-1111-111111111111
  secret: reader-secret
  roles:
  - {role: Storage Blob Data Reader, container: photos}
`

// TestSeed tries what the seed allows and what it does not, and repeats this after a reset.
func TestSeed(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	for range 2 { // the second time it is there already
		wantNoError(t, s.Seed([]byte(seed)))
	}
	want := s.Inventory()
	reader, err := azidentity.NewClientSecretCredential(s.TenantID(), "11111111-1111-1111-1111-111111111111", "reader-secret",
		&azidentity.ClientSecretCredentialOptions{ClientOptions: s.options, DisableInstanceDiscovery: true})
	wantNoError(t, err)
	options := &container.ClientOptions{ClientOptions: s.options}
	open := func(name string) *container.Client {
		c, err := container.NewClient(s.AccountURL(azurefake.DefaultAccount)+"/"+name, reader, options)
		wantNoError(t, err)
		return c
	}
	key, _ := s.Keys(azurefake.DefaultAccount)
	owner, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	token, err := sas.BlobSignatureValues{ContainerName: "photos", Identifier: "writers"}.SignWithSharedKey(owner)
	wantNoError(t, err)
	writer, err := container.NewClientWithNoCredential(s.AccountURL(azurefake.DefaultAccount)+"/photos?"+token.Encode(), options)
	wantNoError(t, err)
	for range 2 {
		wantCode(t, "write by the stored policy", upload(t.Context(), writer, "cat", "meow"), "")
		_, err = open("photos").NewBlobClient("cat").GetProperties(t.Context(), nil)
		wantCode(t, "read by the role", err, "")
		wantCode(t, "write with a role to read", upload(t.Context(), open("photos"), "dog", "x"), "AuthorizationPermissionMismatch")
		wantCode(t, "write to another container", upload(t.Context(), open("logs"), "dog", "x"), "AuthorizationPermissionMismatch")
		wantNoError(t, s.Reset())
		if diff := cmp.Diff(want, s.Inventory()); diff != "" || len(s.Calls()) > 0 {
			t.Errorf("after a reset there are %d calls, and (-want +got):\n%s", len(s.Calls()), diff)
		}
	}
}

// TestSeedBlobs reads blobs of a seed, which is applied twice.
func TestSeedBlobs(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	for range 2 {
		wantNoError(t, s.Seed([]byte("containers: [{name: photos, blobs: [{name: \"cats/tom & co\", content: meow, contentType: text/plain, metadata: {owner: me}}, {name: empty}]}]")))
	}
	key, _ := s.Keys(azurefake.DefaultAccount)
	owner, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	client, err := container.NewClientWithSharedKeyCredential(s.AccountURL(azurefake.DefaultAccount)+"/photos", owner, &container.ClientOptions{ClientOptions: s.options})
	wantNoError(t, err)
	got, err := client.NewBlobClient("cats/tom & co").DownloadStream(t.Context(), nil)
	wantNoError(t, err)
	if raw, err := io.ReadAll(got.Body); err != nil || string(raw) != "meow" || *got.ContentType != "text/plain" || *got.Metadata["Owner"] != "me" {
		t.Errorf("got %q of type %s with metadata %v: %v", raw, *got.ContentType, got.Metadata, err)
	}
	properties, err := client.NewBlobClient("empty").GetProperties(t.Context(), nil)
	if err != nil || *properties.ContentLength != 0 {
		t.Errorf("the empty blob: %v", err)
	}
}

func TestBadSeeds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ seed, want string }{
		"a field that is not known":    {"buckets: [{name: photos}]", `unknown field "buckets"`},
		"a name that no container has": {"containers: [{name: A_B}]", "container A_B of the seed: "},
		"an account that is not there": {"containers: [{name: photos, account: other}]", "account other does not exist"},
		"a permission that is none":    {"containers: [{name: photos, policies: [{id: a, permission: q}]}]", "InvalidXmlNodeValue"},
		"a principal without a secret": {"principals: [{name: p, clientID: x}]", "principal p of the seed: set clientID"},
		"a role that is not there":     {"principals: [{name: p, clientID: x, secret: y, roles: [{role: King}]}]", "the role does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := start(t, azurefake.Options{}).Seed([]byte(test.seed))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
