// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/pageblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// page is the content of one page.
func page(letter string) string { return strings.Repeat(letter, pageblob.PageBytes) }

// pageBlob creates a page blob of five pages.
func pageBlob(with ...headers) request {
	all := headers{"X-Ms-Blob-Type": "PageBlob", "X-Ms-Blob-Content-Length": "2560"}
	for _, more := range with {
		maps.Copy(all, more)
	}
	return request{method: "PUT", blob: "p", headers: all}
}

// pages writes pages from a page on, or clears as many as count if content is "".
func pages(from, count int, content string, with ...headers) request {
	all := headers{"X-Ms-Range": byteRange(from, count), "X-Ms-Page-Write": "update"}
	if content == "" {
		all["X-Ms-Page-Write"] = "clear"
	}
	for _, more := range with {
		maps.Copy(all, more)
	}
	return set("p", "page", all, content)
}

func byteRange(from, count int) string {
	return "bytes=" + strconv.Itoa(from*pageblob.PageBytes) + "-" + strconv.Itoa((from+count)*pageblob.PageBytes-1)
}

// pageList lists the ranges of a page blob.
func pageList(query string, with headers) request {
	return request{method: "GET", blob: "p", query: comp + "pagelist" + query, headers: with}
}

func rangeText(from, count int) string {
	return "<PageRange><Start>" + strconv.Itoa(from*pageblob.PageBytes) + "</Start><End>" + strconv.Itoa((from+count)*pageblob.PageBytes-1) + "</End></PageRange>"
}

func clearText(from, count int) string {
	return strings.ReplaceAll(rangeText(from, count), "PageRange>", "ClearRange>")
}

// newPageBlobRows follow "Put Blob", "Set Blob Tier" and "List Blobs".
func newPageBlobRows() map[string]behaviour {
	size := func(text string) headers { return headers{"X-Ms-Blob-Content-Length": text} }
	return map[string]behaviour{
		"a new page blob has zeros":                       {before: []request{pageBlob()}, call: get("p", nil), status: 200, headers: headers{"X-Ms-Blob-Type": "PageBlob", "X-Ms-Blob-Sequence-Number": "0", "Content-Length": "2560", "Content-Md5": ""}, has: []string{strings.Repeat("\x00", 2560)}},
		"a new page blob has properties":                  {before: []request{pageBlob(headers{"X-Ms-Blob-Content-Type": "text/x-a", "X-Ms-Meta-Color": "amber", "X-Ms-Blob-Sequence-Number": "7"})}, call: head("p", nil), status: 200, headers: headers{"Content-Type": "text/x-a", "X-Ms-Meta-Color": "amber", "X-Ms-Blob-Sequence-Number": "7", "X-Ms-Access-Tier": ""}},
		"a new page blob has the checksum of the request": {before: []request{pageBlob(headers{"X-Ms-Blob-Content-Md5": wrongMD5}), pages(0, 1, page("a"))}, call: head("p", nil), status: 200, headers: headers{"Content-Md5": wrongMD5}},
		"a page blob without a length":                    {call: put("p", "", headers{"X-Ms-Blob-Type": "PageBlob"}), status: 400, code: "MissingRequiredHeader"},
		"a page blob with half a page":                    {call: pageBlob(size("700")), status: 400, code: "InvalidHeaderValue"},
		"a page blob with a negative length":              {call: pageBlob(size("-512")), status: 400, code: "InvalidHeaderValue"},
		"a page blob without pages":                       {before: []request{pageBlob(size("0"))}, call: get("p", nil), status: 200, headers: headers{"Content-Length": "0"}},
		"the largest page blob":                           {call: pageBlob(size("8796093022208")), status: 201},
		"a page blob that is too large":                   {call: pageBlob(size("8796093022720")), status: 400, code: "InvalidHeaderValue"},
		"a page blob with a body":                         {call: request{method: "PUT", blob: "p", headers: pageBlob().headers, body: page("a")}, status: 400, code: "InvalidHeaderValue"},
		"a page blob with a negative sequence number":     {call: pageBlob(headers{"X-Ms-Blob-Sequence-Number": "-1"}), status: 400, code: "InvalidHeaderValue"},
		"a page blob with a tier of premium accounts":     {call: pageBlob(headers{"X-Ms-Access-Tier": "P10"}), status: 400, code: "NotImplemented", has: []string{"tiers of page blobs in premium accounts: P10"}},
		"a page blob with a tier of block blobs":          {call: pageBlob(headers{"X-Ms-Access-Tier": "Cool"}), status: 400, code: "InvalidHeaderValue"},
		"a page blob gets a tier of premium accounts":     {before: []request{pageBlob()}, call: tierOf("p", "P80", nil), status: 400, code: "NotImplemented"},
		"a page blob gets a tier of block blobs":          {before: []request{pageBlob()}, call: tierOf("p", "Cool", nil), status: 409, code: "InvalidBlobType"},
		"a block blob with the length of a page blob":     {call: put("b", "x", size("512")), status: 400, code: "UnsupportedHeader", has: []string{"x-ms-blob-content-length of PutBlob"}},
		"a page blob only if there is none":               {before: []request{pageBlob()}, call: pageBlob(headers{"If-None-Match": "*"}), status: 409, code: "BlobAlreadyExists"},
		"a page blob does not replace a block blob":       {before: []request{put("p", "text")}, call: pageBlob(), status: 409, code: "InvalidBlobType"},
		"a block blob does not replace a page blob":       {before: []request{pageBlob()}, call: put("p", "text"), status: 409, code: "InvalidBlobType"},
		"an append blob does not replace a block blob":    {before: []request{put("b", "text")}, call: put("b", "", headers{"X-Ms-Blob-Type": "AppendBlob"}), status: 409, code: "InvalidBlobType"},
		"a page blob replaces a deleted block blob":       {before: []request{put("p", "text"), {method: "DELETE", blob: "p"}, pageBlob()}, call: head("p", nil), status: 200, headers: headers{"X-Ms-Blob-Type": "PageBlob", "Content-Length": "2560"}},
		"a new page blob replaces the pages":              {before: []request{pageBlob(), pages(0, 1, page("a")), pageBlob()}, call: pageList("", nil), status: 200, hasNot: []string{"PageRange"}},
		"a list has the type and the sequence number":     {before: []request{pageBlob(headers{"X-Ms-Blob-Sequence-Number": "7"})}, call: list(""), status: 200, has: []string{"<x-ms-blob-sequence-number>7</x-ms-blob-sequence-number><BlobType>PageBlob</BlobType>"}, hasNot: []string{"AccessTier"}},
		"a list has no sequence number of a block blob":   {before: []request{put("b", "x")}, call: list(""), status: 200, hasNot: []string{"sequence-number"}},
	}
}

