// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

func keepDeleted(retention string) request {
	return request{
		method: "PUT", blob: "/", query: "restype=service&" + comp + "properties",
		body: "<StorageServiceProperties><DeleteRetentionPolicy>" + retention + "</DeleteRetentionPolicy></StorageServiceProperties>",
	}
}

const sevenDays = "<Enabled>true</Enabled><Days>7</Days>"

// TestSoftDelete follows "Soft delete for blobs", "Undelete Blob" and "List Blobs".
func TestSoftDelete(t *testing.T) {
	t.Parallel()
	remove := func(with headers) request { return request{method: "DELETE", blob: "b", headers: with} }
	all := headers{"X-Ms-Delete-Snapshots": "include"}
	snapshot, undelete := set("b", "snapshot", nil, ""), set("b", "undelete", nil, "")
	on := func(more ...request) []request { return then([]request{keepDeleted(sevenDays)}, more...) }
	gone := on(put("b", "1", headers{"X-Ms-Meta-Color": "amber"}), remove(nil))
	const listed, isDeleted = "<Name>b</Name>", "<Deleted>true</Deleted>"
	for name, row := range map[string]behaviour{
		"the setting is returned":                        {before: on(), call: request{method: "GET", blob: "/", query: "restype=service&" + comp + "properties"}, status: 200, has: []string{"<DeleteRetentionPolicy>" + sevenDays}},
		"the setting has no days":                        {call: keepDeleted("<Enabled>true</Enabled>"), status: 400, code: "InvalidXmlDocument"},
		"the setting has 366 days":                       {call: keepDeleted("<Enabled>true</Enabled><Days>366</Days>"), status: 400, code: "InvalidXmlDocument"},
		"a deletion is not permanent":                    {before: on(put("b", "1")), call: remove(nil), status: 202, headers: headers{"X-Ms-Delete-Type-Permanent": "false"}},
		"a deletion without the setting":                 {before: []request{put("b", "1")}, call: remove(nil), status: 202, headers: headers{"X-Ms-Delete-Type-Permanent": "true"}},
		"a deleted blob cannot be read":                  {before: gone, call: get("b", nil), status: 404, code: "BlobNotFound"},
		"a deleted blob is not listed":                   {before: gone, call: list(""), status: 200, hasNot: []string{listed}},
		"a deleted blob is listed on request":            {before: gone, call: list("&include=deleted"), status: 200, has: []string{listed + isDeleted, "<DeletedTime>", "<RemainingRetentionDays>6</RemainingRetentionDays>"}},
		"a blob is restored":                             {before: then(gone, undelete), call: get("b", nil), status: 200, headers: headers{"X-Ms-Meta-Color": "amber"}, has: []string{"1"}},
		"a blob that is not deleted is restored":         {before: on(put("b", "1")), call: undelete, status: 200},
		"nothing is restored":                            {before: on(), call: undelete, status: 404, code: "BlobNotFound"},
		"nothing is restored without the setting":        {before: []request{put("b", "1"), remove(nil)}, call: undelete, status: 404, code: "BlobNotFound"},
		"the setting is removed before the deletion":     {before: on(keepDeleted("<Enabled>false</Enabled>"), put("b", "1"), remove(nil)), call: undelete, status: 404, code: "BlobNotFound"},
		"the setting is removed after the deletion":      {before: then(gone, keepDeleted("<Enabled>false</Enabled>")), call: undelete, status: 200},
		"snapshots must be deleted with the blob":        {before: on(put("b", "1"), snapshot), call: remove(nil), status: 409, code: "SnapshotsPresent"},
		"snapshots are restored with the blob":           {before: on(put("b", "1"), snapshot, remove(all), undelete), call: request{method: "GET", blob: "b", query: "snapshot={snapshot}"}, status: 200},
		"a deleted snapshot cannot be read":              {before: on(put("b", "1"), snapshot, request{method: "DELETE", blob: "b", query: "snapshot={snapshot}"}), call: request{method: "GET", blob: "b", query: "snapshot={snapshot}"}, status: 404},
		"a deleted snapshot does not prevent a deletion": {before: on(put("b", "1"), snapshot, remove(headers{"X-Ms-Delete-Snapshots": "only"})), call: remove(nil), status: 202},
		"deleted snapshots are restored":                 {before: on(put("b", "1"), snapshot, remove(headers{"X-Ms-Delete-Snapshots": "only"}), undelete), call: list("&include=snapshots"), status: 200, has: []string{"<Snapshot>{snapshot}</Snapshot>"}},
		"deleted snapshots are listed on request":        {before: on(put("b", "1"), snapshot, remove(all)), call: list("&include=snapshots,deleted"), status: 200, has: []string{isDeleted + "<Snapshot>{snapshot}</Snapshot>", listed + isDeleted + "<Properties>"}},
		"a replaced blob is kept as a snapshot":          {before: on(put("b", "1"), put("b", "2")), call: list("&include=snapshots,deleted"), status: 200, has: []string{isDeleted + "<Snapshot>"}},
		"a replaced blob is restored as a snapshot":      {before: on(put("b", "1"), put("b", "2"), undelete), call: list("&include=snapshots"), status: 200, has: []string{"<Snapshot>"}, hasNot: []string{isDeleted}},
		"a new blob replaces a deleted one":              {before: then(gone, put("b", "2"), undelete), call: get("b", nil), status: 200, has: []string{"2"}},
		"a page blob is restored with its pages":         {before: on(pageBlob(), pages(1, 1, page("a")), request{method: "DELETE", blob: "p"}, set("p", "undelete", nil, "")), call: pageList("", nil), status: 200, has: []string{rangeText(1, 1)}},
		"a page ends before a deleted blob":              {before: then(gone, put("a", "1")), call: list("&include=deleted&maxresults=1"), status: 200, has: []string{"<Name>a</Name>", "<NextMarker>"}, hasNot: []string{listed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, difference := range row.try(t, shared(t, azurefake.Options{})) {
				t.Error(difference)
			}
		})
	}
}

