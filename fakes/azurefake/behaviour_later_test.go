// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"maps"
	"slices"
)

// then returns a conversation followed by more requests.
func then(before []request, more ...request) []request { return slices.Concat(before, more) }

func tierOf(name, tier string, extra headers) request {
	with := headers{"X-Ms-Access-Tier": tier}
	maps.Copy(with, extra)
	return set(name, "tier", with, "")
}

// archiveRows follow "Set Blob Tier", whose table contains the outcomes, "Copying an archived blob" of Copy Blob,
// "Get Blob Properties", and "Access tiers for blob data": "For blobs in archive, the only valid operations are Get
// Blob Properties, Get Blob Metadata, Set Blob Tags, Get Blob Tags, Find Blobs by Tags, List Blobs, Set Blob Tier,
// Copy Blob, and Delete Blob".
func archiveRows() map[string]behaviour {
	archived := []request{put("b", "text", headers{"X-Ms-Meta-Color": "amber"}), tierOf("b", "Archive", nil)}
	toHot, toCool := then(archived, tierOf("b", "Hot", nil)), then(archived, tierOf("b", "Cool", nil))
	copyTo := func(tier string, extra headers) request {
		with := headers{"X-Ms-Copy-Source": "{url}/b"}
		if tier != "" {
			with["X-Ms-Access-Tier"] = tier
		}
		maps.Copy(with, extra)
		return request{method: "PUT", blob: "c", headers: with}
	}
	pending := headers{"X-Ms-Access-Tier": "Archive", "X-Ms-Archive-Status": "rehydrate-pending-to-cool", "X-Ms-Rehydrate-Priority": "Standard"}
	out := map[string]behaviour{
		"archive: hot, to archive":            {before: archived[:1], call: tierOf("b", "Archive", nil), status: 200},
		"archive: again to archive":           {before: archived, call: tierOf("b", "Archive", nil), status: 200},
		"archive: to hot":                     {before: archived, call: tierOf("b", "Hot", nil), status: 202},
		"archive: to cool":                    {before: archived, call: tierOf("b", "Cool", nil), status: 202},
		"archive: on the way, to the same":    {before: toHot, call: tierOf("b", "Hot", nil), status: 202},
		"archive: on the way, to another":     {before: toHot, call: tierOf("b", "Cool", nil), status: 409, code: "BlobBeingRehydrated"},
		"archive: on the way, and back":       {before: toCool, call: tierOf("b", "Archive", nil), status: 409, code: "BlobBeingRehydrated"},
		"archive: is shown":                   {before: archived, call: head("b", nil), status: 200, headers: headers{"X-Ms-Access-Tier": "Archive", "X-Ms-Archive-Status": ""}},
		"archive: the way is shown":           {before: toCool, call: head("b", nil), status: 200, headers: pending},
		"archive: the way to cold is shown":   {before: then(archived, tierOf("b", "Cold", nil)), call: head("b", nil), status: 200, headers: headers{"X-Ms-Archive-Status": "rehydrate-pending-to-cold"}},
		"archive: the way in a listing":       {before: toHot, call: list(""), status: 200, has: []string{"<AccessTier>Archive</AccessTier>", "<ArchiveStatus>rehydrate-pending-to-hot</ArchiveStatus>", "<RehydratePriority>Standard</RehydratePriority>"}},
		"archive: read":                       {before: archived, call: get("b", nil), status: 409, code: "BlobArchived"},
		"archive: read on the way":            {before: toHot, call: get("b", nil), status: 409, code: "BlobBeingRehydrated"},
		"archive: with a high priority":       {before: then(archived, tierOf("b", "Hot", headers{"X-Ms-Rehydrate-Priority": "High"})), call: head("b", nil), status: 200, headers: headers{"X-Ms-Rehydrate-Priority": "High"}},
		"archive: the priority is raised":     {before: then(toHot, tierOf("b", "Hot", headers{"X-Ms-Rehydrate-Priority": "High"})), call: head("b", nil), status: 200, headers: headers{"X-Ms-Rehydrate-Priority": "High"}},
		"archive: the priority is not lower":  {before: then(archived, tierOf("b", "Hot", headers{"X-Ms-Rehydrate-Priority": "High"}), tierOf("b", "Hot", nil)), call: head("b", nil), status: 200, headers: headers{"X-Ms-Rehydrate-Priority": "High"}},
		"archive: a priority that is none":    {before: archived, call: tierOf("b", "Hot", headers{"X-Ms-Rehydrate-Priority": "Soon"}), status: 400, code: "InvalidHeaderValue"},
		"archive: copied to an online tier":   {before: archived, call: copyTo("Cool", nil), status: 202},
		"archive: the copy is on the way":     {before: then(archived, copyTo("Cool", nil)), call: head("c", nil), status: 200, headers: pending},
		"archive: the copy of high priority":  {before: then(archived, copyTo("Cool", headers{"X-Ms-Rehydrate-Priority": "High"})), call: head("c", nil), status: 200, headers: headers{"X-Ms-Rehydrate-Priority": "High"}},
		"archive: the copied one stays":       {before: then(archived, copyTo("Cool", nil)), call: head("b", nil), status: 200, headers: headers{"X-Ms-Access-Tier": "Archive", "X-Ms-Archive-Status": ""}},
		"archive: copied without a tier":      {before: archived, call: copyTo("", nil), status: 409, code: "BlobArchived"},
		"archive: copied to the archive":      {before: archived, call: copyTo("Archive", nil), status: 409},
		"archive: copied on the way":          {before: toHot, call: copyTo("Cool", nil), status: 409, code: "BlobBeingRehydrated"},
		"archive: put from its URL":           {before: archived, call: copyTo("Hot", headers{"X-Ms-Blob-Type": "BlockBlob"}), status: 409, code: "BlobArchived"},
		"archive: a block from its URL":       {before: archived, call: set("c", "block&blockid="+base1, headers{"X-Ms-Copy-Source": "{url}/b"}, ""), status: 409, code: "BlobArchived"},
		"archive: a snapshot does not return": {before: then([]request{put("b", "text"), set("b", "snapshot", nil, "")}, set("b", "tier&snapshot={snapshot}", headers{"X-Ms-Access-Tier": "Archive"}, "")), call: set("b", "tier&snapshot={snapshot}", headers{"X-Ms-Access-Tier": "Hot"}, ""), status: 409},
		"archive: nor in place of its blob":   {before: then([]request{put("b", "text"), set("b", "snapshot", nil, "")}, set("b", "tier&snapshot={snapshot}", headers{"X-Ms-Access-Tier": "Archive"}, "")), call: request{method: "PUT", blob: "b", headers: headers{"X-Ms-Copy-Source": "{url}/b?snapshot={snapshot}", "X-Ms-Access-Tier": "Hot"}}, status: 409},
		"tier: of what was overwritten":       {before: []request{put("b", "text", headers{"X-Ms-Access-Tier": "Cool"}), put("b", "new")}, call: head("b", nil), status: 200, headers: headers{"X-Ms-Access-Tier": "Cool"}},
	}
	tags := "<Tags><TagSet></TagSet></Tags>"
	for what, row := range map[string]behaviour{
		"metadata read":  {call: request{method: "GET", blob: "b", query: comp + "metadata"}, status: 200},
		"tags read":      {call: request{method: "GET", blob: "b", query: comp + "tags"}, status: 200},
		"tags set":       {call: set("b", "tags", nil, tags), status: 204},
		"deleted":        {call: request{method: "DELETE", blob: "b"}, status: 202},
		"listed":         {call: list(""), status: 200, has: []string{"<Name>b</Name>"}},
		"overwritten":    {call: put("b", "new"), status: 409},
		"metadata set":   {call: set("b", "metadata", nil, ""), status: 409},
		"properties set": {call: set("b", "properties", nil, ""), status: 409},
		"a snapshot":     {call: set("b", "snapshot", nil, ""), status: 409},
		"a block":        {call: stage("b", base1, "x"), status: 409},
		"a block list":   {call: set("b", "blocklist", nil, "<BlockList></BlockList>"), status: 409},
		"blocks read":    {call: request{method: "GET", blob: "b", query: comp + "blocklist"}, status: 409},
		"leased":         {call: acquireFor("b", leaseA, "15"), status: 409},
	} {
		for state, before := range map[string][]request{"archived": archived, "on the way": toHot} {
			row.before = before
			if row.status == 409 {
				row.code = map[string]string{"archived": "BlobArchived", "on the way": "BlobBeingRehydrated"}[state]
			}
			out["archive, "+state+": "+what] = row
		}
	}
	return out
}