// putPageRows follow "Put Page".
func putPageRows() map[string]behaviour {
	there := []request{pageBlob()}
	ranged := func(text string) headers { return headers{"X-Ms-Range": text} }
	leased := then(there, acquireFor("p", leaseA, "-1"))
	return map[string]behaviour{
		"pages are written":                             {before: then(there, pages(1, 2, page("a")+page("b"))), call: get("p", headers{"Range": byteRange(0, 4)}), status: 206, has: []string{page("\x00") + page("a") + page("b") + page("\x00")}},
		"a write has a response":                        {before: there, call: pages(0, 1, page("a")), status: 201, headers: headers{"ETag": "*", "X-Ms-Blob-Sequence-Number": "0", "X-Ms-Content-Crc64": "*", "Content-Md5": "", "X-Ms-Request-Server-Encrypted": "true"}},
		"a write in the middle leaves the rest":         {before: then(there, pages(0, 3, page("a")+page("b")+page("c")), pages(1, 1, page("d"))), call: get("p", nil), status: 200, has: []string{page("a") + page("d") + page("c") + page("\x00")}},
		"pages are cleared":                             {before: then(there, pages(0, 3, page("a")+page("b")+page("c")), pages(1, 1, "")), call: get("p", nil), status: 200, has: []string{page("a") + page("\x00") + page("c")}},
		"clearing has a response":                       {before: there, call: pages(0, 5, ""), status: 201, headers: headers{"ETag": "*", "X-Ms-Blob-Sequence-Number": "0", "X-Ms-Content-Crc64": ""}},
		"the standard range header":                     {before: there, call: pages(0, 1, page("a"), headers{"X-Ms-Range": "", "Range": byteRange(0, 1)}), status: 201},
		"a write without a range":                       {before: there, call: set("p", "page", headers{"X-Ms-Page-Write": "update"}, page("a")), status: 400, code: "MissingRequiredHeader"},
		"a write that is neither update nor clear":      {before: there, call: pages(0, 1, page("a"), headers{"X-Ms-Page-Write": "append"}), status: 400, code: "InvalidHeaderValue"},
		"a write without its kind":                      {before: there, call: pages(0, 1, page("a"), headers{"X-Ms-Page-Write": ""}), status: 400, code: "MissingRequiredHeader"},
		"a range without an end":                        {before: there, call: pages(0, 1, page("a"), ranged("bytes=0-")), status: 400, code: "InvalidHeaderValue"},
		"a range of half a page":                        {before: there, call: pages(0, 1, page("a"), ranged("bytes=0-255")), status: 416, code: "InvalidPageRange"},
		"a range from the middle of a page":             {before: there, call: pages(0, 1, page("a"), ranged("bytes=256-767")), status: 416, code: "InvalidPageRange"},
		"a range that ends before it starts":            {before: there, call: pages(0, 1, page("a"), ranged("bytes=1024-511")), status: 416, code: "InvalidPageRange"},
		"a range after the end":                         {before: there, call: pages(4, 2, page("a")+page("a")), status: 416, code: "InvalidPageRange"},
		"clearing after the end":                        {before: there, call: pages(5, 1, ""), status: 416, code: "InvalidPageRange"},
		"a range at the end of all numbers":             {before: there, call: pages(0, 1, page("a"), ranged("bytes=0-9223372036854775807")), status: 400, code: "InvalidHeaderValue"},
		"a body that is shorter than the range":         {before: there, call: pages(0, 2, page("a")), status: 400, code: "InvalidHeaderValue"},
		"a body of more than 4 MiB":                     {before: []request{pageBlob(headers{"X-Ms-Blob-Content-Length": "8388608"})}, call: pages(0, 8193, strings.Repeat("a", 8193*512)), status: 413, code: "RequestBodyTooLarge"},
		"clearing more than 4 MiB":                      {before: []request{pageBlob(headers{"X-Ms-Blob-Content-Length": "8388608"})}, call: pages(0, 16384, ""), status: 201},
		"clearing with a body":                          {before: there, call: pages(0, 1, page("a"), headers{"X-Ms-Page-Write": "clear"}), status: 400, code: "InvalidHeaderValue"},
		"clearing with a checksum":                      {before: there, call: pages(0, 1, "", headers{"Content-Md5": wrongMD5}), status: 400, code: "InvalidHeaderValue"},
		"a write with another MD5":                      {before: there, call: pages(0, 1, page("a"), headers{"Content-Md5": wrongMD5}), status: 400, code: "Md5Mismatch"},
		"a write with another CRC":                      {before: there, call: pages(0, 1, page("a"), headers{"X-Ms-Content-Crc64": wrongCRC}), status: 400, code: "Crc64Mismatch"},
		"a write to an absent blob":                     {call: pages(0, 1, page("a")), status: 404, code: "BlobNotFound"},
		"a write to a block blob":                       {before: []request{put("p", page("a"))}, call: pages(0, 1, page("a")), status: 409, code: "InvalidBlobType"},
		"a write with another ETag":                     {before: there, call: pages(0, 1, page("a"), headers{"If-Match": otherTag}), status: 412, code: "ConditionNotMet"},
		"a write with a condition on tags":              {before: []request{pageBlob(headers{"X-Ms-Tags": "team=red"})}, call: pages(0, 1, page("a"), headers{"X-Ms-If-Tags": "team='blue'"}), status: 412, code: "ConditionNotMet"},
		"a write to a leased blob":                      {before: leased, call: pages(0, 1, page("a")), status: 412, code: "LeaseIdMissing"},
		"a write with the lease":                        {before: leased, call: pages(0, 1, page("a"), headers{"X-Ms-Lease-Id": leaseA}), status: 201},
		"a write with another encryption scope":         {before: there, call: pages(0, 1, page("a"), headers{"X-Ms-Encryption-Scope": "other"}), status: 409, code: "BlobCustomerSpecifiedEncryptionMismatch"},
		"a write with the encryption scope of the blob": {before: []request{pageBlob(headers{"X-Ms-Encryption-Scope": "mine"})}, call: pages(0, 1, page("a"), headers{"X-Ms-Encryption-Scope": "mine"}), status: 201, headers: headers{"X-Ms-Encryption-Scope": "mine"}},
		"a write without the scope of the blob":         {before: []request{pageBlob(headers{"X-Ms-Encryption-Scope": "mine"})}, call: pages(0, 1, page("a")), status: 409, code: "BlobUsesCustomerSpecifiedEncryption"},
		"a write with a customer's key":                 {before: there, call: pages(0, 1, page("a"), headers{"X-Ms-Encryption-Key": "eA=="}), status: 400, code: "UnsupportedHeader"},
		"an incremental copy":                           {call: set("p", "incrementalcopy", headers{"X-Ms-Copy-Source": "{url}/a"}, ""), status: 400, code: "NotImplemented", has: []string{"incremental copies of page blobs"}},
	}
}

