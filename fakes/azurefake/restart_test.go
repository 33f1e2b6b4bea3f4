// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// combinations combine page blobs, leases, versions, soft delete, batches and copies.
func combinations() map[string][]request {
	all := headers{"X-Ms-Delete-Snapshots": "include"}
	remove := func(name string, with headers) request { return request{method: "DELETE", blob: name, headers: with} }
	undelete := func(name string) request { return set(name, "undelete", nil, "") }
	snapshot := func(name string) request { return set(name, "snapshot", nil, "") }
	copyTo := func(name, source string) request {
		return request{method: "PUT", blob: name, headers: headers{"X-Ms-Copy-Source": "{url}/" + source}}
	}
	batch := func(requests ...string) request {
		return request{method: "POST", query: ofType + "&" + comp + "batch", headers: headers{"Content-Type": batchType}, body: batchOf(requests...)}
	}
	resize := func(pages string) request {
		return set("p", "properties", headers{"X-Ms-Blob-Content-Length": pages}, "")
	}
	written := []request{pageBlob(headers{"X-Ms-Tags": "team=red"}), pages(0, 3, page("a")+page("b")+page("c")), pages(1, 1, page("d")), pages(2, 1, "")}
	taken := then(written, snapshot("p"), pages(0, 2, page("e")+page("f")))
	leased := headers{"X-Ms-Lease-Id": leaseA}
	deleted := then(taken, acquireFor("p", leaseA, "60"), remove("p", headers{"X-Ms-Delete-Snapshots": "include", "X-Ms-Lease-Id": leaseA}))
	version := []request{put("b", "1"), remove("b", nil)}
	return map[string][]request{
		"pages with a snapshot":                               taken,
		"a page blob shrinks and grows":                       then(taken, resize("1024"), resize("4096"), pages(7, 1, page("g"))),
		"a page blob is deleted with its lease and snapshots": deleted,
		"a deleted page blob is restored":                     then(deleted, undelete("p"), pages(0, 1, page("h"))),
		"a deleted page blob is created again":                then(deleted, pageBlob(), undelete("p")),
		"a block blob replaces a deleted page blob":           then(deleted, put("p", "text")),
		"a block is staged for a deleted page blob":           then(deleted, stage("p", base1, "text")),
		"a snapshot of pages is promoted":                     then(taken, copyTo("p", "p?snapshot={snapshot}"), pages(4, 1, page("h"))),
		"a copy of pages is written":                          then(taken, copyTo("q", "p"), remove("p", all)),
		"a leased page blob is written and renumbered":        then(taken, acquireFor("p", leaseA, "-1"), pages(3, 1, page("h"), leased), set("p", "properties", headers{"X-Ms-Lease-Id": leaseA, "X-Ms-Sequence-Number-Action": "increment"}, "")),
		"a lease of a page blob is broken":                    then(taken, acquireFor("p", leaseA, "60"), leaseOf("p", "break", "", "", headers{"X-Ms-Lease-Break-Period": "30"})),
		"a batch deletes blobs":                               then(taken, put("b", "1"), batch("DELETE /{container}/b?{signature} HTTP/1.1\r\n", "DELETE /{container}/p?{signature} HTTP/1.1\r\nx-ms-delete-snapshots: include\r\n")),
		"a batch deletes snapshots":                           then(taken, batch("DELETE /{container}/p?snapshot={snapshot}&{signature} HTTP/1.1\r\n")),
		"a batch sets tiers":                                  {put("b", "1"), put("c", "2"), batch("PUT /{container}/b?comp=tier&{signature} HTTP/1.1\r\nx-ms-access-tier: Archive\r\n", "PUT /{container}/c?comp=tier&{signature} HTTP/1.1\r\nx-ms-access-tier: Cool\r\n")},
		"a deleted blob is replaced":                          {put("b", "1"), remove("b", nil), put("b", "2"), remove("b", nil), put("b", "3")},
		"a replaced blob is restored":                         {put("b", "1"), put("b", "2"), remove("b", all), undelete("b"), put("b", "3")},
		"a version is deleted":                                then(version, request{method: "DELETE", blob: "b", query: "versionid={version}"}),
		"a deleted version is restored":                       then(version, request{method: "DELETE", blob: "b", query: "versionid={version}"}, undelete("b")),
		"an account has rules of CORS":                        {setCORS(corsRule("*", "GET", "*", "*"))},
		"an archived blob is deleted while it is rehydrated":  {put("b", "1"), tierOf("b", "Archive", nil), tierOf("b", "Hot", nil), remove("b", nil), undelete("b")},
		"an appended blob is sealed, deleted and restored":    {put("b", "", headers{"X-Ms-Blob-Type": "AppendBlob"}), set("b", "appendblock", nil, "1"), set("b", "seal", nil, ""), remove("b", nil), undelete("b")},
		"a container of all kinds is deleted":                 then(deleted, put("b", "1"), snapshot("b"), stage("s", base1, "2"), deleteContainer),
		"a container of all kinds is restored":                then(deleted, put("b", "1"), snapshot("b"), stage("s", base1, "2"), deleteContainer, listDeleted, restoreContainer(), undelete("p")),
		"a deleted container is created again":                then(deleted, deleteContainer, createContainer, put("b", "1")),
		"a container is deleted twice and restored":           then(taken, deleteContainer, createContainer, put("b", "1"), deleteContainer, listDeleted, restoreContainer()),
		"a container is leased":                               then(taken, acquireFor("", leaseA, "-1")),
	}
}