// sealRows follow "Copy Blob" and what azblob's tests TestCopySealedBlob and TestCopyUnsealedBlob recorded of the service.
func sealRows() map[string]behaviour {
	open := []request{put("a", "", headers{"X-Ms-Blob-Type": "AppendBlob"}), set("a", "appendblock", nil, "hello")}
	sealed := then(open, set("a", "seal", nil, ""))
	from := func(extra headers) request {
		with := headers{"X-Ms-Copy-Source": "{url}/a"}
		maps.Copy(with, extra)
		return request{method: "PUT", blob: "b", headers: with}
	}
	shown := func(text string) headers { return headers{"X-Ms-Blob-Sealed": text} }
	more := set("b", "appendblock", nil, " world")
	return map[string]behaviour{
		"seal: a copy of a sealed blob":              {before: then(sealed, from(nil)), call: head("b", nil), status: 200, headers: shown("true")},
		"seal: appended to the copy":                 {before: then(sealed, from(nil)), call: more, status: 409, code: "BlobIsSealed"},
		"seal: a copy that shall be sealed":          {before: then(sealed, from(headers{"X-Ms-Seal-Blob": "true"})), call: more, status: 409, code: "BlobIsSealed"},
		"seal: a copy that shall not be sealed":      {before: then(sealed, from(headers{"X-Ms-Seal-Blob": "false"})), call: more, status: 201, headers: headers{"X-Ms-Blob-Append-Offset": "5"}},
		"seal: a copy of an open blob":               {before: then(open, from(nil)), call: head("b", nil), status: 200, headers: shown("")},
		"seal: a sealed copy of an open blob":        {before: then(open, from(headers{"X-Ms-Seal-Blob": "true"})), call: head("b", nil), status: 200, headers: shown("true")},
		"seal: a sealed copy of a block blob":        {before: []request{put("a", "hello")}, call: from(headers{"X-Ms-Seal-Blob": "true"}), status: 400, code: "InvalidHeaderValue"},
		"seal: what is neither true nor false":       {before: open, call: from(headers{"X-Ms-Seal-Blob": "yes"}), status: 400, code: "InvalidHeaderValue"},
		"seal: a copy from a URL has no such header": {before: open, call: from(headers{"X-Ms-Seal-Blob": "true", "X-Ms-Requires-Sync": "true"}), status: 400, code: "UnsupportedHeader", has: []string{"x-ms-seal-blob"}},
	}
}

