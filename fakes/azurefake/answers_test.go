// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// shared starts a server and returns the service with the key of its account.
func shared(t *testing.T, o azurefake.Options) blobService {
	t.Helper()
	return serviceOf(t, start(t, o))
}

// serviceOf is the default account of a server.
func serviceOf(t *testing.T, server *azurefake.Server) blobService {
	t.Helper()
	key, _ := server.Keys(azurefake.DefaultAccount)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	return blobService{server.AccountURL(azurefake.DefaultAccount), cred}
}

// TestServiceAnswers expects the service's responses that the reference does not state. They were recorded or observed
// by the tests of azblob v1.8.3 and of Azurite 3.39.0.
func TestServiceAnswers(t *testing.T) {
	t.Parallel()
	s := shared(t, azurefake.Options{Versioning: true})
	there := []request{put("b", "hello")}
	leased := []request{put("b", "hello"), acquireFor("b", leaseA, "60")}
	none := headers{"If-None-Match": "*"}
	ranged := func(value string) request { return get("b", headers{"Range": value}) }
	appendable := request{method: "PUT", blob: "b", headers: headers{"X-Ms-Blob-Type": "AppendBlob", "If-None-Match": "*"}}
	with := func(r request, more headers) request {
		for name, value := range more {
			r = r.with(false, name, value)
		}
		return r
	}
	gone := request{method: "DELETE", query: ofType}
	cool := headers{"X-Ms-Access-Tier": "Cool"}
	for name, row := range map[string]behaviour{
		"Put Blob asks for the lease before the condition":         {before: leased, call: put("b", "x", none), status: 412, code: "LeaseIdMissing"},
		"Put Blob checks the condition after the lease":            {before: leased, call: put("b", "x", none, headers{"X-Ms-Lease-Id": leaseA}), status: 409, code: "BlobAlreadyExists"},
		"Put Block List asks for the lease before the condition":   {before: leased, call: set("b", "blocklist", none, blockList()), status: 412, code: "LeaseIdMissing"},
		"Copy Blob asks for the lease before the condition":        {before: leased, call: request{method: "PUT", blob: "b", headers: headers{"X-Ms-Copy-Source": "{url}/b", "If-None-Match": "*"}}, status: 412, code: "LeaseIdMissing"},
		"an append blob asks for the lease before the condition":   {before: leased, call: appendable, status: 412, code: "LeaseIdMissing"},
		"an append blob checks the condition after the lease":      {before: leased, call: with(appendable, headers{"X-Ms-Lease-Id": leaseA}), status: 409, code: "BlobAlreadyExists"},
		"a container that is being deleted can be deleted":         {before: []request{gone}, call: gone, status: 202},
		"a snapshot has its tier":                                  {before: then(there, set("b", "snapshot", nil, ""), set("b", "tier&snapshot={snapshot}", cool, "")), call: request{method: "HEAD", blob: "b", query: "snapshot={snapshot}"}, status: 200, headers: headers{"X-Ms-Access-Tier": "Cool", "X-Ms-Access-Tier-Change-Time": "*", "X-Ms-Lease-State": ""}},
		"a version has its tier":                                   {before: then(there, set("b", "tier&versionid={version}", cool, ""), request{method: "HEAD", blob: "b", query: "versionid={version}"}), call: head("b", nil), status: 200, headers: headers{"X-Ms-Access-Tier": "Cool"}},
		"an earlier version has its tier":                          {before: []request{put("b", "1", cool), {method: "DELETE", blob: "b"}}, call: request{method: "HEAD", blob: "b", query: "versionid={version}"}, status: 200, headers: headers{"X-Ms-Access-Tier": "Cool"}},
		"Set Blob Properties without properties removes all":       {before: []request{put("b", "x", headers{"X-Ms-Blob-Content-Type": "text/x-a", "X-Ms-Blob-Cache-Control": "private"}), set("b", "properties", nil, "")}, call: get("b", nil), status: 200, headers: headers{"Content-Type": "", "Cache-Control": "", "Content-Md5": ""}},
		"a backslash in a name is a slash":                         {before: []request{put("a%5Cb", "hello")}, call: get("a/b", nil), status: 200, has: []string{"hello"}},
		"a backslash in the name of a source is a slash":           {before: []request{put("a/b", "hello"), {method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/a%5Cb"}}}, call: get("c", nil), status: 200},
		"a backslash in a listing is a slash":                      {before: []request{put("a%5Cb", "hello")}, call: list(""), status: 200, has: []string{"<Name>a/b</Name>"}},
		"a range with a negative end is ignored":                   {before: there, call: ranged("bytes=0--1"), status: 200, has: []string{"hello"}},
		"a range that ends before it starts is ignored":            {before: there, call: ranged("bytes=4-2"), status: 200, has: []string{"hello"}},
		"several ranges are ignored":                               {before: there, call: ranged("bytes=0-1,3-4"), status: 200, has: []string{"hello"}},
		"the range of a source that ends before it starts is none": {before: there, call: set("c", "block&blockid="+base1, headers{"X-Ms-Copy-Source": "{url}/b", "X-Ms-Source-Range": "bytes=4-2"}, ""), status: 201},
		"a deleted blob with versions is listed once":              {before: []request{put("b", "1"), put("b", "2"), {method: "DELETE", blob: "b"}}, call: list("&include=deletedwithversions"), status: 200, has: []string{"<Name>b</Name>", "<HasVersionsOnly>true</HasVersionsOnly>"}, hasNot: []string{"<VersionId>", "<Name>b</Name></Blob><Blob>"}},
		"a deleted blob with versions is not listed by default":    {before: []request{put("b", "1"), {method: "DELETE", blob: "b"}}, call: list(""), status: 200, hasNot: []string{"<Name>"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, difference := range row.try(t, s) {
				t.Error(difference)
			}
		})
	}
}

// TestCreateAloneDoesNotOverwrite sends calls with a signature that allows only the creation of blobs.
func TestCreateAloneDoesNotOverwrite(t *testing.T) {
	t.Parallel()
	s := shared(t, azurefake.Options{})
	for name, sign := range map[string]func(*testing.T, blobService, string) string{"service SAS": ofService("c"), "account SAS": ofAccount("c", "o")} {
		c := s.converse(t)
		c.send(t, put("b", "hello"))
		c.signature = sign(t, s, c.container)
		for blob, want := range map[string]int{"b": http.StatusForbidden, "new": http.StatusCreated} {
			got := c.send(t, stage(blob, base1, "x"))
			if code := got.headers.Get("X-Ms-Error-Code"); got.status != want || want == http.StatusForbidden && code != "UnauthorizedBlobOverwrite" {
				t.Errorf("%s: Put Block of %s: got %d %s, want %d", name, blob, got.status, code, want)
			}
		}
	}
}

// TestDirectorySignatures signs for a directory of an account without a hierarchical namespace, like the live tests of
// azblob v1.8.3.
func TestDirectorySignatures(t *testing.T) {
	t.Parallel()
	s := shared(t, azurefake.Options{})
	c := s.converse(t)
	whole := c.signature
	c.send(t, put("foo/bar/hello", "hello"))
	c.signature = ofService("racwdl", func(v *sas.BlobSignatureValues) { v.Directory = "foo/bar" })(t, s, c.container)
	for name, row := range map[string]behaviour{
		"a blob with the directory's name": {call: put("foo/bar", "x"), status: 201},
		"a blob in the directory":          {call: get("foo/bar/hello", nil), status: 200},
		"the parent":                       {call: put("foo", "x"), status: 403, code: "AuthenticationFailed"},
		"a blob whose name begins with it": {call: put("foo/barn", "x"), status: 403, code: "AuthenticationFailed"},
		"a blob in another directory":      {call: put("foo/baz/x", "x"), status: 403, code: "AuthenticationFailed"},
		"the list of the container":        {call: list(""), status: 403},
	} {
		for _, difference := range row.differences(c.send(t, row.call), c) {
			t.Errorf("%s: %s", name, difference)
		}
	}
	for _, depth := range []string{"1", "3", "-1", "x", ""} {
		other := *c
		other.signature = request{query: c.signature}.with(true, "sdd", depth).query
		if got := other.send(t, put("foo/bar/x", "x")); got.status != http.StatusForbidden {
			t.Errorf("with the depth %q: got %d", depth, got.status)
		}
	}
	c.signature = whole
	if got := c.send(t, get("foo", nil)); got.status != http.StatusNotFound {
		t.Errorf("the parent exists: %d", got.status)
	}
}