// pageRangeRows follow "Get Page Ranges". That separate writes are separate ranges is from Azurite's tests.
func pageRangeRows() map[string]behaviour {
	there := []request{pageBlob()}
	two := then(there, pages(0, 1, page("a")), pages(2, 1, page("b")))
	in := func(text string) headers { return headers{"X-Ms-Range": text} }
	return map[string]behaviour{
		"a new page blob has no ranges":            {before: there, call: pageList("", nil), status: 200, headers: headers{"X-Ms-Blob-Content-Length": "2560", "ETag": "{etag}"}, hasNot: []string{"Range>"}},
		"ranges with pages between them":           {before: two, call: pageList("", nil), status: 200, has: []string{rangeText(0, 1) + rangeText(2, 1)}},
		"adjacent writes are separate ranges":      {before: then(there, pages(0, 1, page("a")), pages(1, 1, page("b"))), call: pageList("", nil), status: 200, has: []string{rangeText(0, 1) + rangeText(1, 1)}},
		"a write divides a range":                  {before: then(there, pages(0, 3, page("a")+page("b")+page("c")), pages(1, 1, page("d"))), call: pageList("", nil), status: 200, has: []string{rangeText(0, 1) + rangeText(1, 1) + rangeText(2, 1)}},
		"cleared pages are no range":               {before: then(there, pages(0, 3, page("a")+page("b")+page("c")), pages(1, 1, "")), call: pageList("", nil), status: 200, has: []string{rangeText(0, 1) + rangeText(2, 1)}},
		"the ranges in a part of the blob":         {before: two, call: pageList("", in(byteRange(1, 3))), status: 200, has: []string{rangeText(2, 1)}, hasNot: []string{"<Start>0</Start>"}},
		"a part consists of complete pages":        {before: then(there, pages(0, 4, strings.Repeat("a", 2048))), call: pageList("", in("bytes=700-1300")), status: 200, has: []string{rangeText(1, 2)}},
		"a part after the end":                     {before: there, call: pageList("", in(byteRange(5, 1))), status: 416, code: "InvalidRange"},
		"a page of the ranges":                     {before: two, call: pageList("&maxresults=1", nil), status: 200, has: []string{rangeText(0, 1) + "<NextMarker>"}, hasNot: []string{rangeText(2, 1)}},
		"the last page of the ranges":              {before: two, call: pageList("&marker=MTAyNA", nil), status: 200, has: []string{rangeText(2, 1)}, hasNot: []string{rangeText(0, 1)}},
		"an older version has no pages":            {before: two, call: pageList("&maxresults=1&marker=MTAyNA", headers{"X-Ms-Version": "2020-08-04"}), status: 200, has: []string{rangeText(0, 1) + rangeText(2, 1)}, hasNot: []string{"NextMarker>"}},
		"a marker of no page":                      {before: two, call: pageList("&marker=eA", nil), status: 400, code: "InvalidQueryParameterValue"},
		"a page of no ranges":                      {before: two, call: pageList("&maxresults=0", nil), status: 400, code: "OutOfRangeQueryParameterValue"},
		"the ranges of a block blob":               {before: []request{put("p", "text")}, call: pageList("", nil), status: 409, code: "InvalidBlobType"},
		"the ranges of an absent blob":             {call: pageList("", nil), status: 404, code: "BlobNotFound"},
		"the ranges with another ETag":             {before: there, call: pageList("", headers{"If-Match": otherTag}), status: 412, code: "ConditionNotMet"},
		"the ranges of an unchanged blob":          {before: there, call: pageList("", headers{"If-None-Match": "{etag}"}), status: 304},
		"the ranges after growth":                  {before: then(two, set("p", "properties", headers{"X-Ms-Blob-Content-Length": "5120"}, ""), pages(9, 1, page("c"))), call: pageList("", nil), status: 200, has: []string{rangeText(2, 1) + rangeText(9, 1)}},
		"the ranges after shrinking":               {before: then(there, pages(0, 4, strings.Repeat("a", 2048)), set("p", "properties", headers{"X-Ms-Blob-Content-Length": "512"}, "")), call: pageList("", nil), status: 200, has: []string{rangeText(0, 1)}, headers: headers{"X-Ms-Blob-Content-Length": "512"}},
		"growth after shrinking has cleared pages": {before: then(there, pages(0, 2, page("a")+page("b")), set("p", "properties", headers{"X-Ms-Blob-Content-Length": "512"}, ""), set("p", "properties", headers{"X-Ms-Blob-Content-Length": "1024"}, "")), call: get("p", nil), status: 200, has: []string{page("a") + page("\x00")}},
	}
}

