// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"fmt"
	"maps"
)

// The rows follow the Azure Storage REST API reference (https://learn.microsoft.com/rest/api/storageservices), each
// group the pages that its function names. Codes are those of "Blob service error codes" and "Common REST API error
// codes"; if the pages state only a status, so does the row.

// The IDs of leases.
const (
	leaseA = "aaaaaaaa-0000-4000-8000-000000000001"
	leaseB = "bbbbbbbb-0000-4000-8000-000000000002"
	leaseC = "cccccccc-0000-4000-8000-000000000003"
)

type headers = map[string]string

// put uploads a block blob.
func put(name, body string, extra ...headers) request {
	all := headers{"X-Ms-Blob-Type": "BlockBlob"}
	for _, more := range extra {
		maps.Copy(all, more)
	}
	return request{method: "PUT", blob: name, headers: all, body: body}
}

func get(name string, with headers) request { return request{method: "GET", blob: name, headers: with} }

func head(name string, with headers) request {
	return request{method: "HEAD", blob: name, headers: with}
}

// list lists the container.
func list(query string) request {
	return request{method: "GET", query: ofType + "&" + comp + "list" + query}
}

// set is a PUT of a part of a blob.
func set(name, what string, with headers, body string) request {
	return request{method: "PUT", blob: name, query: comp + what, headers: with, body: body}
}

func stage(name, id, body string) request { return set(name, "block&blockid="+id, nil, body) }

func commitBlocks(name string, ids ...string) request {
	return set(name, "blocklist", nil, blockList(ids...))
}

// leaseOf is a lease action; ids are the lease's ID and the proposed one.
func leaseOf(name, action, id, proposed string, extra headers) request {
	with := headers{"X-Ms-Lease-Action": action}
	if id != "" {
		with["X-Ms-Lease-Id"] = id
	}
	if proposed != "" {
		with["X-Ms-Proposed-Lease-Id"] = proposed
	}
	maps.Copy(with, extra)
	if name == "" {
		return request{method: "PUT", query: ofType + "&" + comp + "lease", headers: with}
	}
	return set(name, "lease", with, "")
}

func acquireFor(name, id, seconds string) request {
	return leaseOf(name, "acquire", "", id, headers{"X-Ms-Lease-Duration": seconds})
}

// behaviours returns all rows, by topic.
func behaviours() map[string]behaviour {
	out := map[string]behaviour{}
	for _, group := range []map[string]behaviour{
		leaseRows(), leasedRows(), conditionRows(), listRows(), findRows(), rangeRows(), blobRows(), blockRows(), appendRows(), copyRows(), propertyRows(), containerRows(), accountRows(), tagConditionRows(), refusedRows(), laterRows(),
		archiveRows(), sealRows(), secondaryRows(), serviceRows(), unreadRows(), ambiguousRows(),
		newPageBlobRows(), putPageRows(), pageRangeRows(), snapshotRangeRows(), sequenceRows(), otherPageRows(),
	} {
		maps.Copy(out, group)
	}
	return out
}

// leaseRows follow the tables of outcomes in "Lease Blob" and "Lease Container", which are the same: what each action does in
// each state. Every lease is one of A.
func leaseRows() map[string]behaviour {
	breakFor := func(seconds string) headers { return headers{"X-Ms-Lease-Break-Period": seconds} }
	type action struct {
		call func(name string) request
		// available, leased, breaking and broken are the responses in those states.
		available, leased, breaking, broken int
	}
	actions := map[string]action{
		"acquire, no ID":    {func(n string) request { return acquireFor(n, "", "-1") }, 201, 409, 409, 201},
		"acquire A":         {func(n string) request { return acquireFor(n, leaseA, "15") }, 201, 201, 409, 201},
		"acquire B":         {func(n string) request { return acquireFor(n, leaseB, "15") }, 201, 409, 409, 201},
		"break at once":     {func(n string) request { return leaseOf(n, "break", "", "", breakFor("0")) }, 409, 202, 202, 202},
		"break in a while":  {func(n string) request { return leaseOf(n, "break", "", "", breakFor("30")) }, 409, 202, 202, 202},
		"break":             {func(n string) request { return leaseOf(n, "break", "", "", nil) }, 409, 202, 202, 202},
		"change A to B":     {func(n string) request { return leaseOf(n, "change", leaseA, leaseB, nil) }, 409, 200, 409, 409},
		"change B to A":     {func(n string) request { return leaseOf(n, "change", leaseB, leaseA, nil) }, 409, 200, 409, 409},
		"change B to C":     {func(n string) request { return leaseOf(n, "change", leaseB, leaseC, nil) }, 409, 409, 409, 409},
		"renew A":           {func(n string) request { return leaseOf(n, "renew", leaseA, "", nil) }, 409, 200, 409, 409},
		"renew B":           {func(n string) request { return leaseOf(n, "renew", leaseB, "", nil) }, 409, 409, 409, 409},
		"release A":         {func(n string) request { return leaseOf(n, "release", leaseA, "", nil) }, 409, 200, 200, 200},
		"release B":         {func(n string) request { return leaseOf(n, "release", leaseB, "", nil) }, 409, 409, 409, 409},
		"an unknown action": {func(n string) request { return leaseOf(n, "prolong", leaseA, "", nil) }, 400, 400, 400, 400},
	}
	out := map[string]behaviour{}
	for kind, name := range map[string]string{"blob": "b", "container": ""} {
		for what, a := range actions {
			taken := acquireFor(name, leaseA, "-1")
			for state, row := range map[string]behaviour{
				"available": {status: a.available},
				"leased":    {before: []request{taken}, status: a.leased},
				"breaking":  {before: []request{taken, leaseOf(name, "break", "", "", breakFor("60"))}, status: a.breaking},
				"broken":    {before: []request{taken, leaseOf(name, "break", "", "", breakFor("0"))}, status: a.broken},
			} {
				row.before, row.call = append([]request{put("b", "text")}, row.before...), a.call(name)
				out[fmt.Sprintf("lease of a %s, %s: %s", kind, state, what)] = row
			}
		}
	}
	leased := []request{put("b", "text"), acquireFor("b", leaseA, "-1")}
	maps.Copy(out, map[string]behaviour{
		"lease: too short":               {before: leased[:1], call: acquireFor("b", leaseA, "14"), status: 400, code: "InvalidHeaderValue"},
		"lease: too long":                {before: leased[:1], call: acquireFor("b", leaseA, "61"), status: 400, code: "InvalidHeaderValue"},
		"lease: the ID is no UUID":       {before: leased[:1], call: acquireFor("b", "mine", "15"), status: 400, code: "InvalidHeaderValue"},
		"lease: of no blob":              {call: acquireFor("b", leaseA, "15"), status: 404, code: "BlobNotFound"},
		"lease: acquired says its ID":    {before: leased[:1], call: acquireFor("b", leaseA, "15"), status: 201, headers: headers{"X-Ms-Lease-Id": leaseA}},
		"lease: taken by another":        {before: leased, call: acquireFor("b", leaseB, "15"), status: 409, code: "LeaseAlreadyPresent"},
		"lease: changed says its ID":     {before: leased, call: leaseOf("b", "change", leaseA, leaseB, nil), status: 200, headers: headers{"X-Ms-Lease-Id": leaseB}},
		"lease: broken says the time":    {before: leased, call: leaseOf("b", "break", "", "", breakFor("7")), status: 202, headers: headers{"X-Ms-Lease-Time": "7"}},
		"lease: an infinite one, broken": {before: leased, call: leaseOf("b", "break", "", "", nil), status: 202, headers: headers{"X-Ms-Lease-Time": "0"}},
		"lease: break longer than 60 s":  {before: leased, call: leaseOf("b", "break", "", "", breakFor("61")), status: 400, code: "InvalidHeaderValue"},
		"lease: none to break":           {before: leased[:1], call: leaseOf("b", "break", "", "", nil), status: 409, code: "LeaseNotPresentWithLeaseOperation"},
		"lease: shown, infinite":         {before: leased, call: head("b", nil), status: 200, headers: headers{"X-Ms-Lease-State": "leased", "X-Ms-Lease-Status": "locked", "X-Ms-Lease-Duration": "infinite"}},
		"lease: shown, none":             {before: leased[:1], call: head("b", nil), status: 200, headers: headers{"X-Ms-Lease-State": "available", "X-Ms-Lease-Status": "unlocked", "X-Ms-Lease-Duration": ""}},
	})
	return out
}

