// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// referencePage contains test results, each between two marks. COOPER_UPDATE writes them.
const (
	referencePage = "../../docs/reference/azurefake.md"
	pageBegin     = "<!-- begin: written by COOPER_UPDATE=1 go test ./fakes/azurefake -run %s -->\n"
	pageEnd       = "<!-- end -->\n"
)

// pageLock is held by the test that reads or writes the page.
var pageLock sync.Mutex

// different describes the differences from the service, by operation.
var different = map[string]string{
	"AppendBlobClient.appendBlockFromURL":                 "a source on another server is rejected",
	"BlobClient.abortCopyFromURL":                         "copies are complete in the response, so there is none to abort",
	"BlobClient.copyFromURL":                              "a source on another server is rejected",
	"BlobClient.getAccountInfo":                           "always Standard_RAGRS and StorageV2",
	"BlobClient.getProperties":                            "a range is ignored, as specified for HTTP",
	"BlobClient.setExpiry":                                "rejected as in an account without a hierarchical namespace",
	"BlobClient.setTier":                                  "rehydration takes 15 hours of the fake's clock, or one hour with priority High",
	"BlobClient.startCopyFromURL":                         "complete in the response; a source on another server is rejected; rehydration as for setTier",
	"BlockBlobClient.stageBlock":                          "the container must allow the encryption scope; the blob has the scope of its block list",
	"BlockBlobClient.stageBlockFromURL":                   "the same; a source on another server is rejected",
	"BlockBlobClient.uploadBlobFromURL":                   "a source on another server is rejected",
	"ContainerClient.getAccountInfo":                      "always Standard_RAGRS and StorageV2",
	"PageBlobClient.create":                               "the tiers of premium accounts are rejected",
	"PageBlobClient.getPageRangesDiff":                    "also without prevsnapshot; the ranges of a managed disk are rejected",
	"PageBlobClient.uploadPagesFromURL":                   "a source on another server is rejected",
	"ServiceClient.getAccountInfo":                        "always Standard_RAGRS and StorageV2",
	"ContainerClient.submitBatch":                         "each request in it is authorized; the batch is one call for fault rules and in the record of calls",
	"ServiceClient.submitBatch":                           "as for a container",
	"ServiceClient.getStatistics":                         "for the secondary location, which is always up to date",
	"ServiceClient.setProperties":                         "static websites are rejected; logging and metrics are stored without effect",
	"ContainerClient.restore":                             "only under its own name",
	"ContainerClient.listBlobFlatSegment":                 "including policies has no effect, since there are none",
	"ContainerClient.getProperties":                       "never has an immutability policy or a legal hold",
	"ServiceClient.getUserDelegationKey":                  "signatures for one user or certain headers are rejected (sduoid, srh, srq)",
	"ContainerClient.setAccessPolicy":                     "takes effect immediately; in the service, after up to 30 seconds",
	"ContainerClient.listBlobFlatSegmentApacheArrow":      "responds in XML, which the client also accepts",
	"ContainerClient.listBlobHierarchySegmentApacheArrow": "responds in XML, which the client also accepts",
	"ContainerClient.listBlobHierarchySegment":            "as the flat one",
}

// common are the parameters of all operations.
var common = []string{"timeout", "x-ms-client-request-id", "x-ms-version"}

// makeAnother are headers that make another operation of a call.
var makeAnother = []string{"x-ms-copy-source", "x-ms-blob-type", "x-ms-requires-sync"}

// pageOf generates the text for the results.
func pageOf(all []described, found map[string]probed) string {
	var text strings.Builder
	text.WriteString("| operation of azblob | supported | rejected | different |\n|---|---|---|---|\n")
	for _, d := range all {
		served, refused := columns(d, found[d.name])
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", d.name, served, refused, different[d.name])
	}
	return text.String()
}

func columns(d described, p probed) (served, refused string) {
	if p.refusal != "" {
		return "", p.refusal
	}
	var has, hasNot, more []string
	for _, name := range slices.Sorted(maps.Keys(p.verdicts)) {
		_, inQuery := d.query[name]
		_, inHeaders := d.headers[name]
		switch {
		case slices.Contains(common, name) || slices.Contains(httpHeaders, name):
		case !inQuery && !inHeaders && (p.verdicts[name] == isRefused || slices.Contains(makeAnother, name)):
		case d.name == "AppendBlobClient.create" && name == "x-ms-access-tier": // read, and refused whatever it is
		case !inQuery && !inHeaders:
			more = append(more, name)
		case p.verdicts[name] == isRefused:
			hasNot = append(hasNot, name)
		default:
			has = append(has, name)
		}
	}
	served = cmp.Or(strings.Join(has, ", "), "nothing more")
	if len(more) > 0 {
		served += "; also " + strings.Join(more, ", ")
	}
	return served, strings.Join(hasNot, ", ")
}

// comparePage compares the test's part of the page with the results, or writes it.
func comparePage(t *testing.T, found string) {
	t.Helper()
	pageLock.Lock()
	defer pageLock.Unlock()
	raw, err := os.ReadFile(referencePage)
	wantNoError(t, err)
	begin := fmt.Sprintf(pageBegin, t.Name())
	before, rest, ok := strings.Cut(string(raw), begin)
	is, after, closed := strings.Cut(rest, pageEnd)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table, between\n%s%s", referencePage, begin, pageEnd)
	}
	want := "\n" + found + "\n"
	if os.Getenv("COOPER_UPDATE") != "" {
		wantNoError(t, os.WriteFile(referencePage, []byte(before+begin+want+pageEnd+after), 0o600))
		return
	}
	if diff := gocmp.Diff(strings.Split(is, "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("%s is out of date; write it with COOPER_UPDATE=1 (-page +found):\n%s", referencePage, diff)
	}
}