// snapshotRangeRows follow "Get Page Ranges" and "Snapshot Blob".
func snapshotRangeRows() map[string]behaviour {
	snapshot := set("p", "snapshot", nil, "")
	taken := []request{pageBlob(), pages(0, 3, page("a")+page("b")+page("c")), snapshot}
	const before = "&prevsnapshot={snapshot}"
	return map[string]behaviour{
		"a snapshot keeps its ranges":               {before: then(taken, pages(0, 5, "")), call: pageList("&snapshot={snapshot}", nil), status: 200, has: []string{rangeText(0, 3)}},
		"a snapshot keeps its pages":                {before: then(taken, pages(0, 1, page("z"))), call: request{method: "GET", blob: "p", query: "snapshot={snapshot}"}, status: 200, has: []string{page("a") + page("b")}},
		"nothing has changed since a snapshot":      {before: taken, call: pageList(before, nil), status: 200, hasNot: []string{"Range>"}},
		"pages have changed since a snapshot":       {before: then(taken, pages(1, 1, page("z")), pages(4, 1, page("y"))), call: pageList(before, nil), status: 200, has: []string{rangeText(1, 1) + rangeText(4, 1)}},
		"a write over several ranges is one change": {before: []request{pageBlob(), pages(0, 1, page("a")), pages(1, 1, page("b")), snapshot, pages(0, 2, page("c")+page("d"))}, call: pageList(before, nil), status: 200, has: []string{rangeText(0, 2)}},
		"equal pages are a change":                  {before: then(taken, pages(1, 1, page("b"))), call: pageList(before, nil), status: 200, has: []string{rangeText(1, 1)}},
		"pages were cleared since a snapshot":       {before: then(taken, pages(1, 1, ""), pages(4, 1, "")), call: pageList(before, nil), status: 200, has: []string{clearText(1, 1)}, hasNot: []string{"PageRange>"}},
		"changes in a part of the blob":             {before: then(taken, pages(0, 2, page("z")+page("z"))), call: pageList(before, headers{"X-Ms-Range": byteRange(1, 2)}), status: 200, has: []string{rangeText(1, 1)}, hasNot: []string{"<Start>0</Start>"}},
		"changes after growth":                      {before: then(taken, set("p", "properties", headers{"X-Ms-Blob-Content-Length": "5120"}, ""), pages(9, 1, page("z"))), call: pageList(before, nil), status: 200, has: []string{rangeText(9, 1)}, hasNot: []string{"ClearRange"}},
		"changes since an absent snapshot":          {before: taken, call: pageList("&prevsnapshot=2020-01-01T00:00:00.0000000Z", nil), status: 409, code: "PreviousSnapshotNotFound"},
		"changes since an invalid snapshot":         {before: taken, call: pageList("&prevsnapshot=yesterday", nil), status: 400, code: "InvalidQueryParameterValue"},
		"changes since a snapshot of another blob":  {before: then(taken, pageBlob()), call: pageList(before, nil), status: 409, code: "BlobOverwritten"},
		"changes on a managed disk":                 {before: taken, call: pageList("", headers{"X-Ms-Previous-Snapshot-Url": "{url}/p"}), status: 400, code: "UnsupportedHeader", has: []string{"managed disks"}},
	}
}