// secondaryRows follow "Authorize with Shared Key", "Get Blob Service Stats" and "Common REST API error codes", where writes
// to the secondary location are not allowed.
func secondaryRows() map[string]behaviour {
	there := []request{put("b", "hello")}
	away := func(call request) request {
		call.secondary = true
		return call
	}
	const refused = "InsufficientAccountPermissions"
	stats := request{method: "GET", blob: "/", query: "restype=service&" + comp + "stats"}
	return map[string]behaviour{
		"secondary: a blob is read":                    {before: there, call: away(get("b", nil)), status: 200, has: []string{"hello"}},
		"secondary: its properties":                    {before: there, call: away(head("b", nil)), status: 200, headers: headers{"ETag": "{etag}"}},
		"secondary: an absent blob":                    {call: away(get("b", nil)), status: 404, code: "BlobNotFound"},
		"secondary: a listing":                         {before: there, call: away(list("")), status: 200, has: []string{"<Name>b</Name>", "-secondary/"}},
		"secondary: containers":                        {call: away(request{method: "GET", blob: "/", query: comp + "list&prefix=talk-"}), status: 200, has: []string{"<Name>talk-"}},
		"secondary: a container's properties":          {call: away(request{method: "GET", query: ofType}), status: 200},
		"secondary: a blob is written":                 {call: away(put("b", "hello")), status: 403, code: refused},
		"secondary: a blob is deleted":                 {before: there, call: away(request{method: "DELETE", blob: "b"}), status: 403, code: refused},
		"secondary: metadata are set":                  {before: there, call: away(set("b", "metadata", nil, "")), status: 403, code: refused},
		"secondary: a lease":                           {before: there, call: away(acquireFor("b", leaseA, "15")), status: 403, code: refused},
		"secondary: a container is deleted":            {call: away(request{method: "DELETE", query: ofType}), status: 403, code: refused},
		"secondary: properties of the service are set": {call: away(request{method: "PUT", blob: "/", query: "restype=service&" + comp + "properties", body: "<StorageServiceProperties></StorageServiceProperties>"}), status: 403, code: refused},
		"secondary: a copy of what it has":             {before: there, call: request{method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/b"}}, status: 202},
		"stats: of the secondary":                      {call: away(stats), status: 200, has: []string{"<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>"}},
		"stats: of the primary":                        {call: stats, status: 400, code: "InvalidQueryParameterValue"},
	}
}

// serviceRows follow "Get Blob Service Properties" and "Set Blob Service Properties".
func serviceRows() map[string]behaviour {
	read := request{method: "GET", blob: "/", query: "restype=service&" + comp + "properties"}
	write := func(elements string) request {
		return request{method: "PUT", blob: "/", query: "restype=service&" + comp + "properties", body: "<StorageServiceProperties>" + elements + "</StorageServiceProperties>"}
	}
	const retention = "<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy>"
	logging := "<Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>true</Write>" + retention + "</Logging>"
	metrics := "<HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>false</IncludeAPIs>" + retention + "</HourMetrics>"
	refused := func(elements, code string, has ...string) behaviour {
		return behaviour{call: write(elements), status: 400, code: code, has: has}
	}
	return map[string]behaviour{
		"service: its properties":               {call: read, status: 200, has: []string{"<StorageServiceProperties>", "<Logging><Version>1.0</Version>", "<HourMetrics>", "<MinuteMetrics>", "<DeleteRetentionPolicy><Enabled>false</Enabled>", "<StaticWebsite><Enabled>false</Enabled>"}},
		"service: properties set":               {call: write(logging + metrics), status: 202},
		"service: properties set and read":      {before: []request{write(logging + metrics)}, call: read, status: 200, has: []string{logging, metrics}},
		"service: what is left out stays":       {before: []request{write(logging), write(metrics)}, call: read, status: 200, has: []string{logging, metrics}},
		"service: nothing set":                  {call: write(""), status: 202},
		"service: soft delete and websites off": {call: write("<Cors></Cors><DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy><StaticWebsite><Enabled>false</Enabled></StaticWebsite>"), status: 202},
		"service: an element unknown":           refused("<Colours></Colours>", "UnsupportedXmlNode"),
		"service: no XML":                       {call: request{method: "PUT", blob: "/", query: "restype=service&" + comp + "properties", body: "properties"}, status: 400, code: "InvalidXmlDocument"},
		"service: logging without a part":       refused("<Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read>"+retention+"</Logging>", "MissingRequiredXmlNode"),
		"service: metrics without APIs":         refused("<HourMetrics><Version>1.0</Version><Enabled>true</Enabled>"+retention+"</HourMetrics>", "MissingRequiredXmlNode"),
		"service: retention without days":       refused("<MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>true</Enabled></RetentionPolicy></MinuteMetrics>", "InvalidXmlDocument"),
		"service: retention of 366 days":        refused("<MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>true</Enabled><Days>366</Days></RetentionPolicy></MinuteMetrics>", "InvalidXmlDocument"),
		"service: a version of the future":      refused("<DefaultServiceVersion>2099-01-01</DefaultServiceVersion>", "InvalidXmlNodeValue"),
		"service: a wrong checksum":             {call: request{method: "PUT", blob: "/", query: "restype=service&" + comp + "properties", headers: headers{"Content-Md5": "AAAAAAAAAAAAAAAAAAAAAA=="}, body: "<StorageServiceProperties></StorageServiceProperties>"}, status: 400, code: "Md5Mismatch"},
		"not served: static websites":           refused("<StaticWebsite><Enabled>true</Enabled></StaticWebsite>", "NotImplemented", "static websites"),
	}
}

// unreadRows have what operations do not read, which is refused by its name: TestEveryParameter has all of it. Others are
// where a parameter was read by some of the operations that have it.
func unreadRows() map[string]behaviour {
	there := []request{put("b", "hello", headers{"X-Ms-Tags": "team=red"})}
	staged := []request{stage("b", base1, "hello")}
	later := headers{"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}
	scoped := []request{put("b", "hello", headers{"X-Ms-Encryption-Scope": "ours"})}
	other := headers{"X-Ms-Encryption-Scope": "theirs"}
	const mismatch = "BlobCustomerSpecifiedEncryptionMismatch"
	return map[string]behaviour{
		"unread: a condition of Put Block":         {call: set("b", "block&blockid="+base1, headers{"If-Match": otherTag}, "x"), status: 400, code: "UnsupportedHeader", has: []string{"if-match of PutBlock."}},
		"unread: a range of a deletion":            {before: there, call: request{method: "DELETE", blob: "b", headers: headers{"X-Ms-Range": "bytes=0-1"}}, status: 400, code: "UnsupportedHeader", has: []string{"x-ms-range"}},
		"unread: If-Range":                         {before: there, call: get("b", headers{"If-Range": otherTag}), status: 400, code: "UnsupportedHeader", has: []string{"if-range"}},
		"unread: a header that nobody knows":       {call: put("b", "x", headers{"X-Ms-Aspect": "1"}), status: 400, code: "UnsupportedHeader", has: []string{"x-ms-aspect"}},
		"unread: a parameter that nobody knows":    {before: there, call: request{method: "GET", blob: "b", query: "aspect=1"}, status: 400, code: "UnsupportedQueryParameter", has: []string{"aspect"}},
		"unread: a parameter against caches":       {before: there, call: request{method: "GET", blob: "b", query: "_=1690000000"}, status: 200},
		"unread: a time limit that is none":        {before: there, call: request{method: "GET", blob: "b", query: "timeout=soon"}, status: 400, code: "InvalidQueryParameterValue"},
		"unread: an ETag of a container":           {call: request{method: "DELETE", query: ofType, headers: headers{"If-Match": otherTag}}, status: 400, code: "UnsupportedHeader"},
		"unread: a lease's length, to renew it":    {before: then(there, acquireFor("b", leaseA, "-1")), call: leaseOf("b", "renew", leaseA, "", headers{"X-Ms-Lease-Duration": "15"}), status: 400, code: "UnsupportedHeader"},
		"unread: legal holds":                      {call: put("b", "x", headers{"X-Ms-Legal-Hold": "true"}), status: 400, code: "UnsupportedHeader", has: []string{"legal holds"}},
		"unread: a parameter of a source":          {before: there, call: request{method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/b?aspect=1"}}, status: 400, code: "CannotVerifyCopySource", has: []string{"aspect"}},
		"unread: versions that are found":          {call: request{method: "GET", query: ofType + "&" + comp + "blobs&where=a%3D%27b%27&include=versions"}, status: 400, code: "UnsupportedQueryParameter"},
		"blocks: the tags do not hold":             {before: there, call: request{method: "GET", blob: "b", query: comp + "blocklist", headers: headers{"X-Ms-If-Tags": "team='blue'"}}, status: 412, code: "ConditionNotMet"},
		"blocks: the tags hold":                    {before: there, call: request{method: "GET", blob: "b", query: comp + "blocklist", headers: headers{"X-Ms-If-Tags": "team='red'"}}, status: 200},
		"block list: modified since, is new":       {before: staged, call: set("b", "blocklist", later, blockList(base1)), status: 412, code: "ConditionNotMet"},
		"block list: modified since, is not":       {before: then(there, staged...), call: set("b", "blocklist", later, blockList(base1)), status: 412, code: "ConditionNotMet"},
		"put from a URL: another MD5 of its own":   {before: there, call: request{method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/b", "X-Ms-Blob-Type": "BlockBlob", "X-Ms-Blob-Content-Md5": "AAAAAAAAAAAAAAAAAAAAAA=="}}, status: 400, code: "Md5Mismatch"},
		"put from a URL: neither true nor false":   {before: there, call: request{method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/b", "X-Ms-Blob-Type": "BlockBlob", "X-Ms-Copy-Source-Blob-Properties": "no"}}, status: 400, code: "InvalidHeaderValue"},
		"scope: metadata in another":               {before: scoped, call: set("b", "metadata", other, ""), status: 409, code: mismatch},
		"scope: a snapshot in another":             {before: scoped, call: set("b", "snapshot", other, ""), status: 409, code: mismatch},
		"scope: a snapshot in the same":            {before: scoped, call: set("b", "snapshot", headers{"X-Ms-Encryption-Scope": "ours"}, ""), status: 201},
		"scope: an append in another":              {before: []request{put("b", "", headers{"X-Ms-Blob-Type": "AppendBlob", "X-Ms-Encryption-Scope": "ours"})}, call: set("b", "appendblock", other, "x"), status: 409, code: mismatch},
		"account: containers, include in capitals": {before: []request{{method: "PUT", query: ofType + "&" + comp + "metadata", headers: headers{"X-Ms-Meta-Team": "in-capitals"}}}, call: request{method: "GET", blob: "/", query: comp + "list&prefix=talk-&include=METADATA"}, status: 200, has: []string{"<team>in-capitals</team>"}},
	}
}

// ambiguousRows have queries that cannot be parsed completely, and duplicates. For metadata, "Setting and retrieving
// properties and metadata for Blob resources" states: "If two or more metadata headers with the same name are
// submitted for a resource, the Blob service returns status code 400 (Bad Request)". Lists of entity tags may have
// several lines (RFC 9110, 5.3).
func ambiguousRows() map[string]behaviour {
	there := []request{put("b", "hello", nil)}
	withQuery := func(method, query string) request { return request{method: method, blob: "b", query: query} }
	broken := func(call request) behaviour {
		return behaviour{before: there, call: call, status: 400, code: "InvalidQueryParameterValue", has: []string{"cannot be read"}}
	}
	repeated := func(call request, name string) behaviour {
		return behaviour{before: there, call: call, status: 400, code: "InvalidQueryParameterValue", has: []string{"query parameter " + name + " is given more than once"}}
	}
	again := func(call request, name string) behaviour {
		return behaviour{before: there, call: call, status: 400, code: "InvalidHeaderValue", has: []string{"header " + name + " is given more than once"}}
	}
	return map[string]behaviour{
		"ambiguous: a version that cannot be read":  broken(withQuery("DELETE", "versionid=%zz")),
		"ambiguous: a snapshot that cannot be read": broken(withQuery("GET", "snapshot=%zz")),
		"ambiguous: a name that cannot be read":     broken(withQuery("DELETE", "%zz=1")),
		"ambiguous: a semicolon":                    broken(list("&prefix=b;x")),
		"ambiguous: a source that cannot be read":   {before: there, call: request{method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/b?snapshot=%zz"}}, status: 400, code: "CannotVerifyCopySource", has: []string{"cannot be read"}},
		"ambiguous: two versions":                   repeated(withQuery("DELETE", "versionid=2026-01-01T00:00:00.0000000Z&versionid=2026-01-02T00:00:00.0000000Z"), "versionid"),
		"ambiguous: two operations":                 repeated(withQuery("PUT", comp+"metadata&"+comp+"tags"), "comp"),
		"ambiguous: two prefixes":                   repeated(list("&prefix=a&prefix=b"), "prefix"),
		"ambiguous: two leases":                     again(set("b", "metadata", headers{"X-Ms-Lease-Id": leaseA + "\n" + leaseB}, ""), "x-ms-lease-id"),
		"ambiguous: two values of metadata":         again(set("b", "metadata", headers{"X-Ms-Meta-Color": "amber\nblue"}, ""), "x-ms-meta-color"),
		"ambiguous: two ranges":                     again(get("b", headers{"Range": "bytes=0-1\nbytes=2-3"}), "range"),
		"ambiguous: two times":                      again(get("b", headers{"If-Modified-Since": longAgo + "\n" + longAgo}), "if-modified-since"),
		"ambiguous: two types":                      again(put("c", "x", headers{"Content-Type": "text/plain\ntext/html"}), "content-type"),
		"lines of tags: the second is the blob's":   {before: there, call: get("b", headers{"If-None-Match": otherTag + "\n{etag}"}), status: 304},
		"lines of tags: none is the blob's":         {before: there, call: get("b", headers{"If-Match": otherTag + "\n" + otherTag}), status: 412, code: "ConditionNotMet"},
		"lines of tags: to write":                   {before: there, call: put("b", "x", headers{"If-Match": "{etag}\n" + otherTag}), status: 400, code: "MultipleConditionHeadersNotSupported"},
	}
}
