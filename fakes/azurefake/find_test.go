// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// findRows follow "Find Blobs by Tags" and "Find Blobs by Tags in Container".
func findRows() map[string]behaviour {
	tagged := []request{
		put("a", "1", headers{"X-Ms-Tags": "team=red&age=032"}), put("b", "2", headers{"X-Ms-Tags": "team=blue&age=100"}),
		put("c", "3", headers{"X-Ms-Tags": "team=red&age=200&the%20rest=x"}), put("d", "4"),
	}
	find := func(where, more string) request {
		return request{method: "GET", query: ofType + "&" + comp + "blobs&where=" + strings.NewReplacer("%7B", "{", "%7D", "}").Replace(url.QueryEscape(where)) + more}
	}
	names := func(names ...string) []string {
		var out []string
		for _, name := range names {
			out = append(out, "<Name>"+name+"</Name>")
		}
		return out
	}
	return map[string]behaviour{
		"find: equal":                        {before: tagged, call: find("team = 'red'", ""), status: 200, has: names("a", "c"), hasNot: names("b", "d")},
		"find: says where it was found":      {before: tagged, call: find("team='blue'", ""), status: 200, has: []string{"<ContainerName>talk-", "<Tag><Key>team</Key><Value>blue</Value></Tag>"}, hasNot: []string{"age"}},
		"find: a name in double quotes":      {before: tagged, call: find(`"the rest"='x'`, ""), status: 200, has: names("c"), hasNot: names("a")},
		"find: two that both hold":           {before: tagged, call: find(`"team"='red' AND "age">'032'`, ""), status: 200, has: names("c"), hasNot: names("a", "b")},
		"find: a range":                      {before: tagged, call: find("age >= '032' AND age < '100'", ""), status: 200, has: names("a"), hasNot: names("b", "c")},
		"find: nothing":                      {before: tagged, call: find("team='green'", ""), status: 200, hasNot: []string{"<Blob>"}},
		"find: a page":                       {before: tagged, call: find("team='red'", "&maxresults=1"), status: 200, has: append(names("a"), "<NextMarker>"), hasNot: names("c")},
		"find: after the tags were replaced": {before: append(append([]request{}, tagged...), put("a", "new")), call: find("team='red'", ""), status: 200, has: names("c"), hasNot: names("a")},
		"find: without an expression":        {before: tagged, call: request{method: "GET", query: ofType + "&" + comp + "blobs"}, status: 400},
		"find: an operator unknown":          {before: tagged, call: find("team LIKE 'r%'", ""), status: 400},
		"find: OR":                           {before: tagged, call: find("team='red' OR team='blue'", ""), status: 400},
		"find: a text without quotes":        {before: tagged, call: find("team=red", ""), status: 400},
		"find: in another container":         {before: tagged, call: find("@container='x' AND team='red'", ""), status: 200, hasNot: []string{"<Blob>"}},
		"find: in this container":            {before: tagged, call: find("@container='{container}' AND team='red'", ""), status: 200, has: names("a", "c"), hasNot: names("b")},
		"find: eleven tags":                  {before: tagged, call: find("a='' AND b='' AND c='' AND d='' AND e='' AND f='' AND g='' AND h='' AND i='' AND j='' AND k=''", ""), status: 400, code: "InvalidQueryParameterValue"},
		"find: a value of 257 characters":    {before: tagged, call: find("team='"+strings.Repeat("v", 257)+"'", ""), status: 400, code: "InvalidQueryParameterValue"},
		"find: a name of 129 characters":     {before: tagged, call: find(strings.Repeat("n", 129)+"='v'", ""), status: 400, code: "InvalidQueryParameterValue"},
		"find: what differs":                 {before: tagged, call: find("team<>'red'", ""), status: 400, code: "InvalidQueryParameterValue"},
		"find: maxresults of nothing":        {before: tagged, call: find("team='red'", "&maxresults=0"), status: 400},
		"find: in all containers":            {before: tagged, call: request{method: "GET", blob: "/", query: comp + "blobs&where=" + url.QueryEscape("age='200'")}, status: 200, has: names("c"), hasNot: names("a", "b")},
		"find: in a container that is none":  {before: tagged, call: request{method: "GET", blob: "/", query: comp + "blobs&where=" + url.QueryEscape("@container='nowhere' AND age='200'")}, status: 200, hasNot: []string{"<Blob>"}},
	}
}

// TestBlobsAreFoundByTags pages through an account and a container with the official client.
func TestBlobsAreFoundByTags(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{})
	for _, name := range []string{"first", "second"} {
		c := made(t, server, name)
		for _, blob := range []string{"a", "b", "c"} {
			_, err := c.NewBlockBlobClient(blob).Upload(t.Context(), readSeekCloser("text"), &blockblob.UploadOptions{Tags: map[string]string{"team": "red", "blob": blob}})
			wantCode(t, "upload", err, "")
		}
	}
	key, _ := server.Keys(azurefake.DefaultAccount)
	cred, err := service.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	svc, err := service.NewClientWithSharedKeyCredential(server.AccountURL(azurefake.DefaultAccount), cred, &service.ClientOptions{ClientOptions: noRetry()})
	wantNoError(t, err)
	var all []string
	marker := to.Ptr("")
	for marker != nil {
		page, err := svc.FilterBlobs(t.Context(), "team='red' and blob>='b'", &service.FilterBlobsOptions{Marker: marker, MaxResults: to.Ptr(int32(1))})
		if err != nil || len(page.Blobs) != 1 {
			t.Fatalf("a page of %d blobs, %v", len(page.Blobs), err)
		}
		all = append(all, *page.Blobs[0].ContainerName+"/"+*page.Blobs[0].Name)
		if marker = page.NextMarker; marker != nil && *marker == "" {
			marker = nil
		}
	}
	if diff := cmp.Diff([]string{"first/b", "first/c", "second/b", "second/c"}, all); diff != "" {
		t.Errorf("in the account (-want +got):\n%s", diff)
	}
	find := func(permissions string) ([]string, error) {
		page, err := signed(t, server, "second", sas.BlobSignatureValues{Permissions: permissions, ExpiryTime: time.Now().UTC().Add(time.Hour)}).FilterBlobs(t.Context(), "blob='c'", &container.FilterBlobsOptions{})
		var names []string
		for _, one := range page.Blobs {
			names = append(names, *one.Name)
		}
		return names, err
	}
	if names, err := find("f"); err != nil || !cmp.Equal(names, []string{"c"}) {
		t.Errorf("in a container: %v, %v", names, err)
	}
	_, err = find("rl")
	wantCode(t, "without the permission", err, "AuthorizationPermissionMismatch")
}