// sequenceRows follow "Set Blob Properties" and the conditions of "Put Page".
func sequenceRows() map[string]behaviour {
	there := []request{pageBlob(headers{"X-Ms-Blob-Sequence-Number": "7", "X-Ms-Blob-Content-Type": "text/x-a"})}
	number := func(action, number string) request {
		all := headers{"X-Ms-Sequence-Number-Action": action, "X-Ms-Blob-Sequence-Number": number}
		maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
		return set("p", "properties", all, "")
	}
	is := func(text string) headers { return headers{"X-Ms-Blob-Sequence-Number": text} }
	resize := func(size string) request {
		return set("p", "properties", headers{"X-Ms-Blob-Content-Length": size}, "")
	}
	with := func(name, number string) request {
		return pages(0, 1, page("a"), headers{"X-Ms-If-Sequence-Number-" + name: number})
	}
	return map[string]behaviour{
		"the sequence number is set":                     {before: there, call: number("update", "3"), status: 200, headers: is("3")},
		"the sequence number is the larger one":          {before: there, call: number("max", "9"), status: 200, headers: is("9")},
		"the sequence number is not the smaller one":     {before: there, call: number("max", "3"), status: 200, headers: is("7")},
		"the sequence number is incremented":             {before: there, call: number("increment", ""), status: 200, headers: is("8")},
		"an increment with a number":                     {before: there, call: number("increment", "1"), status: 400, code: "InvalidHeaderValue"},
		"an increment that is too large":                 {before: then(there, number("update", "9223372036854775807")), call: number("increment", ""), status: 409, code: "SequenceNumberIncrementTooLarge"},
		"an update without a number":                     {before: there, call: number("update", ""), status: 400, code: "MissingRequiredHeader"},
		"a number without an action":                     {before: there, call: number("", "3"), status: 400, code: "MissingRequiredHeader"},
		"an unknown action":                              {before: there, call: number("decrement", "3"), status: 400, code: "InvalidHeaderValue"},
		"a sequence number of a block blob":              {before: []request{put("p", "text")}, call: number("update", "3"), status: 400, code: "InvalidHeaderValue"},
		"a size of a block blob":                         {before: []request{put("p", "text")}, call: resize("512"), status: 400, code: "InvalidHeaderValue"},
		"a size of half a page":                          {before: there, call: resize("700"), status: 400, code: "InvalidHeaderValue"},
		"a new size leaves the other properties":         {before: then(there, resize("512")), call: head("p", nil), status: 200, headers: headers{"Content-Type": "text/x-a", "Content-Length": "512", "X-Ms-Blob-Sequence-Number": "7"}},
		"a new number leaves the other properties":       {before: then(there, number("update", "3")), call: head("p", nil), status: 200, headers: headers{"Content-Type": "text/x-a", "X-Ms-Blob-Sequence-Number": "3"}},
		"other properties leave the size and the number": {before: then(there, set("p", "properties", headers{"X-Ms-Blob-Cache-Control": "private"}, "")), call: head("p", nil), status: 200, headers: headers{"Content-Type": "", "Cache-Control": "private", "Content-Length": "2560", "X-Ms-Blob-Sequence-Number": "7"}},
		"a write if the number is at most another":       {before: there, call: with("Le", "7"), status: 201, headers: is("7")},
		"a write if the number is not at most another":   {before: there, call: with("Le", "6"), status: 412, code: "SequenceNumberConditionNotMet"},
		"a write if the number is less":                  {before: there, call: with("Lt", "8"), status: 201},
		"a write if the number is not less":              {before: there, call: with("Lt", "7"), status: 412, code: "SequenceNumberConditionNotMet"},
		"a write if the number is equal":                 {before: there, call: with("Eq", "7"), status: 201},
		"a write if the number is not equal":             {before: there, call: with("Eq", "8"), status: 412, code: "SequenceNumberConditionNotMet"},
		"a write if the number is negative":              {before: there, call: with("Le", "-1"), status: 400, code: "InvalidInput"},
		"a write if the number is no number":             {before: there, call: with("Eq", "x"), status: 400, code: "InvalidHeaderValue"},
	}
}

