// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// TestSuites has a row for each behavior that the live tests of azblob or the tests of Azurite showed.
func TestSuites(t *testing.T) {
	t.Parallel()
	s := shared(t, azurefake.Options{Deletion: -1}) // a container is created again
	for _, rows := range []map[string]behaviour{azblobRows(), azuriteRows(), searchMessages()} {
		for name, row := range rows {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for _, difference := range row.try(t, s) {
					t.Error(difference)
				}
			})
		}
	}
}

// azblobRows come from azblob v1.8.3.
func azblobRows() map[string]behaviour {
	scope := headers{"X-Ms-Encryption-Scope": "scope"}
	blob := []request{put("b", "x", scope)}
	fromURL := func(with headers) request {
		all := headers{"X-Ms-Blob-Type": "BlockBlob", "X-Ms-Copy-Source": "{url}/b"}
		maps.Copy(all, with)
		return request{method: "PUT", blob: "c", headers: all}
	}
	return map[string]behaviour{
		"a blob has the scope":                     {call: put("b", "x", scope), status: 201, headers: scope},
		"a block has the scope":                    {call: set("b", "block&blockid=MQ==", scope, "x"), status: 201, headers: scope},
		"a block list has the scope":               {call: set("b", "blocklist", scope, "<BlockList></BlockList>"), status: 201, headers: scope},
		"metadata have the scope":                  {before: blob, call: set("b", "metadata", scope, ""), status: 200, headers: scope},
		"a snapshot has the scope":                 {before: blob, call: set("b", "snapshot", scope, ""), status: 201, headers: headers{"X-Ms-Encryption-Scope": "scope", "X-Ms-Request-Server-Encrypted": "false"}},
		"a copy from a URL has the scope":          {before: []request{put("b", "x")}, call: request{method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/b", "X-Ms-Requires-Sync": "true", "X-Ms-Encryption-Scope": "scope"}}, status: 202, headers: scope},
		"metadata without the scope of the blob":   {before: blob, call: set("b", "metadata", nil, ""), status: 409, code: "BlobUsesCustomerSpecifiedEncryption"},
		"a snapshot without the scope of the blob": {before: blob, call: set("b", "snapshot", nil, ""), status: 409, code: "BlobUsesCustomerSpecifiedEncryption"},
		"an append without the scope of the blob":  {before: []request{{method: "PUT", blob: "l", headers: headers{"X-Ms-Blob-Type": "AppendBlob", "X-Ms-Encryption-Scope": "scope"}}}, call: set("l", "appendblock", nil, "x"), status: 409, code: "BlobUsesCustomerSpecifiedEncryption"},
		"metadata with the scope of the container": {before: []request{{method: "DELETE", query: ofType}, {method: "PUT", query: ofType, headers: headers{"X-Ms-Default-Encryption-Scope": "scope"}}, put("b", "x")}, call: set("b", "metadata", nil, ""), status: 200, headers: scope},
		"properties have no scope":                 {before: blob, call: set("b", "properties", nil, ""), status: 200},
		"permanent with a capital":                 {before: blob, call: request{method: "DELETE", blob: "b", query: "deletetype=Permanent"}, status: 409, code: "FeatureNotSupportedForAccount"},
		"a blob without a scope":                   {call: put("b", "x"), status: 201, headers: headers{"X-Ms-Encryption-Scope": ""}},
		"the tier is older than the condition":     {before: blob, call: request{method: "DELETE", blob: "b", headers: headers{"X-Ms-Access-Tier-If-Modified-Since": farAhead}}, status: 412, code: "AccessTierChangeTimeConditionNotMet"},
		"the tier is newer than the condition":     {before: blob, call: request{method: "DELETE", blob: "b", headers: headers{"X-Ms-Access-Tier-If-Unmodified-Since": longAgo}}, status: 412, code: "AccessTierChangeTimeConditionNotMet"},
		"a blob from a URL that did not change":    {before: blob, call: fromURL(headers{"X-Ms-Source-If-None-Match": "{etag}"}), status: 304, code: "CannotVerifyCopySource"},
		"a blob from a URL that changed":           {before: blob, call: fromURL(headers{"X-Ms-Source-If-Match": otherTag}), status: 412, code: "SourceConditionNotMet"},
		"a blob from a URL with the intent":        {before: blob, call: fromURL(headers{"X-Ms-File-Request-Intent": "backup"}), status: 201},
		"a blob from a URL with an unknown intent": {before: blob, call: fromURL(headers{"X-Ms-File-Request-Intent": "restore"}), status: 400, code: "InvalidHeaderValue"},
		"a copy has no intent":                     {before: blob, call: request{method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/b", "X-Ms-File-Request-Intent": "backup"}}, status: 400, code: "UnsupportedHeader"},
	}
}

// azuriteRows come from Azurite's tests of the APIs, which its authors compared with the service.
func azuriteRows() map[string]behaviour {
	blob := []request{put("b", "x", headers{"X-Ms-Tags": "team=red"})}
	const md5 = "ndTkYSaMgDT1yFZOFVxnpg==" // of x
	delegation := request{method: "POST", blob: "/", query: "restype=service&" + comp + "userdelegationkey", body: "<KeyInfo></KeyInfo>"}
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, "team <> 'v%d' and ", i)
	}
	tags := func(condition string) request {
		return request{method: "GET", blob: "b", query: comp + "tags", headers: headers{"X-Ms-If-Tags": condition}}
	}
	return map[string]behaviour{
		"a checksum of four bytes is stored":      {before: then(blob, set("b", "properties", headers{"X-Ms-Blob-Content-Md5": "AQIDBA=="}, "")), call: head("b", nil), status: 200, headers: headers{"Content-Md5": "AQIDBA=="}},
		"a block list stores it, too":             {before: []request{set("b", "blocklist", headers{"X-Ms-Blob-Content-Md5": "AQIDBA=="}, "<BlockList></BlockList>")}, call: head("b", nil), status: 200, headers: headers{"Content-Md5": "AQIDBA=="}},
		"a blob's checksum has 16 bytes":          {call: put("b", "x", headers{"X-Ms-Blob-Content-Md5": "AQIDBA=="}), status: 400, code: "InvalidMd5"},
		"the checksum of the blob has precedence": {call: put("b", "x", headers{"X-Ms-Blob-Content-Md5": md5, "Content-Md5": wrongMD5}), status: 201},
		"the wrong checksum of the blob":          {call: put("b", "x", headers{"X-Ms-Blob-Content-Md5": wrongMD5, "Content-Md5": md5}), status: 400, code: "Md5Mismatch"},
		"any ETag and another":                    {before: blob, call: get("b", headers{"If-Match": "*,abc"}), status: 200},
		"block IDs of one and of three bytes":     {before: []request{stage("b", "MQ==", "x")}, call: stage("b", "MTIz", "x"), status: 400, code: "InvalidBlobOrBlock"},
		"block IDs of one length":                 {before: []request{stage("b", "MQ==", "x")}, call: stage("b", "Mg==", "x"), status: 201},
		"a copy of a snapshot names it":           {before: then(blob, set("b", "snapshot", nil, ""), request{method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/b?snapshot={snapshot}"}}), call: head("c", nil), status: 200, headers: headers{"X-Ms-Copy-Source": "{url}/b?snapshot={snapshot}"}},
		"a copy names its source":                 {before: then(blob, request{method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/b"}}), call: head("c", nil), status: 200, headers: headers{"X-Ms-Copy-Source": "{url}/b"}},
		"300 conditions on tags":                  {before: blob, call: tags(many.String() + "team='red'"), status: 200},
		"a condition on tags with other letters":  {before: blob, call: tags("team='re$d'"), status: 400, code: "InvalidHeaderValue"},
		"a condition on a long name of a tag":     {before: blob, call: tags(strings.Repeat("n", 129) + "<>'v'"), status: 412, code: "ConditionNotMet"},
		"a delegation key with a signature":       {call: delegation, status: 403, code: "AuthenticationFailed", has: []string{"Only authentication scheme Bearer is supported"}},
		"a preflight without a method":            {call: request{method: "OPTIONS", blob: "b", headers: headers{"Origin": "a"}}, status: 400, has: []string{"A required CORS header is not present."}},
		"a sealed blob":                           {before: []request{{method: "PUT", blob: "l", headers: headers{"X-Ms-Blob-Type": "AppendBlob"}}, set("l", "seal", nil, "")}, call: set("l", "appendblock", nil, "x"), status: 409, has: []string{"is sealed, and"}},
	}
}

// searchMessages have the service's texts.
func searchMessages() map[string]behaviour {
	const at1 = "Error parsing query at or near character position 1: "
	find := func(expression string) request {
		return request{method: "GET", query: ofType + "&" + comp + "blobs&where=" + url.QueryEscape(expression)}
	}
	out := map[string]behaviour{}
	for expression, message := range map[string]string{
		"astring":                              at1,
		"'key'='v'":                            at1,
		"a<>'v'":                               at1 + "unexpected &lt;&gt;",
		"a='v' or b='v'":                       "position 7: unexpected 'or",
		"a='v' and @container11='x'":           "position 10: unsupported parameter '@container11'",
		"a='v @'":                              at1 + "'@' not permitted in tag name or value",
		strings.Repeat("n", 129) + "='v'":      at1 + "tag must be between 1 and 128 characters in length",
		"a='" + strings.Repeat("v", 257) + "'": at1 + "tag value must be between 0 and 256 characters in length",
		"a='' and b='' and c='' and d='' and e='' and f='' and g='' and h='' and i='' and j='' and k=''": "Error parsing query: there can be at most 10 unique tags in a query",
	} {
		out["search: "+expression] = behaviour{call: find(expression), status: 400, code: "InvalidQueryParameterValue", has: []string{message}}
	}
	for _, expression := range []string{
		"@container='x' and a='' and b='' and c='' and d='' and e='' and f='' and g='' and h='' and i='' and j=''",
		strings.Repeat("a>'' and ", 20) + "a<'z'",
	} {
		out["search: "+expression] = behaviour{call: find(expression), status: 200}
	}
	return out
}

// TestBatchBoundaries has the boundaries of Azurite's tests.
func TestBatchBoundaries(t *testing.T) {
	t.Parallel()
	s := shared(t, azurefake.Options{})
	for parameters, want := range map[string]string{
		"boundary=edge":               "HTTP/1.1 404",
		"boundary= edge":              "HTTP/1.1 404",
		`boundary="edge"`:             "HTTP/1.1 404",
		"boundary=edge==":             "HTTP/1.1 404",
		"":                            "InvalidHeaderValue",
		"boundary=":                   "InvalidHeaderValue",
		"boundary=edge;boundary=edge": "InvalidInput",
	} {
		t.Run(parameters, func(t *testing.T) {
			t.Parallel()
			c := s.converse(t)
			body := batchOf("DELETE /{container}/b?" + c.signature + " HTTP/1.1\r\n")
			if strings.HasSuffix(parameters, "==") {
				body = strings.ReplaceAll(body, "--edge", "--edge==")
			}
			got := c.send(t, request{method: "POST", query: ofType + "&" + comp + "batch", headers: headers{"Content-Type": "multipart/mixed;" + parameters}, body: body})
			if got.status != 202 || !strings.Contains(got.body, want) {
				t.Errorf("got %d %s, want 202 with %q", got.status, got.body, want)
			}
		})
	}
}

// TestCopyOfAnArchivedBlobOfAnotherAccount follows Azurite's test of the same copy.
func TestCopyOfAnArchivedBlobOfAnotherAccount(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{Accounts: []azurefake.Account{{Name: azurefake.DefaultAccount}, {Name: "other"}}})
	key, _ := server.Keys("other")
	cred, err := container.NewSharedKeyCredential("other", key)
	wantNoError(t, err)
	from := blobService{server.AccountURL("other"), cred}.converse(t)
	from.send(t, put("b", "x"))
	from.send(t, tierOf("b", "Archive", nil))
	to := serviceOf(t, server).converse(t)
	source := from.said["url"] + "/b?" + from.signature
	// In lower case, send adds no signature of the target's account.
	got := to.send(t, request{method: "PUT", blob: "b", headers: headers{"x-ms-copy-source": source}})
	if code := got.headers.Get("X-Ms-Error-Code"); got.status != http.StatusConflict || code != "CannotVerifyCopySource" {
		t.Errorf("got %d %s", got.status, got.body)
	}
}
