// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import "maps"

// tagConditionRows follow "Specifying conditional headers for Blob service operations": x-ms-if-tags of every operation that
// has it, and the conditions of Get Blob Tags, Set Blob Tags and Delete Blob that have names of their own.
func tagConditionRows() map[string]behaviour {
	there := []request{put("a", "source", headers{"X-Ms-Tags": "team=red"}), put("b", "text", headers{"X-Ms-Tags": "team=red"})}
	with := func(h headers, more headers) headers {
		all := maps.Clone(h)
		maps.Copy(all, more)
		return all
	}
	const noTags = "<Tags><TagSet></TagSet></Tags>"
	calls := map[string]struct {
		call    func(headers) request
		success int
	}{
		"Get Blob":            {func(h headers) request { return get("b", h) }, 200},
		"Get Blob Properties": {func(h headers) request { return head("b", h) }, 200},
		"Get Blob Metadata": {func(h headers) request {
			return request{method: "GET", blob: "b", query: comp + "metadata", headers: h}
		}, 200},
		"Get Blob Tags":       {func(h headers) request { return request{method: "GET", blob: "b", query: comp + "tags", headers: h} }, 200},
		"Put Blob":            {func(h headers) request { return put("b", "new", h) }, 201},
		"Put Block List":      {func(h headers) request { return set("b", "blocklist", h, "<BlockList></BlockList>") }, 201},
		"Set Blob Metadata":   {func(h headers) request { return set("b", "metadata", h, "") }, 200},
		"Set Blob Properties": {func(h headers) request { return set("b", "properties", h, "") }, 200},
		"Set Blob Tags":       {func(h headers) request { return set("b", "tags", h, noTags) }, 204},
		"Set Blob Tier":       {func(h headers) request { return set("b", "tier", with(h, headers{"X-Ms-Access-Tier": "Cool"}), "") }, 200},
		"Snapshot Blob":       {func(h headers) request { return set("b", "snapshot", h, "") }, 201},
		"Lease Blob": {func(h headers) request {
			return leaseOf("b", "acquire", "", leaseA, with(h, headers{"X-Ms-Lease-Duration": "15"}))
		}, 201},
		"Copy Blob": {func(h headers) request {
			return request{method: "PUT", blob: "b", headers: with(h, headers{"X-Ms-Copy-Source": "{url}/a"})}
		}, 202},
		"Delete Blob": {func(h headers) request { return request{method: "DELETE", blob: "b", headers: h} }, 202},
	}
	out := map[string]behaviour{}
	for kind, c := range calls {
		tags := func(condition string) request { return c.call(headers{"X-Ms-If-Tags": condition}) }
		for what, row := range map[string]behaviour{
			"tags hold":         {call: tags("\"team\" = 'red'"), status: c.success},
			"tags do not":       {call: tags("team='blue'"), status: 412, code: "ConditionNotMet"},
			"one of two holds":  {call: tags("team='blue' OR team='red'"), status: c.success},
			"tags differ":       {call: tags("team <> 'blue'"), status: c.success},
			"tags are the same": {call: tags("team <> 'red'"), status: 412, code: "ConditionNotMet"},
			"tags of nothing":   {call: tags("team"), status: 400, code: "InvalidHeaderValue"},
		} {
			row.before = there
			out["condition, "+kind+": "+what] = row
		}
	}
	for kind, success := range map[string]int{"Get Blob Tags": 200, "Set Blob Tags": 204} {
		call, failure := calls[kind].call, 412
		if success == 200 {
			failure = 304
		}
		for what, row := range map[string]behaviour{
			"x-ms-blob-if-match, the same":                  {call: call(headers{"X-Ms-Blob-If-Match": "{etag}"}), status: success},
			"x-ms-blob-if-match, another":                   {call: call(headers{"X-Ms-Blob-If-Match": otherTag}), status: 412},
			"x-ms-blob-if-none-match, the same":             {call: call(headers{"X-Ms-Blob-If-None-Match": "{etag}"}), status: failure},
			"x-ms-blob-if-none-match, another":              {call: call(headers{"X-Ms-Blob-If-None-Match": otherTag}), status: success},
			"x-ms-blob-if-modified-since, modified":         {call: call(headers{"X-Ms-Blob-If-Modified-Since": longAgo}), status: success},
			"x-ms-blob-if-modified-since, not modified":     {call: call(headers{"X-Ms-Blob-If-Modified-Since": "{modified}"}), status: failure},
			"x-ms-blob-if-unmodified-since, not modified":   {call: call(headers{"X-Ms-Blob-If-Unmodified-Since": "{modified}"}), status: success},
			"x-ms-blob-if-unmodified-since, modified":       {call: call(headers{"X-Ms-Blob-If-Unmodified-Since": longAgo}), status: 412},
			"x-ms-blob-if-modified-since, which is no date": {call: call(headers{"X-Ms-Blob-If-Modified-Since": "yesterday"}), status: 400},
		} {
			row.before = there
			out["condition, "+kind+": "+what] = row
		}
	}
	remove := calls["Delete Blob"].call
	for what, row := range map[string]behaviour{
		"the tier was set since":          {call: remove(headers{"X-Ms-Access-Tier-If-Modified-Since": longAgo}), status: 202},
		"the tier was not set since":      {call: remove(headers{"X-Ms-Access-Tier-If-Modified-Since": "{modified}"}), status: 412, code: "AccessTierChangeTimeConditionNotMet"},
		"the tier is as it was":           {call: remove(headers{"X-Ms-Access-Tier-If-Unmodified-Since": "{modified}"}), status: 202},
		"the tier is not as it was":       {call: remove(headers{"X-Ms-Access-Tier-If-Unmodified-Since": longAgo}), status: 412, code: "AccessTierChangeTimeConditionNotMet"},
		"the tier, by what is no date":    {call: remove(headers{"X-Ms-Access-Tier-If-Modified-Since": "yesterday"}), status: 400},
		"copied, if the source's tags do": {call: request{method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/a", "X-Ms-Source-If-Tags": "team='red'"}}, status: 202},
		"not copied, they do not":         {call: request{method: "PUT", blob: "c", headers: headers{"X-Ms-Copy-Source": "{url}/a", "X-Ms-Source-If-Tags": "team='blue'"}}, status: 412, code: "SourceConditionNotMet"},
	} {
		row.before = there
		out["condition, "+what] = row
	}
	return out
}

// refusedRows follow "Common REST API error codes", "Blob service error codes" and "Versioning for Azure Storage".
// They include features that the fake rejects as not implemented.
func refusedRows() map[string]behaviour {
	there := []request{put("b", "hello")}
	return map[string]behaviour{
		"refused: an MD5 to store that is none":    {call: put("b", "hello", headers{"X-Ms-Blob-Content-Md5": "AAAA"}), status: 400, code: "InvalidMd5"},
		"refused: an MD5 to set that is none":      {before: there, call: set("b", "properties", headers{"X-Ms-Blob-Content-Md5": "?"}, ""), status: 400, code: "InvalidMd5"},
		"refused: an MD5 of a source that is none": {before: there, call: set("c", "block&blockid="+base1, headers{"X-Ms-Copy-Source": "{url}/b", "X-Ms-Source-Content-Md5": "AAAA"}, ""), status: 400, code: "InvalidMd5"},
		"refused: a container without a name":      {call: request{method: "PUT", blob: "/", query: ofType}, status: 400, code: "InvalidQueryParameterValue"},
		"refused: a copy ID that is none":          {before: there, call: set("b", "copy&copyid=mine", headers{"X-Ms-Copy-Action": "abort"}, ""), status: 400, code: "InvalidQueryParameterValue"},
		"refused: a version of the future":         {before: there, call: get("b", headers{"X-Ms-Version": "2099-01-01"}), status: 400, code: "InvalidHeaderValue"},
		"refused: an expiry of a blob":             {before: there, call: set("b", "expiry", headers{"X-Ms-Expiry-Option": "NeverExpire"}, ""), status: 400},
		"not served: a customer's key":             {before: there, call: get("b", headers{"X-Ms-Encryption-Key": "eA=="}), status: 400, code: "UnsupportedHeader", has: []string{"customer-provided keys: x-ms-encryption-key"}},
	}
}

// laterRows test features of service versions newer than the first rows: "Put Blob", "Put Block", "Append Block",
// "Copy Blob From URL", "List Blobs".
func laterRows() map[string]behaviour {
	const crc, md5 = "V0JSBnCFdzM=", "XUFAKrxLKna5cZ2REBfFkg=="
	tree := []request{put("a", "1"), put("b", "2"), put("c", "3"), put("d", "4")}
	source := []request{put("a", "hello")}
	from := func(extra headers) request {
		all := headers{"X-Ms-Copy-Source": "{url}/a", "X-Ms-Requires-Sync": "true"}
		maps.Copy(all, extra)
		return request{method: "PUT", blob: "b", headers: all}
	}
	names := []string{"<Name>b</Name>", "<Name>c</Name>"}
	return map[string]behaviour{
		"blob: its CRC without asking":          {call: put("b", "hello"), status: 201, headers: headers{"X-Ms-Content-Crc64": crc}},
		"block: its CRC without asking":         {call: stage("b", base1, "hello"), status: 201, headers: headers{"X-Ms-Content-Crc64": crc}},
		"append: its CRC without asking":        {before: []request{put("b", "", headers{"X-Ms-Blob-Type": "AppendBlob"})}, call: set("b", "appendblock", nil, "hello"), status: 201, headers: headers{"X-Ms-Content-Crc64": crc}},
		"copy from a URL: the source's MD5":     {before: source, call: from(headers{"X-Ms-Source-Content-Md5": md5}), status: 202, headers: headers{"Content-Md5": md5}},
		"copy from a URL: as Python asks":       {before: source, call: from(headers{"X-Ms-Requires-Sync": "True"}), status: 202},
		"copy from a URL: another MD5":          {before: source, call: from(headers{"X-Ms-Source-Content-Md5": "AAAAAAAAAAAAAAAAAAAAAA=="}), status: 400, code: "Md5Mismatch"},
		"list: from a name":                     {before: tree, call: list("&startFrom=b"), status: 200, has: names, hasNot: []string{"<Name>a</Name>"}},
		"list: before a name":                   {before: tree, call: list("&endBefore=d"), status: 200, has: names, hasNot: []string{"<Name>d</Name>"}},
		"list: from one name to before another": {before: tree, call: list("&startFrom=b&endBefore=d"), status: 200, has: names, hasNot: []string{"<Name>a</Name>", "<Name>d</Name>"}},
		"list: includes in capitals":            {before: []request{put("e", "5", headers{"X-Ms-Meta-Color": "amber"})}, call: list("&include=Metadata"), status: 200, has: []string{"amber"}},
	}
}