// otherPageRows follow "Put Page From URL" and "Copy Blob", and the calls for other types of blobs.
func otherPageRows() map[string]behaviour {
	written := []request{pageBlob(headers{"X-Ms-Blob-Sequence-Number": "7"}), pages(1, 1, page("a"))}
	from := func(with headers) request {
		all := headers{"X-Ms-Copy-Source": "{url}/a", "X-Ms-Source-Range": "bytes=512-1023"}
		maps.Copy(all, with)
		return pages(0, 1, "", headers{"X-Ms-Page-Write": "update"}, all)
	}
	source := []request{put("a", page("x")+page("y")), pageBlob()}
	copied := request{method: "PUT", blob: "copy", headers: headers{"X-Ms-Copy-Source": "{url}/p"}}
	return map[string]behaviour{
		"pages are written from a blob":               {before: then(source, from(nil)), call: get("p", nil), status: 200, has: []string{page("y") + page("\x00")}},
		"pages from a blob have a response":           {before: source, call: from(nil), status: 201, headers: headers{"X-Ms-Blob-Sequence-Number": "0", "X-Ms-Content-Crc64": "*"}},
		"pages from a range of another length":        {before: source, call: from(headers{"X-Ms-Source-Range": "bytes=0-1023"}), status: 400, code: "InvalidHeaderValue"},
		"pages from a blob with another MD5":          {before: source, call: from(headers{"X-Ms-Source-Content-Md5": wrongMD5}), status: 400, code: "Md5Mismatch"},
		"pages from a blob with a condition":          {before: source, call: from(headers{"X-Ms-Source-If-Match": otherTag}), status: 412, code: "SourceConditionNotMet"},
		"pages from an absent blob":                   {before: source, call: from(headers{"X-Ms-Copy-Source": "{url}/absent"}), status: 404, code: "CannotVerifyCopySource"},
		"a copy has the pages":                        {before: then(written, copied), call: request{method: "GET", blob: "copy", query: comp + "pagelist"}, status: 200, has: []string{rangeText(1, 1)}},
		"a copy has the type and the sequence number": {before: then(written, copied), call: get("copy", nil), status: 200, headers: headers{"X-Ms-Blob-Type": "PageBlob", "X-Ms-Blob-Sequence-Number": "7", "X-Ms-Copy-Status": "success"}, has: []string{page("\x00") + page("a") + page("\x00")}},
		"a copy from a URL":                           {before: written, call: copied.with(false, "x-ms-requires-sync", "true"), status: 409, code: "InvalidBlobType"},
		"a copy over a block blob":                    {before: then(written, put("copy", "text")), call: copied, status: 409, code: "InvalidBlobType"},
		"a block blob has the content of a page blob": {before: written, call: put("b", "", headers{"X-Ms-Copy-Source": "{url}/p"}), status: 201},
		"a block blob from a URL over a page blob":    {before: then(written, put("a", "text")), call: put("p", "", headers{"X-Ms-Copy-Source": "{url}/a"}), status: 409, code: "InvalidBlobType"},
		"a block of a page blob":                      {before: written, call: stage("p", base1, "text"), status: 409, code: "InvalidBlobType"},
		"a block list of a page blob":                 {before: written, call: set("p", "blocklist", nil, blockList()), status: 409, code: "InvalidBlobType"},
		"the blocks of a page blob":                   {before: written, call: request{method: "GET", blob: "p", query: comp + "blocklist"}, status: 409, code: "InvalidBlobType"},
		"appending to a page blob":                    {before: written, call: set("p", "appendblock", nil, "text"), status: 409, code: "InvalidBlobType"},
		"sealing a page blob":                         {before: written, call: set("p", "seal", nil, ""), status: 409, code: "InvalidBlobType"},
		"a page blob has tags and metadata":           {before: then(written, set("p", "metadata", headers{"X-Ms-Meta-Color": "amber"}, "")), call: head("p", nil), status: 200, headers: headers{"X-Ms-Meta-Color": "amber", "X-Ms-Blob-Sequence-Number": "7"}},
		"the MD5 of a range of a page blob":           {before: written, call: get("p", headers{"Range": "bytes=0-511", "X-Ms-Range-Get-Content-Md5": "true"}), status: 206, headers: headers{"Content-Md5": "v2GerAzfP2jUluqTRBN+iw=="}},
	}
}