// TestSoftDeleteEnds moves the clock over the end of the retention, with a restart before it.
func TestSoftDeleteEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var ahead atomic.Int64
	open := func() (*azurefake.Server, blobService) {
		server := start(t, azurefake.Options{Dir: dir, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		return server, serviceOf(t, server)
	}
	server, s := open()
	c := s.converse(t)
	for _, call := range []request{keepDeleted(sevenDays), put("b", "1"), {method: "DELETE", blob: "b"}} {
		c.send(t, call)
	}
	if got := server.Inventory().Containers[0]; got.Count != 0 || got.SoftDeleted != 1 {
		t.Errorf("the inventory has %d blobs and %d deleted ones", got.Count, got.SoftDeleted)
	}
	wantNoError(t, server.Close())
	server, again := open()
	c.service = again
	ahead.Store(int64(7*24*time.Hour - time.Minute))
	if got := server.Inventory().Containers[0].SoftDeleted; got != 1 {
		t.Errorf("before the end: %d deleted blobs", got)
	}
	ahead.Store(int64(7*24*time.Hour + time.Minute))
	if got := server.Inventory().Containers[0].SoftDeleted; got != 0 {
		t.Errorf("after the end: %d deleted blobs", got)
	}
	ahead.Store(0) // the signature is valid
	c.send(t, set("b", "undelete", nil, ""))
	if got := c.send(t, get("b", nil)); got.body != "1" {
		t.Errorf("restored after the restart: %d %q", got.status, got.body)
	}
}

// TestSoftDeleteWithVersions follows "Soft delete for blobs": a replaced or deleted blob becomes a version, and a deleted
// version is kept.
func TestSoftDeleteWithVersions(t *testing.T) {
	t.Parallel()
	remove := request{method: "DELETE", blob: "b"}
	version := request{method: "DELETE", blob: "b", query: "versionid={version}"}
	undelete := set("b", "undelete", nil, "")
	on := func(more ...request) []request { return then([]request{keepDeleted(sevenDays)}, more...) }
	gone := on(put("b", "1"), remove, version)
	const isDeleted = "<Deleted>true</Deleted>"
	for name, row := range map[string]behaviour{
		"a replaced blob is a version":           {before: on(put("b", "1"), put("b", "2")), call: list("&include=snapshots,deleted,versions"), status: 200, has: []string{"<VersionId>"}, hasNot: []string{isDeleted, "<Snapshot>"}},
		"a deleted blob is a version":            {before: on(put("b", "1"), remove), call: list("&include=deleted,versions"), status: 200, has: []string{"<VersionId>{version}</VersionId>"}, hasNot: []string{isDeleted}},
		"a deleted blob is not restored":         {before: on(put("b", "1"), remove, undelete), call: get("b", nil), status: 404},
		"a blob with only versions is restored":  {before: on(put("b", "1"), remove), call: undelete, status: 200},
		"a deleted version cannot be read":       {before: gone, call: request{method: "GET", blob: "b", query: "versionid={version}"}, status: 404},
		"a deleted version is not listed":        {before: gone, call: list("&include=versions"), status: 200, hasNot: []string{"<Name>"}},
		"a deleted version is listed on request": {before: gone, call: list("&include=versions,deleted"), status: 200, has: []string{isDeleted + "<VersionId>{version}</VersionId>"}},
		"it is not listed without versions":      {before: gone, call: list("&include=deleted"), status: 200, hasNot: []string{"<Name>"}},
		"a deletion is not permanent":            {before: on(put("b", "1"), remove), call: version, status: 202, headers: headers{"X-Ms-Delete-Type-Permanent": "false"}},
		"a version is restored":                  {before: then(gone, undelete), call: request{method: "GET", blob: "b", query: "versionid={version}"}, status: 200, has: []string{"1"}},
		"snapshots are restored":                 {before: on(put("b", "1"), set("b", "snapshot", nil, ""), request{method: "DELETE", blob: "b", headers: headers{"X-Ms-Delete-Snapshots": "only"}}, undelete), call: list("&include=snapshots"), status: 200, has: []string{"<Snapshot>{snapshot}</Snapshot>"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, difference := range row.try(t, shared(t, azurefake.Options{Versioning: true})) {
				t.Error(difference)
			}
		})
	}
}

// TestSoftDeletedWithoutVersions restores a blob whose last state was written with versions and deleted without them.
func TestSoftDeletedWithoutVersions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := start(t, azurefake.Options{Dir: dir, Versioning: true})
	c := serviceOf(t, server).converse(t)
	c.send(t, put("b", "1"))
	wantNoError(t, server.Close())
	c.service = serviceOf(t, start(t, azurefake.Options{Dir: dir}))
	for _, call := range []request{keepDeleted(sevenDays), {method: "DELETE", blob: "b"}, set("b", "undelete", nil, "")} {
		c.send(t, call)
	}
	if got := c.send(t, get("b", nil)); got.body != "1" {
		t.Errorf("got %d %q", got.status, got.body)
	}
}