// leasedRows follow the tables of use attempts in "Lease Blob" and "Lease Container": the calls that a lease A
// prevents.
func leasedRows() map[string]behaviour {
	blob := []request{put("b", "text"), acquireFor("b", leaseA, "-1")}
	broken := append(append([]request{}, blob...), leaseOf("b", "break", "", "", headers{"X-Ms-Lease-Break-Period": "0"}))
	taken := []request{acquireFor("", leaseA, "-1")}
	with := func(id string) headers { return headers{"X-Ms-Lease-Id": id} }
	remove := func(id string) request {
		call := request{method: "DELETE", query: ofType}
		if id != "" {
			call.headers = with(id)
		}
		return call
	}
	return map[string]behaviour{
		"leased blob: written without the ID":               {before: blob, call: put("b", "new"), status: 412, code: "LeaseIdMissing"},
		"leased blob: written with the ID":                  {before: blob, call: put("b", "new", with(leaseA)), status: 201},
		"leased blob: written with another ID":              {before: blob, call: put("b", "new", with(leaseB)), status: 412, code: "LeaseIdMismatchWithBlobOperation"},
		"leased blob: read without the ID":                  {before: blob, call: get("b", nil), status: 200},
		"leased blob: read with the ID":                     {before: blob, call: get("b", with(leaseA)), status: 200},
		"leased blob: read with another ID":                 {before: blob, call: get("b", with(leaseB)), status: 412, code: "LeaseIdMismatchWithBlobOperation"},
		"leased blob: deleted without the ID":               {before: blob, call: request{method: "DELETE", blob: "b"}, status: 412, code: "LeaseIdMissing"},
		"leased blob: deleted with the ID":                  {before: blob, call: request{method: "DELETE", blob: "b", headers: with(leaseA)}, status: 202},
		"leased blob: metadata without the ID":              {before: blob, call: set("b", "metadata", nil, ""), status: 412, code: "LeaseIdMissing"},
		"leased blob: a tier without the ID":                {before: blob, call: set("b", "tier", headers{"X-Ms-Access-Tier": "Cool"}, ""), status: 412, code: "LeaseIdMissing"},
		"leased blob: a tier with the ID":                   {before: blob, call: set("b", "tier", headers{"X-Ms-Access-Tier": "Cool", "X-Ms-Lease-Id": leaseA}, ""), status: 200},
		"leased blob: tags without the ID":                  {before: blob, call: set("b", "tags", nil, "<Tags><TagSet></TagSet></Tags>"), status: 412, code: "LeaseIdMissing"},
		"leased blob: tags with the ID":                     {before: blob, call: set("b", "tags", with(leaseA), "<Tags><TagSet></TagSet></Tags>"), status: 204},
		"leased blob: a block without the ID":               {before: blob, call: stage("b", base1, "text"), status: 412, code: "LeaseIdMissing"},
		"leased blob: a snapshot without the ID":            {before: blob, call: set("b", "snapshot", nil, ""), status: 201},
		"leased blob: a snapshot with another ID":           {before: blob, call: set("b", "snapshot", with(leaseB), ""), status: 412},
		"blob without a lease: written with an ID":          {before: blob[:1], call: put("b", "new", with(leaseA)), status: 412, code: "LeaseNotPresentWithBlobOperation"},
		"blob without a lease: read with an ID":             {before: blob[:1], call: get("b", with(leaseA)), status: 412, code: "LeaseNotPresentWithBlobOperation"},
		"blob whose lease is broken: written without":       {before: broken, call: put("b", "new"), status: 201},
		"blob whose lease is broken: written with the ID":   {before: broken, call: put("b", "new", with(leaseA)), status: 412, code: "LeaseLost"},
		"leased container: deleted without the ID":          {before: taken, call: remove(""), status: 412, code: "LeaseIdMissing"},
		"leased container: deleted with the ID":             {before: taken, call: remove(leaseA), status: 202},
		"leased container: deleted with another ID":         {before: taken, call: remove(leaseB), status: 412, code: "LeaseIdMismatchWithContainerOperation"},
		"leased container: properties without the ID":       {before: taken, call: request{method: "GET", query: ofType}, status: 200, headers: headers{"X-Ms-Lease-State": "leased"}},
		"leased container: metadata without the ID":         {before: taken, call: request{method: "PUT", query: ofType + "&" + comp + "metadata"}, status: 200},
		"leased container: metadata with another ID":        {before: taken, call: request{method: "PUT", query: ofType + "&" + comp + "metadata", headers: with(leaseB)}, status: 412},
		"leased container: a blob in it":                    {before: taken, call: put("b", "text"), status: 201},
		"container without a lease: deleted with an ID":     {call: remove(leaseA), status: 412, code: "LeaseNotPresentWithContainerOperation"},
		"container whose lease is released: deleted":        {before: append(append([]request{}, taken...), leaseOf("", "release", leaseA, "", nil)), call: remove(""), status: 202},
		"container that is deleted: blobs in it":            {before: []request{remove("")}, call: put("b", "text"), status: 404, code: "ContainerNotFound"},
		"container that is deleted: made again at once":     {before: []request{remove("")}, call: request{method: "PUT", query: ofType}, status: 409, code: "ContainerBeingDeleted"},
		"container that is deleted: deleted again":          {before: []request{remove("")}, call: remove(""), status: 202},
		"container that is deleted: no longer in a listing": {before: []request{remove("")}, call: list(""), status: 404, code: "ContainerNotFound"},
	}
}

const (
	longAgo  = "Sat, 01 Jan 2000 00:00:00 GMT"
	otherTag = `"0x8D0000000000000"`
)