// TestPageBlobsAreSparse writes one page into a page blob of 1 TiB, copies it and restarts the server. Only the page is
// stored, and the client finds it.
func TestPageBlobsAreSparse(t *testing.T) {
	t.Parallel()
	const size, offset = 1 << 40, 1 << 39
	dir := t.TempDir()
	server := start(t, azurefake.Options{Dir: dir})
	c := made(t, server, "data")
	p := c.NewPageBlobClient("disk")
	_, err := p.Create(t.Context(), size, nil)
	wantNoError(t, err)
	at := blob.HTTPRange{Offset: offset, Count: pageblob.PageBytes}
	_, err = p.UploadPages(t.Context(), readSeekCloser(page("a")), at, nil)
	wantNoError(t, err)
	taken, err := p.CreateSnapshot(t.Context(), nil)
	wantNoError(t, err)
	_, err = p.UploadPages(t.Context(), readSeekCloser(page("b")), at, nil)
	wantNoError(t, err)
	copied := c.NewPageBlobClient("copy")
	_, err = copied.StartCopyFromURL(t.Context(), p.URL(), nil)
	wantNoError(t, err)
	wantNoError(t, server.Close())
	if stored := sizeOf(t, dir); stored > 64<<10 {
		t.Errorf("the server stores %d bytes", stored)
	}

	c = root(t, start(t, azurefake.Options{Dir: dir}), "data")
	snapshot, err := c.NewPageBlobClient("disk").WithSnapshot(*taken.Snapshot)
	wantNoError(t, err)
	for name, state := range map[string]*pageblob.Client{"b": c.NewPageBlobClient("disk"), "bb": c.NewPageBlobClient("copy"), "a": snapshot} {
		out, err := state.DownloadStream(t.Context(), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: offset - 1, Count: pageblob.PageBytes + 2}})
		wantNoError(t, err)
		got, err := io.ReadAll(out.Body)
		wantNoError(t, err)
		if want := "\x00" + page(name[:1]) + "\x00"; string(got) != want {
			t.Errorf("%s: the page has other content", name)
		}
	}
	pager := c.NewPageBlobClient("disk").NewGetPageRangesDiffPager(&pageblob.GetPageRangesDiffOptions{PrevSnapshot: taken.Snapshot})
	changed, err := pager.NextPage(t.Context())
	wantNoError(t, err)
	want := []*pageblob.PageRange{{Start: to.Ptr[int64](offset), End: to.Ptr[int64](offset + pageblob.PageBytes - 1)}}
	if diff := gocmp.Diff(changed.PageRange, want); diff != "" || len(changed.ClearRange) > 0 {
		t.Errorf("changed since the snapshot (-got +want):\n%s", diff)
	}
}

// sizeOf is the number of bytes in the files of a directory.
func sizeOf(t *testing.T, dir string) int64 {
	t.Helper()
	var total int64
	wantNoError(t, filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	}))
	return total
}

// TestPageBlobVersions checks that Put Page changes the current version, while Put Blob and Set Blob Metadata create one.
func TestPageBlobVersions(t *testing.T) {
	t.Parallel()
	s := shared(t, azurefake.Options{Versioning: true})
	versions := func(calls ...request) behaviour {
		return behaviour{before: then([]request{pageBlob()}, calls...), call: list("&include=versions"), status: 200}
	}
	for name, row := range map[string]struct {
		talk behaviour
		want int
	}{
		"a new page blob has one version":      {versions(), 1},
		"Put Page does not create one":         {versions(pages(0, 1, page("a"))), 1},
		"a new size does not create one":       {versions(set("p", "properties", headers{"X-Ms-Blob-Content-Length": "512"}, "")), 1},
		"Put Blob creates one":                 {versions(pageBlob()), 2},
		"Set Blob Metadata creates one":        {versions(set("p", "metadata", headers{"X-Ms-Meta-Color": "amber"}, "")), 2},
		"a version keeps its page in Put Page": {versions(pages(0, 1, page("a")), set("p", "snapshot", nil, ""), pages(0, 1, page("b"))), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.converse(t)
			for _, call := range row.talk.before {
				c.send(t, call)
			}
			got := c.send(t, row.talk.call)
			if n := strings.Count(got.body, "<VersionId>"); n != row.want {
				t.Errorf("%d versions, want %d", n, row.want)
			}
		})
	}
}