// TestListInPagesOfOne lists a deleted blob for which a block is staged: an entry with two items.
func TestListInPagesOfOne(t *testing.T) {
	t.Parallel()
	c := shared(t, azurefake.Options{}).converse(t)
	for _, call := range []request{keepDeleted(sevenDays), put("b", "1"), {method: "DELETE", blob: "b"}, stage("b", base1, "2"), put("c", "3")} {
		c.send(t, call)
	}
	var got []string
	for marker, pages := "", 0; pages == 0 || marker != ""; pages++ {
		if pages == 4 {
			t.Fatalf("the list does not end: %v", got)
		}
		page := c.send(t, list("&include=deleted,uncommittedblobs&maxresults=1&marker="+marker)).body
		for item := range strings.SplitSeq(page, "<Blob>") {
			name, _, found := strings.Cut(strings.TrimPrefix(item, "<Name>"), "</Name>")
			if found {
				got = append(got, name+" "+strconv.FormatBool(strings.Contains(item, "<Deleted>")))
			}
		}
		_, rest, _ := strings.Cut(page, "<NextMarker>")
		marker, _, _ = strings.Cut(rest, "</NextMarker>")
	}
	if diff := cmp.Diff([]string{"b true", "b false", "c false"}, got); diff != "" {
		t.Errorf("the names and whether they are deleted (-want +got):\n%s", diff)
	}
}
