// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// httpHeaders are HTTP's own, which the connection or the response is about.
var httpHeaders = []string{"accept", "content-length", "content-type"}

const (
	wrongMD5, wrongCRC = "AAAAAAAAAAAAAAAAAAAAAA==", "AAAAAAAAAAE="
	farAhead           = "Fri, 01 Jan 2100 00:00:00 GMT"
)

// wrong has a value for each parameter with which no operation that reads it succeeds.
var wrong = map[string]string{
	"timeout": "soon", "snapshot": "yesterday", "versionid": "yesterday", "blockid": "!!", "copyid": "mine", "deletetype": "soft",
	"blocklisttype": "latest", "marker": "!!", "maxresults": "0", "include": "colours", "where": "x", "prevsnapshot": "yesterday",

	"if-match": otherTag, "if-none-match": "*", "if-modified-since": farAhead, "if-unmodified-since": longAgo,
	"x-ms-if-tags": "team='blue'", "x-ms-lease-id": leaseB,
	"x-ms-blob-if-match": otherTag, "x-ms-blob-if-none-match": "*", "x-ms-blob-if-modified-since": farAhead, "x-ms-blob-if-unmodified-since": longAgo,
	"x-ms-source-if-match": otherTag, "x-ms-source-if-none-match": "*", "x-ms-source-if-modified-since": farAhead, "x-ms-source-if-unmodified-since": longAgo,
	"x-ms-source-if-tags": "team='blue'", "x-ms-access-tier-if-modified-since": farAhead, "x-ms-access-tier-if-unmodified-since": longAgo,
	"x-ms-blob-condition-appendpos": "end", "x-ms-blob-condition-maxsize": "big",

	"content-md5": wrongMD5, "x-ms-content-crc64": wrongCRC, "x-ms-source-content-md5": wrongMD5, "x-ms-source-content-crc64": wrongCRC, "x-ms-blob-content-md5": "?", "x-ms-file-request-intent": "restore",
	"range": "bytes=9000-", "x-ms-range": "bytes=9000-", "x-ms-source-range": "bytes=9000-", "x-ms-range-get-content-md5": "yes", "x-ms-range-get-content-crc64": "yes",

	"x-ms-version": "2099-01-01", "x-ms-meta-": "amber", "x-ms-tags": "team=%23", "x-ms-access-tier": "Warm", "x-ms-blob-type": "LongBlob",
	"x-ms-blob-public-access": "all", "x-ms-deny-encryption-scope-override": "yes", "x-ms-delete-snapshots": "all",
	"x-ms-copy-source": "a", "x-ms-copy-source-authorization": "Bearer x", "x-ms-copy-source-tag-option": "SOME", "x-ms-copy-source-blob-properties": "yes",
	"x-ms-requires-sync": "yes", "x-ms-rehydrate-priority": "Soon", "x-ms-seal-blob": "yes", "x-ms-copy-action": "stop",
	"x-ms-blob-content-length": "700", "x-ms-blob-sequence-number": "first", "x-ms-sequence-number-action": "decrement", "x-ms-page-write": "append",
	"x-ms-if-sequence-number-le": "-1", "x-ms-if-sequence-number-lt": "0", "x-ms-if-sequence-number-eq": "9",
	"x-ms-deleted-container-name": "another", "x-ms-deleted-container-version": "none",
	"x-ms-lease-action": "prolong", "x-ms-lease-duration": "14", "x-ms-lease-break-period": "61", "x-ms-proposed-lease-id": "mine",
}

// effects are the parameters that take any text, with a value and what shows it: a part of a later HEAD of the blob or
// container, or of the response itself where it begins with a "<".
var effects = map[string]struct{ value, shows string }{
	"prefix": {"b-", "<Prefix>b-</Prefix>"}, "delimiter": {"b", "<BlobPrefix><Name>b</Name>"}, "startFrom": {"zzz", "<"}, "endBefore": {"a", "<"},
	"x-ms-blob-cache-control": {"shown", "Cache-Control"}, "x-ms-blob-content-disposition": {"shown", "Content-Disposition"}, "x-ms-blob-content-encoding": {"shown", "Content-Encoding"},
	"x-ms-blob-content-language": {"shown", "Content-Language"}, "x-ms-blob-content-type": {"shown", "Content-Type"},
	"x-ms-encryption-scope": {"shown", "X-Ms-Encryption-Scope"}, "x-ms-default-encryption-scope": {"shown", "X-Ms-Default-Encryption-Scope"},
	"x-ms-client-request-id": {"shown", ""},
}

// good has values for the parameters that an operation must have.
var good = map[string]string{
	"blockid": base1, "copyid": leaseA, "blocklisttype": "all", "where": "team='red'", "delimiter": "/",
	"x-ms-copy-source": "{url}/a", "x-ms-access-tier": "Hot", "x-ms-source-range": "bytes=0-511", "x-ms-lease-id": leaseA, "x-ms-proposed-lease-id": leaseC, "x-ms-lease-duration": "15",
	"range": "bytes=0-511", "x-ms-blob-content-length": "512", "x-ms-sequence-number-action": "increment", "x-ms-expiry-option": "NeverExpire",
	"x-ms-immutability-policy-until-date": farAhead, "x-ms-legal-hold": "true", "x-ms-source-container-name": "other", "x-ms-previous-snapshot-url": "x",
}