// conditionRows follow "Specifying conditional headers for Blob service operations".
func conditionRows() map[string]behaviour {
	there := []request{put("b", "text")}
	out := map[string]behaviour{}
	for kind, reading := range map[string]func(headers) request{
		"Get Blob":            func(h headers) request { return get("b", h) },
		"Get Blob Properties": func(h headers) request { return head("b", h) },
	} {
		for what, row := range map[string]behaviour{
			"If-Match, the same":                         {call: reading(headers{"If-Match": "{etag}"}), status: 200},
			"If-Match, another":                          {call: reading(headers{"If-Match": otherTag}), status: 412},
			"If-Match, one of two":                       {call: reading(headers{"If-Match": otherTag + ", {etag}"}), status: 200},
			"If-Match, any":                              {call: reading(headers{"If-Match": "*"}), status: 200},
			"If-None-Match, the same":                    {call: reading(headers{"If-None-Match": "{etag}"}), status: 304},
			"If-None-Match, another":                     {call: reading(headers{"If-None-Match": otherTag}), status: 200},
			"If-None-Match, any":                         {call: reading(headers{"If-None-Match": "*"}), status: 400, code: "UnsatisfiableCondition"},
			"If-None-Match, one of two":                  {call: reading(headers{"If-None-Match": otherTag + ", {etag}"}), status: 304},
			"If-Modified-Since, modified":                {call: reading(headers{"If-Modified-Since": longAgo}), status: 200},
			"If-Modified-Since, not modified":            {call: reading(headers{"If-Modified-Since": "{modified}"}), status: 304},
			"If-Unmodified-Since, not modified":          {call: reading(headers{"If-Unmodified-Since": "{modified}"}), status: 200},
			"If-Unmodified-Since, modified":              {call: reading(headers{"If-Unmodified-Since": longAgo}), status: 412},
			"the same by ETag, modified by time":         {call: reading(headers{"If-None-Match": "{etag}", "If-Modified-Since": longAgo}), status: 200},
			"another by ETag, not modified by time":      {call: reading(headers{"If-None-Match": otherTag, "If-Modified-Since": "{modified}"}), status: 200},
			"the same by ETag, not modified by time":     {call: reading(headers{"If-None-Match": "{etag}", "If-Modified-Since": "{modified}"}), status: 304},
			"If-Match holds, If-Unmodified-Since not":    {call: reading(headers{"If-Match": "{etag}", "If-Unmodified-Since": longAgo}), status: 412},
			"If-Match holds, If-None-Match not":          {call: reading(headers{"If-Match": "{etag}", "If-None-Match": "{etag}"}), status: 304},
			"If-Modified-Since that is no date":          {call: reading(headers{"If-Modified-Since": "yesterday"}), status: 400},
			"If-Match holds, quotes left out of its tag": {call: reading(headers{"If-Match": "*", "If-None-Match": otherTag}), status: 200},
		} {
			row.before = there
			out["condition, "+kind+": "+what] = row
		}
	}
	for kind, writing := range map[string]func(headers) request{
		"Put Blob":          func(h headers) request { return put("b", "new", h) },
		"Set Blob Metadata": func(h headers) request { return set("b", "metadata", h, "") },
		"Delete Blob":       func(h headers) request { return request{method: "DELETE", blob: "b", headers: h} },
		"Snapshot Blob":     func(h headers) request { return set("b", "snapshot", h, "") },
	} {
		success := map[string]int{"Put Blob": 201, "Set Blob Metadata": 200, "Delete Blob": 202, "Snapshot Blob": 201}[kind]
		for what, row := range map[string]behaviour{
			"If-Match, the same":                    {call: writing(headers{"If-Match": "{etag}"}), status: success},
			"If-Match, another":                     {call: writing(headers{"If-Match": otherTag}), status: 412, code: "ConditionNotMet"},
			"If-None-Match, the same":               {call: writing(headers{"If-None-Match": "{etag}"}), status: 412, code: "ConditionNotMet"},
			"If-None-Match, another":                {call: writing(headers{"If-None-Match": otherTag}), status: success},
			"If-Modified-Since, modified":           {call: writing(headers{"If-Modified-Since": longAgo}), status: success},
			"If-Modified-Since, not modified":       {call: writing(headers{"If-Modified-Since": "{modified}"}), status: 412, code: "ConditionNotMet"},
			"If-Unmodified-Since, not modified":     {call: writing(headers{"If-Unmodified-Since": "{modified}"}), status: success},
			"If-Unmodified-Since, modified":         {call: writing(headers{"If-Unmodified-Since": longAgo}), status: 412, code: "ConditionNotMet"},
			"another by ETag, not modified by time": {call: writing(headers{"If-None-Match": otherTag, "If-Modified-Since": "{modified}"}), status: success},
			"the same by ETag, modified by time":    {call: writing(headers{"If-None-Match": "{etag}", "If-Modified-Since": longAgo}), status: 412, code: "ConditionNotMet"},
			"one of two tags":                       {call: writing(headers{"If-Match": otherTag + ", {etag}"}), status: 400},
			"two that do not go together":           {call: writing(headers{"If-Match": "{etag}", "If-None-Match": otherTag}), status: 400, code: "MultipleConditionHeadersNotSupported"},
		} {
			row.before = there
			out["condition, "+kind+": "+what] = row
		}
	}
	maps.Copy(out, map[string]behaviour{
		"condition, Put Blob: only if new, new":           {call: put("b", "new", headers{"If-None-Match": "*"}), status: 201},
		"condition, Put Blob: only if new, there":         {before: there, call: put("b", "new", headers{"If-None-Match": "*"}), status: 409, code: "BlobAlreadyExists"},
		"condition, Put Blob: only if there, new":         {call: put("b", "new", headers{"If-Match": "*"}), status: 412, code: "ConditionNotMet"},
		"condition, Put Block List: only if new, there":   {before: append(append([]request{}, there...), stage("b", base1, "x")), call: set("b", "blocklist", headers{"If-None-Match": "*"}, blockList(base1)), status: 409, code: "BlobAlreadyExists"},
		"condition, Set Container Metadata: modified":     {call: request{method: "PUT", query: ofType + "&" + comp + "metadata", headers: headers{"If-Modified-Since": longAgo}}, status: 200},
		"condition, Delete Container: unmodified, is not": {call: request{method: "DELETE", query: ofType, headers: headers{"If-Unmodified-Since": longAgo}}, status: 412, code: "ConditionNotMet"},
	})
	return out
}

// listRows follow "List Blobs" and "Enumerating blob resources".
func listRows() map[string]behaviour {
	tree := []request{put("a", "1"), put("dir/b", "2"), put("dir/c", "3"), put("dir/sub/d", "4"), put("e", "5", headers{"X-Ms-Meta-Color": "amber", "X-Ms-Tags": "team=a"})}
	named := func(names ...string) []string {
		var out []string
		for _, name := range names {
			out = append(out, "<Name>"+name+"</Name>")
		}
		return out
	}
	snapshot := append(append([]request{}, tree...), set("a", "snapshot", nil, ""))
	staged := append(append([]request{}, tree...), stage("f", base1, "x"))
	twice := append(append([]request{}, snapshot...), set("a", "snapshot", nil, ""))
	return map[string]behaviour{
		"list: all":                           {before: tree, call: list(""), status: 200, has: named("a", "dir/b", "dir/c", "dir/sub/d", "e"), hasNot: []string{"<NextMarker>"}},
		"list: nothing there":                 {call: list(""), status: 200, hasNot: []string{"<Blob>"}},
		"list: prefix":                        {before: tree, call: list("&prefix=dir/"), status: 200, has: named("dir/b", "dir/c", "dir/sub/d"), hasNot: named("a", "e")},
		"list: prefix of nothing":             {before: tree, call: list("&prefix=zzz"), status: 200, hasNot: []string{"<Blob>"}},
		"list: delimiter":                     {before: tree, call: list("&delimiter=/"), status: 200, has: append(named("a", "e"), "<BlobPrefix><Name>dir/</Name></BlobPrefix>"), hasNot: named("dir/b")},
		"list: delimiter and prefix":          {before: tree, call: list("&delimiter=/&prefix=dir/"), status: 200, has: append(named("dir/b", "dir/c"), "<Name>dir/sub/</Name>"), hasNot: named("a", "dir/sub/d")},
		"list: a page":                        {before: tree, call: list("&maxresults=2"), status: 200, has: append(named("a", "dir/b"), "<NextMarker>"), hasNot: named("dir/c")},
		"list: as many as there are":          {before: tree, call: list("&maxresults=5"), status: 200, has: named("a", "e"), hasNot: []string{"<NextMarker>"}},
		"list: maxresults of nothing":         {before: tree, call: list("&maxresults=0"), status: 400, code: "OutOfRangeQueryParameterValue"},
		"list: maxresults that is no number":  {before: tree, call: list("&maxresults=many"), status: 400},
		"list: without metadata":              {before: tree, call: list(""), status: 200, hasNot: []string{"amber"}},
		"list: with metadata":                 {before: tree, call: list("&include=metadata"), status: 200, has: []string{"<Metadata><color>amber</color></Metadata>"}},
		"list: with tags":                     {before: tree, call: list("&include=tags"), status: 200, has: []string{"<Key>team</Key>"}},
		"list: snapshots left out":            {before: snapshot, call: list(""), status: 200, hasNot: []string{"<Snapshot>"}},
		"list: snapshots":                     {before: snapshot, call: list("&include=snapshots"), status: 200, has: []string{"<Snapshot>{snapshot}</Snapshot>"}},
		"list: uncommitted left out":          {before: staged, call: list(""), status: 200, hasNot: named("f")},
		"list: uncommitted":                   {before: staged, call: list("&include=uncommittedblobs"), status: 200, has: named("f")},
		"list: includes what nobody knows":    {before: tree, call: list("&include=colours"), status: 400, code: "InvalidQueryParameterValue"},
		"list: names that XML has to escape":  {before: []request{put("a%26b", "1")}, call: list(""), status: 200, has: named("a&amp;b")},
		"list: types and sizes":               {before: tree, call: list("&prefix=a"), status: 200, has: []string{"<BlobType>BlockBlob</BlobType>", "<Content-Length>1</Content-Length>"}},
		"list: a page ends among snapshots":   {before: twice, call: list("&include=snapshots&maxresults=2"), status: 200, has: append(named("a"), "<NextMarker>"), hasNot: named("dir/b")},
		"list: versions and a delimiter":      {before: tree, call: list("&include=versions&delimiter=/"), status: 200, has: append(named("a", "e"), "<BlobPrefix><Name>dir/</Name></BlobPrefix>"), hasNot: named("dir/b")},
		"list: the same, in an older version": {before: tree, call: request{method: "GET", query: ofType + "&" + comp + "list&include=versions&delimiter=/", headers: headers{"X-Ms-Version": "2020-10-02"}}, status: 400, code: "InvalidQueryParameterValue"},
		"list: deleted ones and a delimiter":  {before: tree, call: list("&include=deletedwithversions&delimiter=/"), status: 400, code: "InvalidQueryParameterValue"},
		"list: snapshots and a delimiter":     {before: tree, call: list("&include=snapshots&delimiter=/"), status: 400, code: "InvalidQueryParameterValue"},
		"list: names that XML cannot hold":    {before: []request{put("a%01b+", "1")}, call: list(""), status: 200, has: []string{`<Name Encoded="true">a%01b%2B</Name>`}},
		"list: of a container that is absent": {before: []request{{method: "DELETE", query: ofType}}, call: list(""), status: 404},
	}
}