// TestDeletedBlobsOfAnotherType replaces a deleted block blob. If the new blob has another type, nothing is restored ("Blob
// soft delete protection by operation").
func TestDeletedBlobsOfAnotherType(t *testing.T) {
	t.Parallel()
	s := shared(t, azurefake.Options{})
	before := []request{keepDeleted(sevenDays), put("p", "1"), {method: "DELETE", blob: "p"}}
	undelete := set("p", "undelete", nil, "")
	for name, row := range map[string]behaviour{
		"the same type": {before: then(before, put("p", "2"), undelete), call: list("&include=snapshots"), status: 200, has: []string{"<Snapshot>"}},
		"another type":  {before: then(before, pageBlob(), undelete), call: list("&include=snapshots"), status: 200, has: []string{"PageBlob"}, hasNot: []string{"<Snapshot>"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, difference := range row.try(t, s) {
				t.Error(difference)
			}
		})
	}
}

// TestPageBlobSignatures uploads and lists pages with signatures of one permission each.
func TestPageBlobSignatures(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{})
	c := made(t, server, "data")
	_, err := c.NewPageBlobClient("p").Create(t.Context(), pageblob.PageBytes, nil)
	wantNoError(t, err)
	for permission, want := range map[string][2]string{
		"r": {notPermitted, ""}, "a": {notPermitted, notPermitted}, "c": {notPermitted, notPermitted}, "w": {"", notPermitted}, "d": {notPermitted, notPermitted},
	} {
		p := signed(t, server, "data", sas.BlobSignatureValues{ContainerName: "data", BlobName: "p", Permissions: permission, ExpiryTime: time.Now().Add(time.Hour)}).NewPageBlobClient("p")
		_, err := p.UploadPages(t.Context(), readSeekCloser(page("a")), blob.HTTPRange{Count: pageblob.PageBytes}, nil)
		wantCode(t, "Put Page with "+permission, err, want[0])
		_, err = p.NewGetPageRangesPager(nil).NextPage(t.Context())
		wantCode(t, "Get Page Ranges with "+permission, err, want[1])
	}
	anonymous := func() error {
		p, err := pageblob.NewClientWithNoCredential(c.NewPageBlobClient("p").URL(), &pageblob.ClientOptions{ClientOptions: noRetry()})
		wantNoError(t, err)
		_, err = p.NewGetPageRangesPager(nil).NextPage(t.Context())
		return err
	}
	wantCode(t, "a private container", anonymous(), nobody)
	_, err = c.SetAccessPolicy(t.Context(), &container.SetAccessPolicyOptions{Access: to.Ptr(container.PublicAccessTypeBlob)})
	wantNoError(t, err)
	wantCode(t, "a public container", anonymous(), "")
}

// FuzzPageRange clears pages with arbitrary ranges. The fake must accept exactly those that consist of complete pages of
// the blob.
func FuzzPageRange(f *testing.F) {
	server, cred := fuzzed(f)
	c := byKey(f, direct{server, nil}, cred)
	if _, err := c.Create(f.Context(), nil); err != nil {
		f.Fatal(err)
	}
	if _, err := c.NewPageBlobClient("p").Create(f.Context(), 8*pageblob.PageBytes, nil); err != nil {
		f.Fatal(err)
	}
	key := signatureOf(f, cred)
	for _, value := range []string{"bytes=0-511", "bytes=512-4095", "bytes=0-", "bytes=-512", "bytes=0-511,512-1023", "bytes=0-9223372036854775807", "bytes=511-0", "bytes=+0-511", "", "pages=0-511"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/", bytes.NewReader(nil))
		r.URL = &url.URL{Path: "/" + azurefake.DefaultAccount + "/fuzz/p", RawQuery: "comp=page&" + key}
		r.Header = http.Header{"X-Ms-Range": {value}, "X-Ms-Page-Write": {"clear"}, "X-Ms-Version": {"2021-12-02"}}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		first, last, _ := strings.Cut(strings.TrimPrefix(value, "bytes="), "-")
		start, err1 := strconv.Atoi(first)
		end, err2 := strconv.Atoi(last)
		valid := cmp.Or(err1, err2) == nil && start >= 0 && end > start && end < 4096 && start%512 == 0 && end%512 == 511 && strings.HasPrefix(value, "bytes=") && !strings.ContainsAny(value, "+")
		if (w.Code == http.StatusCreated) != valid || w.Code >= 500 {
			t.Errorf("the range %q returned %d", value, w.Code)
		}
	})
}

// signatureOf is the query of an account SAS with all permissions.
func signatureOf(tb testing.TB, cred *container.SharedKeyCredential) string {
	tb.Helper()
	values := sas.AccountSignatureValues{Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: time.Now().Add(time.Hour), Permissions: letters, ResourceTypes: "sco"}
	query, err := values.SignWithSharedKey(cred)
	wantNoError(tb, err)
	return query.Encode()
}