// bodies are those of the operations that have one.
var bodies = map[string]string{
	"submitBatch": batchOf("DELETE /{container}/b HTTP/1.1\r\n"),
	"setTags":     "<Tags><TagSet></TagSet></Tags>", "commitBlockList": "<BlockList></BlockList>", "stageBlock": "text", "appendBlock": "text", "upload": "text",
	"uploadPages":   page("a"),
	"setProperties": "<StorageServiceProperties></StorageServiceProperties>", "setAccessPolicy": "<SignedIdentifiers></SignedIdentifiers>",
}

// notBySignature are refused to the signature that the others are called with; TestUserDelegationSAS and
// TestStoredPoliciesAreEvaluatedLive call them.
var notBySignature = []string{"ServiceClient.getUserDelegationKey", "ContainerClient.getAccessPolicy", "ContainerClient.setAccessPolicy"}

// call is the operation as the client makes it with nothing that may be left out.
func (d described) call() request {
	client, method, _ := strings.Cut(d.name, ".")
	query := maps.Clone(d.fixed)
	out := request{method: d.method, headers: headers{}, body: bodies[method]}
	for name, p := range d.query {
		if p.always {
			query.Set(name, good[name])
		}
	}
	for name, p := range d.headers {
		if p.always && !slices.Contains(httpHeaders, name) && name != "x-ms-version" {
			out.headers[canonical(name)] = map[bool]string{true: good[name], false: p.value}[p.value == ""]
		}
	}
	if method == "submitBatch" {
		out.headers["Content-Type"] = batchType
	}
	if method == "restore" {
		out.headers = restoreContainer().headers
	}
	if method == "acquireLease" {
		out.headers["X-Ms-Lease-Duration"] = good["x-ms-lease-duration"]
	}
	out.query = query.Encode()
	switch client {
	case "ServiceClient":
		out.blob = "/"
	case "ContainerClient":
	case "AppendBlobClient":
		out.blob = "log"
	case "PageBlobClient":
		out.blob = "p"
	default:
		out.blob = "b"
	}
	out.secondary = d.name == "ServiceClient.getStatistics"
	return out
}

func canonical(name string) string { return http.CanonicalHeaderKey(name) }

// before is what must be there for the call to succeed.
func (d described) before() []request {
	_, method, _ := strings.Cut(d.name, ".")
	blob := ""
	if strings.HasPrefix(d.name, "BlobClient.") {
		blob = "b"
	}
	out := []request{
		put("a", page("a"), headers{"X-Ms-Tags": "team=red"}), put("b", "text", headers{"X-Ms-Tags": "team=red"}),
		{method: "PUT", blob: "log", headers: headers{"X-Ms-Blob-Type": "AppendBlob", "X-Ms-Tags": "team=red"}},
		pageBlob(headers{"X-Ms-Tags": "team=red"}),
	}
	switch {
	case d.name == "ContainerClient.create":
		return []request{deleteContainer}
	case method == "restore":
		return []request{deleteContainer, listDeleted}
	case slices.Contains([]string{"renewLease", "changeLease", "releaseLease", "breakLease"}, method):
		return append(out, acquireFor(blob, leaseA, "-1"))
	}
	return out
}

// with is the call with one more parameter.
func (r request) with(isQuery bool, name, value string) request {
	out := r
	if isQuery {
		parts := slices.DeleteFunc(strings.Split(r.query, "&"), func(p string) bool { return strings.HasPrefix(p, name+"=") })
		out.query = strings.Trim(strings.Join(append(parts, name+"="+value), "&"), "&")
		return out
	}
	if strings.HasSuffix(name, "-") {
		name += "a-b" // no name of metadata
	}
	out.headers = headers{}
	maps.Copy(out.headers, r.headers)
	out.headers[canonical(name)] = value
	return out
}

// verdict is how the fake handles a parameter of an operation.
type verdict string

const (
	isServed  verdict = "served"
	isRefused verdict = "refused"
	isIgnored verdict = "ignored"
)

// judge sends the call with a parameter whose value is invalid, has no effect, or has an effect.
func (c *conversation) judge(t *testing.T, d described, isQuery bool, name string) verdict {
	t.Helper()
	value, effect := wrong[name], effects[name]
	if value == "" && effect.value == "" {
		value = "x" // no operation reads it
	}
	got := c.send(t, d.call().with(isQuery, name, value+effect.value))
	code := got.headers.Get("X-Ms-Error-Code")
	switch {
	case code == "UnsupportedHeader" || code == "UnsupportedQueryParameter":
		if !strings.Contains(got.body, name) && d.method != http.MethodHead && !slices.Contains(makeAnother, name) {
			t.Errorf("%s: the refusal does not name %s: %s", d.name, name, got.body)
		}
		return isRefused
	case got.status >= 300:
		return isServed
	case value == "" && c.shows(t, d, effect.value, effect.shows, got):
		return isServed
	}
	return isIgnored
}