// rangeRows follow "Get Blob" and "Specifying the range header for Blob service operations".
func rangeRows() map[string]behaviour {
	there := []request{put("b", "hello")}
	ranged := func(value string) headers { return headers{"X-Ms-Range": value} }
	return map[string]behaviour{
		"range: a part":                   {before: there, call: get("b", ranged("bytes=1-3")), status: 206, headers: headers{"Content-Range": "bytes 1-3/5", "Content-Length": "3"}, has: []string{"ell"}},
		"range: to the end":               {before: there, call: get("b", ranged("bytes=2-")), status: 206, headers: headers{"Content-Range": "bytes 2-4/5"}},
		"range: beyond the end":           {before: there, call: get("b", ranged("bytes=3-99")), status: 206, headers: headers{"Content-Range": "bytes 3-4/5"}},
		"range: after the end":            {before: there, call: get("b", ranged("bytes=5-")), status: 416, code: "InvalidRange"},
		"range: by Range":                 {before: there, call: get("b", headers{"Range": "bytes=0-0"}), status: 206, headers: headers{"Content-Range": "bytes 0-0/5"}},
		"range: X-Ms-Range wins":          {before: there, call: get("b", headers{"Range": "bytes=0-0", "X-Ms-Range": "bytes=0-1"}), status: 206, headers: headers{"Content-Range": "bytes 0-1/5"}},
		"range: with its checksum":        {before: there, call: get("b", headers{"X-Ms-Range": "bytes=0-4", "X-Ms-Range-Get-Content-Md5": "true"}), status: 206, headers: headers{"Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}},
		"range: with its CRC":             {before: there, call: get("b", headers{"X-Ms-Range": "bytes=0-4", "X-Ms-Range-Get-Content-Crc64": "true"}), status: 206, headers: headers{"X-Ms-Content-Crc64": "V0JSBnCFdzM="}},
		"range: a checksum, but no range": {before: there, call: get("b", headers{"X-Ms-Range-Get-Content-Md5": "true"}), status: 400},
		"range: both checksums":           {before: there, call: get("b", headers{"X-Ms-Range": "bytes=0-4", "X-Ms-Range-Get-Content-Md5": "true", "X-Ms-Range-Get-Content-Crc64": "true"}), status: 400},
		"range: none":                     {before: there, call: get("b", nil), status: 200, headers: headers{"Content-Length": "5", "Accept-Ranges": "bytes"}, has: []string{"hello"}},
		"range: HEAD ignores it":          {before: there, call: head("b", ranged("bytes=1-3")), status: 200, headers: headers{"Content-Length": "5"}},
		"range: of an empty blob":         {before: []request{put("b", "")}, call: get("b", ranged("bytes=0-0")), status: 416, code: "InvalidRange"},
		"range: whole checksum is stored": {before: there, call: head("b", nil), status: 200, headers: headers{"Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}},
	}
}

// blobRows follow "Put Blob", "Get Blob", "Delete Blob", "Snapshot Blob" and "Set Blob Tier".
func blobRows() map[string]behaviour {
	there := []request{put("b", "hello", headers{"X-Ms-Blob-Content-Type": "text/x-a", "X-Ms-Blob-Cache-Control": "no-cache", "X-Ms-Meta-Color": "amber"})}
	snapshot := append(append([]request{}, there...), set("b", "snapshot", nil, ""))
	long := ""
	for range 1025 {
		long += "n"
	}
	remove := func(with headers) request { return request{method: "DELETE", blob: "b", headers: with} }
	return map[string]behaviour{
		"blob: without a type":                 {call: request{method: "PUT", blob: "b", body: "x"}, status: 400, code: "MissingRequiredHeader"},
		"blob: of a type that is none":         {call: put("b", "x", headers{"X-Ms-Blob-Type": "LongBlob"}), status: 400, code: "InvalidHeaderValue"},
		"blob: a wrong checksum":               {call: put("b", "hello", headers{"Content-Md5": "AAAAAAAAAAAAAAAAAAAAAA=="}), status: 400, code: "Md5Mismatch"},
		"blob: a checksum that is none":        {call: put("b", "hello", headers{"Content-Md5": "AAAA"}), status: 400, code: "InvalidMd5"},
		"blob: the right checksum":             {call: put("b", "hello", headers{"Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}), status: 201, headers: headers{"Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}},
		"blob: the right CRC":                  {call: put("b", "hello", headers{"X-Ms-Content-Crc64": "V0JSBnCFdzM="}), status: 201, headers: headers{"X-Ms-Content-Crc64": "V0JSBnCFdzM="}},
		"blob: a wrong CRC":                    {call: put("b", "hello", headers{"X-Ms-Content-Crc64": "AAAAAAAAAAA="}), status: 400, code: "Crc64Mismatch"},
		"blob: both checksums":                 {call: put("b", "hello", headers{"X-Ms-Content-Crc64": "V0JSBnCFdzM=", "Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}), status: 400, code: "BothCrc64AndMd5HeaderPresent"},
		"blob: what it has":                    {before: there, call: head("b", nil), status: 200, headers: headers{"Content-Type": "text/x-a", "Cache-Control": "no-cache", "X-Ms-Meta-Color": "amber", "X-Ms-Blob-Type": "BlockBlob", "ETag": "{etag}", "X-Ms-Creation-Time": "*"}},
		"blob: replaced, its metadata go":      {before: append(append([]request{}, there...), put("b", "new")), call: head("b", nil), status: 200, headers: headers{"X-Ms-Meta-Color": "", "Content-Type": "application/octet-stream"}},
		"blob: a name that is too long":        {call: put(long, "x"), status: 400},
		"blob: absent":                         {call: get("b", nil), status: 404, code: "BlobNotFound"},
		"blob: absent, HEAD":                   {call: head("b", nil), status: 404},
		"blob: metadata with a bad name":       {call: put("b", "x", headers{"X-Ms-Meta-A-B": "1"}), status: 400, code: "InvalidMetadata"},
		"blob: in a container that is absent":  {before: []request{{method: "DELETE", query: ofType}}, call: get("b", nil), status: 404, code: "ContainerNotFound"},
		"delete: absent":                       {call: remove(nil), status: 404, code: "BlobNotFound"},
		"delete: with a snapshot":              {before: snapshot, call: remove(nil), status: 409, code: "SnapshotsPresent"},
		"delete: with its snapshots":           {before: snapshot, call: remove(headers{"X-Ms-Delete-Snapshots": "include"}), status: 202},
		"delete: the snapshots alone":          {before: snapshot, call: remove(headers{"X-Ms-Delete-Snapshots": "only"}), status: 202},
		"delete: staged blocks alone":          {before: []request{stage("b", base1, "x")}, call: remove(nil), status: 202},
		"delete: for good, no such feature":    {before: snapshot, call: request{method: "DELETE", blob: "b", query: "snapshot={snapshot}&deletetype=permanent"}, status: 409},
		"delete: one snapshot":                 {before: snapshot, call: request{method: "DELETE", blob: "b", query: "snapshot={snapshot}"}, status: 202},
		"delete: a snapshot and its snapshots": {before: snapshot, call: request{method: "DELETE", blob: "b", query: "snapshot={snapshot}", headers: headers{"X-Ms-Delete-Snapshots": "include"}}, status: 400},
		"delete: snapshots, a word unknown":    {before: snapshot, call: remove(headers{"X-Ms-Delete-Snapshots": "all"}), status: 400, code: "InvalidHeaderValue"},
		"snapshot: what it has":                {before: append(snapshot[:2:2], put("b", "new")), call: request{method: "GET", blob: "b", query: "snapshot={snapshot}"}, status: 200, has: []string{"hello"}, headers: headers{"X-Ms-Meta-Color": "amber"}},
		"snapshot: with metadata of its own":   {before: there, call: set("b", "snapshot", headers{"X-Ms-Meta-Color": "blue"}, ""), status: 201, headers: headers{"X-Ms-Snapshot": "*"}},
		"snapshot: of nothing":                 {call: set("b", "snapshot", nil, ""), status: 404, code: "BlobNotFound"},
		"snapshot: absent":                     {before: there, call: request{method: "GET", blob: "b", query: "snapshot=2020-01-01T00:00:00.0000000Z"}, status: 404, code: "BlobNotFound"},
		"snapshot: one without a name":         {before: snapshot, call: request{method: "GET", blob: "b", query: "snapshot="}, status: 400, code: "InvalidQueryParameterValue"},
		"snapshot: deleted without its name":   {before: snapshot, call: request{method: "DELETE", blob: "b", query: "snapshot="}, status: 400, code: "InvalidQueryParameterValue"},
		"snapshot: a name that is no time":     {before: snapshot, call: request{method: "GET", blob: "b", query: "snapshot=yesterday"}, status: 400, code: "InvalidQueryParameterValue"},
		"version: deleted without its name":    {before: there, call: request{method: "DELETE", blob: "b", query: "versionid="}, status: 400, code: "InvalidQueryParameterValue"},
		"snapshot: a tier of its own":          {before: append(append([]request{}, snapshot...), set("b", "tier&snapshot={snapshot}", headers{"X-Ms-Access-Tier": "Cool"}, "")), call: head("b", nil), status: 200, headers: headers{"X-Ms-Access-Tier": "Hot"}},
		"snapshot: overwritten":                {before: snapshot, call: request{method: "PUT", blob: "b", query: "snapshot={snapshot}", headers: headers{"X-Ms-Blob-Type": "BlockBlob"}, body: "x"}, status: 400},
		"snapshot: written":                    {before: snapshot, call: request{method: "PUT", blob: "b", query: "snapshot={snapshot}&" + comp + "metadata"}, status: 400},
		"tier: set":                            {before: there, call: set("b", "tier", headers{"X-Ms-Access-Tier": "Cool"}, ""), status: 200},
		"tier: shown":                          {before: append(append([]request{}, there...), set("b", "tier", headers{"X-Ms-Access-Tier": "Cool"}, "")), call: head("b", nil), status: 200, headers: headers{"X-Ms-Access-Tier": "Cool", "X-Ms-Access-Tier-Inferred": ""}},
		"tier: inferred":                       {before: there, call: head("b", nil), status: 200, headers: headers{"X-Ms-Access-Tier": "Hot", "X-Ms-Access-Tier-Inferred": "true"}},
		"tier: none that is known":             {before: there, call: set("b", "tier", headers{"X-Ms-Access-Tier": "Warm"}, ""), status: 400},
		"tier: archived and read":              {before: append(append([]request{}, there...), set("b", "tier", headers{"X-Ms-Access-Tier": "Archive"}, "")), call: get("b", nil), status: 409, code: "BlobArchived"},
		"tier: of nothing":                     {call: set("b", "tier", headers{"X-Ms-Access-Tier": "Cool"}, ""), status: 404, code: "BlobNotFound"},
	}
}

// blockRows follow "Put Block", "Put Block List" and "Get Block List".
func blockRows() map[string]behaviour {
	const block2, longer = "YmxvY2sy", "YmxvY2szMw=="
	two := []request{stage("b", base1, "hello "), stage("b", block2, "world")}
	committed := append(append([]request{}, two...), commitBlocks("b", base1, block2))
	kinds := func(text string) request { return set("b", "blocklist", nil, "<BlockList>"+text+"</BlockList>") }
	source := []request{put("a", "hello world")}
	from := func(name string, extra headers) request {
		with := headers{"X-Ms-Copy-Source": "{url}/" + name}
		maps.Copy(with, extra)
		return set("b", "block&blockid="+base1, with, "")
	}
	blocks := func(kind string) request {
		return request{method: "GET", blob: "b", query: comp + "blocklist&blocklisttype=" + kind}
	}
	return map[string]behaviour{
		"block: staged":                          {call: stage("b", base1, "x"), status: 201, headers: headers{"Content-Md5": ""}},
		"block: staged with its checksum":        {call: set("b", "block&blockid="+base1, headers{"Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}, "hello"), status: 201, headers: headers{"Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}},
		"block: an ID that is no base64":         {call: stage("b", "!!", "x"), status: 400},
		"block: IDs of different lengths":        {before: two, call: stage("b", longer, "x"), status: 400, code: "InvalidBlobOrBlock"},
		"block: a blob of staged ones is absent": {before: two, call: get("b", nil), status: 404, code: "BlobNotFound"},
		"block: a wrong checksum":                {call: set("b", "block&blockid="+base1, headers{"Content-Md5": "AAAAAAAAAAAAAAAAAAAAAA=="}, "x"), status: 400, code: "Md5Mismatch"},
		"block: of an append blob":               {before: []request{put("b", "", headers{"X-Ms-Blob-Type": "AppendBlob"})}, call: stage("b", base1, "x"), status: 409, code: "InvalidBlobType"},
		"block: from a URL":                      {before: source, call: from("a", nil), status: 201},
		"block: from a URL, committed":           {before: append(append([]request{}, source...), from("a", headers{"X-Ms-Source-Range": "bytes=6-"}), commitBlocks("b", base1)), call: get("b", nil), status: 200, has: []string{"world"}, hasNot: []string{"hello"}},
		"block: from a URL, its checksum":        {before: source, call: from("a", headers{"X-Ms-Source-Range": "bytes=0-4", "X-Ms-Source-Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}), status: 201, headers: headers{"Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}},
		"block: from a URL, a wrong checksum":    {before: source, call: from("a", headers{"X-Ms-Source-Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}), status: 400, code: "Md5Mismatch"},
		"block: from a URL, another ETag":        {before: source, call: from("a", headers{"X-Ms-Source-If-Match": otherTag}), status: 412},
		"block: from a URL, of nothing":          {call: from("a", nil), status: 404},
		"block: from a URL, and with a body":     {before: source, call: request{method: "PUT", blob: "b", query: comp + "block&blockid=" + base1, headers: headers{"X-Ms-Copy-Source": "{url}/a"}, body: "x"}, status: 400},
		"block list: a wrong checksum":           {before: two, call: set("b", "blocklist", headers{"Content-Md5": "AAAAAAAAAAAAAAAAAAAAAA=="}, blockList(base1)), status: 400, code: "Md5Mismatch"},
		"block list: in its order":               {before: append(append([]request{}, two...), commitBlocks("b", block2, base1)), call: get("b", nil), status: 200, has: []string{"worldhello "}},
		"block list: one block twice":            {before: append(append([]request{}, two...), commitBlocks("b", base1, base1)), call: get("b", nil), status: 200, headers: headers{"Content-Length": "12"}},
		"block list: an unknown block":           {before: two, call: commitBlocks("b", longer), status: 400, code: "InvalidBlockList"},
		"block list: a committed one again":      {before: append(append([]request{}, committed...), stage("b", base1, "HELLO "), kinds("<Committed>"+base1+"</Committed><Latest>"+base1+"</Latest>")), call: get("b", nil), status: 200, has: []string{"hello HELLO "}},
		"block list: uncommitted, is committed":  {before: committed, call: kinds("<Uncommitted>" + base1 + "</Uncommitted>"), status: 400, code: "InvalidBlockList"},
		"block list: committed, is not":          {before: two, call: kinds("<Committed>" + base1 + "</Committed>"), status: 400, code: "InvalidBlockList"},
		"block list: an element unknown":         {before: two, call: kinds("<Newest>" + base1 + "</Newest>"), status: 400},
		"block list: no XML":                     {before: two, call: set("b", "blocklist", nil, "blocks"), status: 400, code: "InvalidXmlDocument"},
		"block list: an ID that is empty":        {before: two, call: commitBlocks("b"), status: 400},
		"block list: forgets what it leaves out": {before: append(append([]request{}, two...), commitBlocks("b", base1)), call: blocks("all"), status: 200, has: []string{"<Name>" + base1}, hasNot: []string{block2}},
		"blocks: committed":                      {before: committed, call: blocks("committed"), status: 200, has: []string{"<CommittedBlocks><Block><Name>" + base1 + "</Name><Size>6</Size>"}},
		"blocks: uncommitted":                    {before: two, call: blocks("uncommitted"), status: 200, has: []string{"<UncommittedBlocks>", base1, block2}},
		"blocks: of a kind unknown":              {before: committed, call: blocks("latest"), status: 400},
		"blocks: with the ID of no lease":        {before: committed, call: request{method: "GET", blob: "b", query: comp + "blocklist", headers: headers{"X-Ms-Lease-Id": leaseA}}, status: 412, code: "LeaseNotPresentWithBlobOperation"},
		"blocks: of nothing":                     {call: blocks("all"), status: 404, code: "BlobNotFound"},
		"blocks: Put Blob ends the staged ones":  {before: append(append([]request{}, two...), put("b", "x")), call: blocks("all"), status: 200, hasNot: []string{base1}},
	}
}

// appendRows follow "Append Block" and "Append Blob Seal".
func appendRows() map[string]behaviour {
	made := []request{put("b", "", headers{"X-Ms-Blob-Type": "AppendBlob"})}
	grown := append(append([]request{}, made...), set("b", "appendblock", nil, "hello"))
	sealed := append(append([]request{}, grown...), set("b", "seal", nil, ""))
	more := func(with headers) request { return set("b", "appendblock", with, " world") }
	return map[string]behaviour{
		"append: made with a body":           {call: put("b", "x", headers{"X-Ms-Blob-Type": "AppendBlob"}), status: 400},
		"append: says where":                 {before: grown, call: more(nil), status: 201, headers: headers{"X-Ms-Blob-Append-Offset": "5", "X-Ms-Blob-Committed-Block-Count": "2"}},
		"append: what it has":                {before: grown, call: get("b", nil), status: 200, has: []string{"hello"}, headers: headers{"X-Ms-Blob-Type": "AppendBlob", "X-Ms-Blob-Committed-Block-Count": "1"}},
		"append: to nothing":                 {call: more(nil), status: 404, code: "BlobNotFound"},
		"append: to a block blob":            {before: []request{put("b", "x")}, call: more(nil), status: 409, code: "InvalidBlobType"},
		"append: at the right place":         {before: grown, call: more(headers{"X-Ms-Blob-Condition-Appendpos": "5"}), status: 201},
		"append: at another place":           {before: grown, call: more(headers{"X-Ms-Blob-Condition-Appendpos": "4"}), status: 412, code: "AppendPositionConditionNotMet"},
		"append: at a place that is none":    {before: grown, call: more(headers{"X-Ms-Blob-Condition-Appendpos": "end"}), status: 400},
		"append: from a URL":                 {before: append(append([]request{}, grown...), put("a", " world"), set("b", "appendblock", headers{"X-Ms-Copy-Source": "{url}/a"}, "")), call: get("b", nil), status: 200, has: []string{"hello world"}},
		"append: after a lease that broke":   {before: append(append([]request{}, grown...), acquireFor("b", leaseA, "-1"), leaseOf("b", "break", "", "", headers{"X-Ms-Lease-Break-Period": "0"}), more(nil)), call: leaseOf("b", "release", leaseA, "", nil), status: 409},
		"append: sealed at another place":    {before: grown, call: set("b", "seal", headers{"X-Ms-Blob-Condition-Appendpos": "4"}, ""), status: 412},
		"append: sealed again":               {before: sealed, call: set("b", "seal", nil, ""), status: 200, headers: headers{"X-Ms-Blob-Sealed": "true"}},
		"append: beyond what is allowed":     {before: grown, call: more(headers{"X-Ms-Blob-Condition-Maxsize": "10"}), status: 412, code: "MaxBlobSizeConditionNotMet"},
		"append: up to what is allowed":      {before: grown, call: more(headers{"X-Ms-Blob-Condition-Maxsize": "11"}), status: 201},
		"append: a wrong checksum":           {before: grown, call: more(headers{"Content-Md5": "AAAAAAAAAAAAAAAAAAAAAA=="}), status: 400, code: "Md5Mismatch"},
		"append: with another ETag":          {before: grown, call: more(headers{"If-Match": otherTag}), status: 412, code: "ConditionNotMet"},
		"append: to a sealed one":            {before: sealed, call: more(nil), status: 409, code: "BlobIsSealed"},
		"append: sealed is shown":            {before: sealed, call: head("b", nil), status: 200, headers: headers{"X-Ms-Blob-Sealed": "true"}},
		"append: a block blob is not sealed": {before: []request{put("b", "x")}, call: set("b", "seal", nil, ""), status: 409, code: "InvalidBlobType"},
	}
}

// copyRows follow "Copy Blob" and "Copy Blob From URL". Sources are signed by the account.
func copyRows() map[string]behaviour {
	there := []request{put("a", "hello", headers{"X-Ms-Meta-Color": "amber", "X-Ms-Blob-Content-Type": "text/x-a"})}
	from := func(source string, extra headers) request {
		with := headers{"X-Ms-Copy-Source": "{url}/" + source}
		maps.Copy(with, extra)
		return request{method: "PUT", blob: "b", headers: with}
	}
	done := append(append([]request{}, there...), from("a", nil))
	return map[string]behaviour{
		"copy: response":                     {before: there, call: from("a", nil), status: 202, headers: headers{"X-Ms-Copy-Id": "*", "X-Ms-Copy-Status": "success"}},
		"copy: what it has":                  {before: done, call: get("b", nil), status: 200, has: []string{"hello"}, headers: headers{"X-Ms-Meta-Color": "amber", "Content-Type": "text/x-a", "X-Ms-Copy-Status": "success", "X-Ms-Copy-Progress": "5/5"}},
		"copy: metadata in place of its own": {before: append(append([]request{}, there...), from("a", headers{"X-Ms-Meta-Size": "big"})), call: head("b", nil), status: 200, headers: headers{"X-Ms-Meta-Color": "", "X-Ms-Meta-Size": "big"}},
		"copy: of nothing":                   {call: from("a", nil), status: 404},
		"copy: a source that is no URL":      {before: there, call: request{method: "PUT", blob: "b", headers: headers{"X-Ms-Copy-Source": "a"}}, status: 400},
		"copy: source condition holds":       {before: there, call: from("a", headers{"X-Ms-Source-If-Match": "{etag}"}), status: 202},
		"copy: source condition does not":    {before: there, call: from("a", headers{"X-Ms-Source-If-Match": otherTag}), status: 412},
		"copy: the tier does not come along": {before: []request{put("a", "hello", headers{"X-Ms-Access-Tier": "Cool"}), from("a", nil)}, call: head("b", nil), status: 200, headers: headers{"X-Ms-Access-Tier": "Hot"}},
		"copy: the tier of what was there":   {before: []request{put("a", "hello"), put("b", "x", headers{"X-Ms-Access-Tier": "Cool"}), from("a", nil)}, call: head("b", nil), status: 200, headers: headers{"X-Ms-Access-Tier": "Cool"}},
		"copy: over an archived blob":        {before: []request{put("a", "hello"), put("b", "x", headers{"X-Ms-Access-Tier": "Archive"})}, call: from("a", nil), status: 409},
		"copy: the tags do not come along":   {before: []request{put("a", "hello", headers{"X-Ms-Tags": "team=a"}), from("a", nil)}, call: request{method: "GET", blob: "b", query: comp + "tags"}, status: 200, hasNot: []string{"team"}},
		"copy: the tags, if asked for":       {before: []request{put("a", "hello", headers{"X-Ms-Tags": "team=a"}), from("a", headers{"X-Ms-Copy-Source-Tag-Option": "COPY", "X-Ms-Requires-Sync": "true"})}, call: request{method: "GET", blob: "b", query: comp + "tags"}, status: 200, has: []string{"<Key>team</Key><Value>a</Value>"}},
		"copy: in a listing":                 {before: done, call: list("&include=copy"), status: 200, has: []string{"<CopyStatus>success</CopyStatus>", "<CopyProgress>5/5</CopyProgress>"}},
		"copy: forgotten with properties":    {before: append(append([]request{}, done...), set("b", "properties", headers{"X-Ms-Blob-Content-Type": "text/x-b"}, "")), call: head("b", nil), status: 200, headers: headers{"X-Ms-Copy-Status": ""}},
		"copy: tags of both":                 {before: []request{put("a", "hello", headers{"X-Ms-Tags": "team=a"})}, call: from("a", headers{"X-Ms-Copy-Source-Tag-Option": "COPY", "X-Ms-Requires-Sync": "true", "X-Ms-Tags": "team=b"}), status: 409},
		"copy: of an archived blob":          {before: append(append([]request{}, there...), set("a", "tier", headers{"X-Ms-Access-Tier": "Archive"}, "")), call: from("a", nil), status: 409},
		"put from a URL: what it has":        {before: append(append([]request{}, there...), from("a", headers{"X-Ms-Blob-Type": "BlockBlob", "X-Ms-Blob-Cache-Control": "private"})), call: get("b", nil), status: 200, has: []string{"hello"}, headers: headers{"Content-Type": "text/x-a", "Cache-Control": "private", "X-Ms-Copy-Id": ""}},
		"put from a URL: properties of none": {before: append(append([]request{}, there...), from("a", headers{"X-Ms-Blob-Type": "BlockBlob", "X-Ms-Copy-Source-Blob-Properties": "false"})), call: head("b", nil), status: 200, headers: headers{"Content-Type": "application/octet-stream"}},
		"put from a URL: its checksum":       {before: there, call: from("a", headers{"X-Ms-Blob-Type": "BlockBlob", "X-Ms-Source-Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}), status: 201, headers: headers{"X-Ms-Copy-Id": ""}},
		"put from a URL: a wrong checksum":   {before: there, call: from("a", headers{"X-Ms-Blob-Type": "BlockBlob", "X-Ms-Source-Content-Md5": "AAAAAAAAAAAAAAAAAAAAAA=="}), status: 400},
		"put from a URL: of another type":    {before: there, call: from("a", headers{"X-Ms-Blob-Type": "LongBlob"}), status: 400},
		"copy: none to abort":                {before: done, call: set("b", "copy&copyid="+leaseA, headers{"X-Ms-Copy-Action": "abort"}, ""), status: 409, code: "NoPendingCopyOperation"},
		"copy: abort without saying so":      {before: done, call: set("b", "copy&copyid="+leaseA, nil, ""), status: 400},
		"copy: only if new, there":           {before: append(append([]request{}, there...), put("b", "x")), call: from("a", headers{"If-None-Match": "*"}), status: 409},
		"copy: over a leased blob":           {before: append(append([]request{}, there...), put("b", "x"), acquireFor("b", leaseA, "-1")), call: from("a", nil), status: 412, code: "LeaseIdMissing"},
		"copy: over one leased for a time":   {before: append(append([]request{}, there...), put("b", "x"), acquireFor("b", leaseA, "60")), call: from("a", headers{"X-Ms-Lease-Id": leaseA}), status: 412},
		"copy: over one leased for ever":     {before: append(append([]request{}, there...), put("b", "x"), acquireFor("b", leaseA, "-1")), call: from("a", headers{"X-Ms-Lease-Id": leaseA}), status: 202},
		"copy: the source does not change":   {before: append(append([]request{}, done...), put("a", "other")), call: get("b", nil), status: 200, has: []string{"hello"}},
	}
}

// propertyRows follow "Set Blob Metadata", "Set Blob Properties", "Get Blob Tags" and "Set Blob Tags".
func propertyRows() map[string]behaviour {
	there := []request{put("b", "hello", headers{"X-Ms-Meta-Color": "amber", "X-Ms-Blob-Content-Type": "text/x-a", "X-Ms-Blob-Cache-Control": "no-cache"})}
	after := func(call request) []request { return append(append([]request{}, there...), call) }
	tags := func(pairs ...string) string {
		text := ""
		for i := 0; i < len(pairs); i += 2 {
			text += "<Tag><Key>" + pairs[i] + "</Key><Value>" + pairs[i+1] + "</Value></Tag>"
		}
		return "<Tags><TagSet>" + text + "</TagSet></Tags>"
	}
	var eleven []string
	for i := range 11 {
		eleven = append(eleven, fmt.Sprintf("k%d", i), "v")
	}
	read := request{method: "GET", blob: "b", query: comp + "tags"}
	return map[string]behaviour{
		"metadata: replaced as a whole":            {before: after(set("b", "metadata", headers{"X-Ms-Meta-Size": "big"}, "")), call: head("b", nil), status: 200, headers: headers{"X-Ms-Meta-Size": "big", "X-Ms-Meta-Color": "", "Content-Type": "text/x-a"}},
		"metadata: of nothing":                     {call: set("b", "metadata", nil, ""), status: 404, code: "BlobNotFound"},
		"metadata: alone":                          {before: there, call: request{method: "GET", blob: "b", query: comp + "metadata"}, status: 200, headers: headers{"X-Ms-Meta-Color": "amber", "ETag": "{etag}"}},
		"properties: one set, the others go":       {before: after(set("b", "properties", headers{"X-Ms-Blob-Content-Type": "text/x-b"}, "")), call: head("b", nil), status: 200, headers: headers{"Content-Type": "text/x-b", "Cache-Control": "", "X-Ms-Meta-Color": "amber"}},
		"properties: a type that is left out":      {before: after(set("b", "properties", headers{"X-Ms-Blob-Cache-Control": "private"}, "")), call: get("b", nil), status: 200, headers: headers{"Content-Type": "", "Cache-Control": "private"}},
		"properties: of nothing":                   {call: set("b", "properties", nil, ""), status: 404, code: "BlobNotFound"},
		"tags: none":                               {before: there, call: read, status: 200, hasNot: []string{"<Key>"}},
		"tags: set and read":                       {before: after(set("b", "tags", nil, tags("team", "a", "stage", "prod"))), call: read, status: 200, has: []string{"<Key>team</Key><Value>a</Value>", "<Key>stage</Key>"}},
		"tags: counted":                            {before: after(set("b", "tags", nil, tags("team", "a", "stage", "prod"))), call: head("b", nil), status: 200, headers: headers{"X-Ms-Tag-Count": "2"}},
		"tags: at the upload":                      {before: []request{put("b", "x", headers{"X-Ms-Tags": "team=a&stage=prod"})}, call: read, status: 200, has: []string{"<Key>team</Key><Value>a</Value>"}},
		"tags: a new upload has none":              {before: []request{put("b", "x", headers{"X-Ms-Tags": "team=a"}), put("b", "y")}, call: read, status: 200, hasNot: []string{"<Key>"}},
		"tags: more than ten":                      {before: there, call: set("b", "tags", nil, tags(eleven...)), status: 400},
		"tags: a sign that tags cannot have":       {before: there, call: set("b", "tags", nil, tags("team", "a#b")), status: 400, code: "InvalidTag"},
		"tags: one without a name":                 {before: there, call: set("b", "tags", nil, tags("", "a")), status: 400},
		"tags: a wrong checksum":                   {before: there, call: set("b", "tags", headers{"Content-Md5": "AAAAAAAAAAAAAAAAAAAAAA=="}, tags("team", "a")), status: 400, code: "Md5Mismatch"},
		"tags: no XML":                             {before: there, call: set("b", "tags", nil, "team=a"), status: 400, code: "InvalidXmlDocument"},
		"tags: of nothing":                         {call: read, status: 404, code: "BlobNotFound"},
		"tags: they leave the ETag as it is":       {before: after(set("b", "tags", nil, tags("team", "a"))), call: get("b", headers{"If-Match": "{etag}"}), status: 200},
		"metadata: they change the ETag":           {before: after(set("b", "metadata", nil, "")), call: get("b", headers{"If-Match": otherTag}), status: 412},
		"tier: it leaves metadata as they are":     {before: after(set("b", "tier", headers{"X-Ms-Access-Tier": "Cool"}, "")), call: head("b", nil), status: 200, headers: headers{"X-Ms-Meta-Color": "amber"}},
		"properties: parameters override a header": {before: there, call: request{method: "GET", blob: "b"}, status: 200, headers: headers{"Content-Type": "text/x-a"}},
	}
}

// containerRows follow "Create Container", "Get Container Properties", "Set Container Metadata", "Delete Container" and
// "Naming and Referencing Containers, Blobs, and Metadata".
func containerRows() map[string]behaviour {
	meta := request{method: "PUT", query: ofType + "&" + comp + "metadata", headers: headers{"X-Ms-Meta-Team": "a"}}
	return map[string]behaviour{
		"container: made again":               {call: request{method: "PUT", query: ofType}, status: 409, code: "ContainerAlreadyExists"},
		"container: metadata":                 {before: []request{meta}, call: request{method: "GET", query: ofType}, status: 200, headers: headers{"X-Ms-Meta-Team": "a"}},
		"container: metadata, HEAD":           {before: []request{meta}, call: request{method: "HEAD", query: ofType}, status: 200, headers: headers{"X-Ms-Meta-Team": "a", "ETag": "{etag}"}},
		"container: metadata by comp":         {before: []request{meta}, call: request{method: "GET", query: ofType + "&" + comp + "metadata"}, status: 200, headers: headers{"X-Ms-Meta-Team": "a"}},
		"container: metadata replaced":        {before: []request{meta, {method: "PUT", query: ofType + "&" + comp + "metadata"}}, call: request{method: "GET", query: ofType}, status: 200, headers: headers{"X-Ms-Meta-Team": ""}},
		"container: metadata with a bad name": {call: request{method: "PUT", query: ofType + "&" + comp + "metadata", headers: headers{"X-Ms-Meta-A-B": "1"}}, status: 400, code: "InvalidMetadata"},
		"container: what it has":              {call: request{method: "GET", query: ofType}, status: 200, headers: headers{"X-Ms-Has-Immutability-Policy": "false", "X-Ms-Has-Legal-Hold": "false", "X-Ms-Lease-State": "available", "X-Ms-Lease-Status": "unlocked"}},
		"container: deleted with blobs":       {before: []request{put("b", "x")}, call: request{method: "DELETE", query: ofType}, status: 202},
		"container: absent, HEAD":             {before: []request{{method: "DELETE", query: ofType}}, call: request{method: "HEAD", query: ofType}, status: 404},
	}
}

// accountRows follow "List Containers" and "Get Account Information".
func accountRows() map[string]behaviour {
	all := func(query string) request { return request{method: "GET", blob: "/", query: comp + "list" + query} }
	return map[string]behaviour{
		"account: its containers":              {call: all("&prefix=talk-"), status: 200, has: []string{"<Containers><Container><Name>talk-"}},
		"account: containers by a prefix":      {call: all("&prefix=nothing-like-it"), status: 200, hasNot: []string{"<Container>"}},
		"account: a page of containers":        {call: all("&prefix=talk-&maxresults=1"), status: 200, has: []string{"<MaxResults>1</MaxResults>"}},
		"account: containers with metadata":    {before: []request{{method: "PUT", query: ofType + "&" + comp + "metadata", headers: headers{"X-Ms-Meta-Team": "unlike-others"}}}, call: all("&prefix=talk-&include=metadata"), status: 200, has: []string{"<team>unlike-others</team>"}},
		"account: containers without metadata": {call: all("&prefix=talk-"), status: 200, hasNot: []string{"unlike-others"}},
		"account: containers, maxresults 0":    {call: all("&maxresults=0"), status: 400, code: "OutOfRangeQueryParameterValue"},
		"account: containers, a word unknown":  {call: all("&include=colours"), status: 400, code: "InvalidQueryParameterValue"},
		"account: information":                 {call: request{method: "GET", blob: "/", query: "restype=account&" + comp + "properties"}, status: 200, headers: headers{"X-Ms-Sku-Name": "*", "X-Ms-Account-Kind": "*"}},
		"account: information of a container":  {call: request{method: "GET", query: "restype=account&" + comp + "properties"}, status: 200, headers: headers{"X-Ms-Account-Kind": "*"}},
		"account: information of a blob":       {before: []request{put("b", "x")}, call: request{method: "GET", blob: "b", query: "restype=account&" + comp + "properties"}, status: 200, headers: headers{"X-Ms-Account-Kind": "*"}},
	}
}