// TestRestart makes the calls of combinations and, except in the short tier, the successful calls of behaviours. After a
// restart of the server, clients must see the same containers, blobs, snapshots, versions, deleted blobs, pages, blocks and
// leases as before.
func TestRestart(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, versions := range map[string]bool{"without versions": false, "with versions": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := kept(azurefake.Options{Dir: t.TempDir(), Versioning: versions, Deletion: -1, Now: func() time.Time { return now }})
			server := start(t, o)
			s := serviceOf(t, server)
			rows := combinations()
			if !fulltest.Short() {
				for name, row := range behaviours() {
					if row.status < http.StatusBadRequest { // a refusal changes nothing
						rows[name] = then(row.before, row.call)
					}
				}
			}
			before, talks := map[string]string{}, map[string]*conversation{}
			for name, calls := range rows {
				c := s.converse(t)
				c.said["signature"] = c.signature
				for _, call := range then([]request{keepDeleted(sevenDays)}, calls...) {
					c.send(t, call)
				}
				talks[name] = c
			}
			for name, c := range talks { // some calls change the account
				before[name] = c.contents(t)
			}
			properties := request{method: "GET", blob: "/", query: "restype=service&" + comp + "properties"}
			service := s.converse(t).send(t, properties).body
			wantNoError(t, server.Close())
			again := serviceOf(t, start(t, o))
			for _, name := range slices.Sorted(maps.Keys(talks)) {
				c := talks[name]
				c.service = again
				if diff := cmp.Diff(before[name], c.contents(t)); diff != "" {
					t.Errorf("%s (-before +after the restart):\n%s", name, diff)
				}
			}
			if diff := cmp.Diff(service, again.converse(t).send(t, properties).body); diff != "" {
				t.Errorf("the properties of the service (-before +after the restart):\n%s", diff)
			}
		})
	}
}

var (
	// address matches the address of a server, which a restart changes.
	address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)
	// listedState matches the name of a blob in a list, and what identifies a state of the blob.
	listedState = regexp.MustCompile(`<Name>([^<]*)</Name>(<Deleted>true</Deleted>)?(?:<Snapshot>([^<]*)</Snapshot>)?(?:<VersionId>([^<]*)</VersionId>)?`)
)

// contents describes everything in the container that clients can read.
func (c *conversation) contents(t *testing.T) string {
	t.Helper()
	blobs := c.send(t, list("&include=snapshots,metadata,uncommittedblobs,copy,deleted,tags,versions"))
	own := regexp.MustCompile(`<Container><Name>` + c.container + `</Name>.*?</Container>`)
	out := append(own.FindAllString(c.send(t, listDeleted).body, -1), readable(blobs))
	for _, state := range listedState.FindAllStringSubmatch(blobs.body, -1) {
		if state[2] != "" {
			continue
		}
		query := ""
		switch {
		case state[3] != "":
			query = "&snapshot=" + state[3]
		case state[4] != "":
			query = "&versionid=" + state[4]
		}
		for _, part := range []string{"", comp + "pagelist", comp + "blocklist&blocklisttype=all"} {
			got := c.send(t, request{method: "GET", blob: url.PathEscape(html.UnescapeString(state[1])), query: part + query, headers: headers{"X-Ms-Range": "bytes=0-8191"}})
			for _, name := range []string{"Date", "X-Ms-Request-Id"} {
				got.headers.Del(name)
			}
			out = append(out, fmt.Sprintf("%s?%s%s: %d %v %q", state[1], part, query, got.status, got.headers, readable(got)))
		}
	}
	return address.ReplaceAllString(strings.Join(out, "\n"), "/")
}

// readable returns the body of a response, or only the code of an error, because error bodies contain the request ID.
func readable(r response) string {
	if r.status >= http.StatusBadRequest {
		return r.headers.Get("X-Ms-Error-Code")
	}
	return r.body
}