// prepared is a conversation in which the operation can be called.
func (s blobService) prepared(t *testing.T, d described) *conversation {
	t.Helper()
	c := s.converse(t)
	for _, call := range d.before() {
		if got := c.send(t, call); got.status >= 300 {
			t.Fatalf("before %s: %d %s", d.name, got.status, got.body)
		}
	}
	return c
}

// shows reports whether a parameter that takes any text had its effect.
func (c *conversation) shows(t *testing.T, d described, value, where string, got response) bool {
	t.Helper()
	switch {
	case where == "":
		return got.headers.Get("X-Ms-Client-Request-Id") == value
	case where == "<": // a listing that leaves out
		return !strings.Contains(got.body, "<Name>")
	case strings.HasPrefix(where, "<"):
		return strings.Contains(got.body, where)
	}
	look := request{method: "HEAD", blob: d.call().blob}
	if look.blob == "" {
		look.query = ofType
	}
	return c.send(t, look).headers.Get(where) == value
}

// readElsewhere are parameters that operations read in ways that this test cannot see.
var readElsewhere = map[string]string{
	"BlockBlobClient.stageBlock x-ms-encryption-scope":        "must be one that the container allows",
	"BlockBlobClient.stageBlockFromURL x-ms-encryption-scope": "must be one that the container allows",
	"BlobClient.getProperties range":                          "ignored, as HTTP has it",
	"BlobClient.getProperties x-ms-range":                     "ignored, as HTTP has it",
}

// probed is the fake's response to an operation.
type probed struct {
	// refusal is the message for an operation that is refused, whatever its parameters; the others have verdicts by name.
	refusal  string
	verdicts map[string]verdict
}

// TestEveryParameter calls every operation in the description with every parameter of any operation. The fake must
// reject by name what it does not implement, and ignore nothing. The page lists the results.
func TestEveryParameter(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{Deletion: -1, Accounts: []azurefake.Account{{Name: azurefake.DefaultAccount, KeepsContainers: 7}}}) // containers are made again
	key, _ := server.Keys(azurefake.DefaultAccount)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	s := blobService{server.AccountURL(azurefake.DefaultAccount), cred}
	all := description(t)
	queries, others := map[string]bool{}, map[string]bool{"x-ms-range": true, "if-range": true, "x-ms-aspect": true}
	for _, d := range all {
		for name := range d.query {
			queries[name] = true
		}
		for name := range d.headers {
			if !slices.Contains(httpHeaders, name) {
				others[name] = true
			}
		}
	}
	found, rows, refusals := map[string]probed{}, 0, 0
	for _, d := range all {
		p := s.probe(t, d, queries, others)
		found[d.name] = p
		for name, v := range p.verdicts {
			rows++
			if v == isRefused {
				refusals++
			}
			if v == isIgnored && readElsewhere[d.name+" "+name] == "" {
				t.Errorf("%s ignores %s", d.name, name)
			}
		}
	}
	t.Logf("%d operations, %d rows, %d of them refusals", len(all), rows, refusals)
	if len(all) < 70 || rows < 3000 {
		t.Errorf("%d operations with %d rows: is the description still found?", len(all), rows)
	}
	for name := range different {
		if _, ok := found[name]; !ok {
			t.Errorf("%s differs and is no operation of the description", name)
		}
	}
	comparePage(t, pageOf(all, found))
}

// probe calls an operation without additional parameters and with each of them.
func (s blobService) probe(t *testing.T, d described, queries, others map[string]bool) probed {
	t.Helper()
	got := s.prepared(t, d).send(t, d.call())
	switch code := got.headers.Get("X-Ms-Error-Code"); {
	case slices.Contains([]string{"NotImplemented", "HierarchicalNamespaceNotEnabled", "UnsupportedHeader"}, code):
		if got.status/100 != 4 {
			t.Errorf("%s: the refusal is %d, which a client may repeat", d.name, got.status)
		}
		_, message, _ := strings.Cut(got.body, "<Message>")
		message, _, _ = strings.Cut(message, "\n")
		return probed{refusal: message}
	case slices.Contains(notBySignature, d.name):
		out := probed{verdicts: map[string]verdict{}}
		for name := range d.headers {
			out.verdicts[name] = isServed
		}
		return out
	case got.status >= 300 && code != "NoPendingCopyOperation":
		t.Errorf("%s: %d %s", d.name, got.status, got.body)
		return probed{refusal: "failed"}
	}
	out := probed{verdicts: map[string]verdict{}}
	c := s.prepared(t, d)
	for _, names := range []struct {
		isQuery bool
		all     map[string]bool
	}{{true, queries}, {false, others}} {
		for name := range names.all {
			out.verdicts[name] = c.judge(t, d, names.isQuery, name)
			if effects[name].value != "" && out.verdicts[name] != isRefused {
				c = s.prepared(t, d) // something has changed
			}
		}
	}
	return out
}
