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
// reference ("Authorize with Microsoft Entra ID"). Where that also allows blobs/add/action for a new blob, the fake asks
// for blobs/write.
func actionOf(operation string) string {
	const containers, blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/", "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/"
	return map[string]string{
		"Get Blob": blobs + "read", "Get Blob Properties": blobs + "read", "Get Blob Metadata": blobs + "read", "Get Block List": blobs + "read",
		"Put Blob, new": blobs + "write", "Put Blob, overwrite": blobs + "write", "Put Block": blobs + "write", "Put Block List": blobs + "write",
		"Append Block": blobs + "write", "Set Blob Metadata": blobs + "write", "Set Blob Properties": blobs + "write", "Set Blob Tier": blobs + "write",
		"Snapshot Blob": blobs + "write", "Lease Blob": blobs + "write", "Delete Blob": blobs + "delete", "List Blobs": blobs + "read",
		"Get Blob Tags": blobs + "tags/read", "Set Blob Tags": blobs + "tags/write",
		"Get Container Props": containers + "read", "Set Container Metadata": containers + "write",
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
			"without": {Actions: to.SliceOfPtrs("*"), NotActions: to.SliceOfPtrs(action), DataActions: to.SliceOfPtrs("*"), NotDataActions: to.SliceOfPtrs(action)},
			"with":    {Actions: to.SliceOfPtrs(action), DataActions: to.SliceOfPtrs(action)},
		} {
			c, id := s.caller(t), uuid.NewString()
			_, err := admin.definitions(t).CreateOrUpdate(t.Context(), s.GroupID(), id, armauthorization.RoleDefinition{Properties: &armauthorization.RoleDefinitionProperties{
				RoleName: to.Ptr("role-" + id), AssignableScopes: to.SliceOfPtrs(s.GroupID()), Permissions: []*armauthorization.Permission{&permission},
			}}, nil)
			wantCode(t, "define a role", err, "")
			_, err = admin.assignments(t).Create(t.Context(), s.containerID(at), uuid.NewString(), s.assignment(c.ObjectID, id), nil)
			wantCode(t, "assign a role", err, "")
			rows++
			answer := c.bearer(t, o, at)
			code := answer.Header().Get("X-Ms-Error-Code")
			if what == "with" && answer.Code != o.status || what == "without" && code != notPermitted {
				t.Errorf("%s %s %s: answered %d %q", name, what, action, answer.Code, code)
			}
		}
	}
	t.Logf("%d rows", rows)
	if rows < 30 {
		t.Errorf("%d rows: the operations have other names than this test thinks", rows)
	}
}

// fill makes what the operations of the table need.
func fill(t *testing.T, c caller, name string) {
	t.Helper()
	for _, o := range []operation{
		{method: "PUT", query: ofType},
		{method: "PUT", blob: "block", headers: map[string]string{"X-Ms-Blob-Type": "BlockBlob"}, body: "text"},
		{method: "PUT", blob: "append", headers: map[string]string{"X-Ms-Blob-Type": "AppendBlob"}},
		{method: "PUT", blob: "staged", query: comp + "block&blockid=" + base1, body: "text"},
	} {
		if answer := c.bearer(t, o, name); answer.Code != http.StatusCreated {
			t.Fatalf("%s %s: %d %s", o.method, o.blob, answer.Code, answer.Body)
		}
	}
}

// bearer makes the call with a token of the caller.
func (c caller) bearer(t *testing.T, o operation, name string) *httptest.ResponseRecorder {
	t.Helper()
	token, err := c.credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://storage.azure.com/.default"}})
	if err != nil {
		t.Fatal(err)
	}
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
