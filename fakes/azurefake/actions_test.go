// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// actionOf is what each operation of the table needs of a role, after "Permissions for calling data operations" of the
// reference ("Authorize with Microsoft Entra ID"). For a new blob, blobs/add/action is enough, too.
func actionOf(operation string) string {
	const containers, blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/", "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/"
	return map[string]string{
		"Get Blob": blobs + "read", "Get Blob Properties": blobs + "read", "Get Blob Metadata": blobs + "read", "Get Block List": blobs + "read",
		"Put Blob, new": blobs + "write", "Put Blob, overwrite": blobs + "write", "Put Block": blobs + "write", "Put Block List": blobs + "write",
		"Append Block": blobs + "write", "Put Page": blobs + "write", "Get Page Ranges": blobs + "read", "Set Blob Metadata": blobs + "write", "Set Blob Properties": blobs + "write", "Set Blob Tier": blobs + "write",
		"Snapshot Blob": blobs + "write", "Lease Blob": blobs + "write", "Delete Blob": blobs + "delete", "List Blobs": blobs + "read",
		"Get Blob Tags": blobs + "tags/read", "Set Blob Tags": blobs + "tags/write",
		"Get Container Props": containers + "read", "Set Container Metadata": containers + "write",
		"Restore Container, no version": containers + "write",
	}[operation]
}

// TestEachActionRemoved calls with a role that allows everything but the operation's action, and with one that allows
// nothing but that.
func TestEachActionRemoved(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	admin, rows := s.caller(t, "Owner", "Storage Blob Data Owner"), 0
	for name, o := range operations() {
		action := actionOf(name)
		if action == "" {
			continue
		}
		at := "row-" + uuid.NewString()
		fill(t, admin, at)
		for what, permission := range map[string]armauthorization.Permission{
			"without": {Actions: to.SliceOfPtrs("*"), NotActions: to.SliceOfPtrs(action), DataActions: to.SliceOfPtrs("*"), NotDataActions: to.SliceOfPtrs(action, addAction)},
			"with":    {Actions: to.SliceOfPtrs(action), DataActions: to.SliceOfPtrs(action)},
		} {
			c := admin.withRole(t, at, permission)
			rows++
			response := c.bearer(t, o, at)
			code := response.Header().Get("X-Ms-Error-Code")
			if what == "with" && response.Code != o.status || what == "without" && code != notPermitted {
				t.Errorf("%s %s %s: returned %d %q", name, what, action, response.Code, code)
			}
		}
	}
	t.Logf("%d rows", rows)
	if rows < 30 {
		t.Errorf("%d rows: the operations have other names than this test thinks", rows)
	}
}

const addAction = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/add/action"

// withRole is a new caller with a role of its own at a container.
func (c caller) withRole(t *testing.T, at string, permission armauthorization.Permission) caller {
	t.Helper()
	made, id := c.caller(t), uuid.NewString()
	_, err := c.definitions(t).CreateOrUpdate(t.Context(), c.GroupID(), id, armauthorization.RoleDefinition{Properties: &armauthorization.RoleDefinitionProperties{
		RoleName: to.Ptr("role-" + id), AssignableScopes: to.SliceOfPtrs(c.GroupID()), Permissions: []*armauthorization.Permission{&permission},
	}}, nil)
	wantCode(t, "define a role", err, "")
	_, err = c.assignments(t).Create(t.Context(), c.containerID(at), uuid.NewString(), c.assignment(made.ObjectID, id), nil)
	wantCode(t, "assign a role", err, "")
	return made
}

// TestTheActionForNewBlobs makes blobs with a role that allows nothing else: no other call, and no overwriting.
func TestTheActionForNewBlobs(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	admin := s.caller(t, "Owner", "Storage Blob Data Owner")
	fill(t, admin, "drop-box")
	c := admin.withRole(t, "drop-box", armauthorization.Permission{DataActions: to.SliceOfPtrs(addAction)})
	allowed := map[string]bool{"Put Blob, new": true, "Put Blob, append, new": true, "Append Block": true, "Snapshot Blob": true}
	for name, o := range operations() {
		if actionOf(name) == "" && !allowed[name] {
			continue
		}
		response := c.bearer(t, o, "drop-box")
		if (response.Code == o.status) != allowed[name] {
			t.Errorf("%s: returned %d %q", name, response.Code, response.Header().Get("X-Ms-Error-Code"))
		}
		if o.blob == "new" { // the next one must also be new
			if response := admin.bearer(t, operation{method: "DELETE", blob: "new"}, "drop-box"); response.Code != http.StatusAccepted {
				t.Errorf("clean up: %d", response.Code)
			}
		}
	}
}

// fill creates what the operations of the table need.
func fill(t *testing.T, c caller, name string) {
	t.Helper()
	for _, o := range []operation{
		{method: "PUT", query: ofType},
		{method: "PUT", blob: "block", headers: map[string]string{"X-Ms-Blob-Type": "BlockBlob"}, body: "text"},
		{method: "PUT", blob: "append", headers: map[string]string{"X-Ms-Blob-Type": "AppendBlob"}},
		{method: "PUT", blob: "page", headers: map[string]string{"X-Ms-Blob-Type": "PageBlob", "X-Ms-Blob-Content-Length": "512"}},
		{method: "PUT", blob: "staged", query: comp + "block&blockid=" + base1, body: "text"},
	} {
		if response := c.bearer(t, o, name); response.Code != http.StatusCreated {
			t.Fatalf("%s %s: %d %s", o.method, o.blob, response.Code, response.Body)
		}
	}
}

// bearer makes the call with a token of the caller.
func (c caller) bearer(t *testing.T, o operation, name string) *httptest.ResponseRecorder {
	t.Helper()
	token, err := c.credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://storage.azure.com/.default"}})
	wantNoError(t, err)
	path := "/" + azurefake.DefaultAccount + "/" + name
	if o.blob != "" {
		path += "/" + o.blob
	}
	r := httptest.NewRequestWithContext(t.Context(), o.method, "/", strings.NewReader(o.body))
	r.URL, r.TLS = &url.URL{Path: path, RawQuery: o.query}, &tls.ConnectionState{}
	r.Header.Set("Authorization", "Bearer "+token.Token)
	r.Header.Set("X-Ms-Version", "2021-12-02")
	for header, value := range o.headers {
		r.Header.Set(header, value)
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}
