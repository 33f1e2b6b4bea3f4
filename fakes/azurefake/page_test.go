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

// referencePage has what tests found, each between two marks; COOPER_UPDATE writes it there.
const (
	referencePage = "../../docs/reference/azurefake.md"
	pageBegin     = "<!-- begin: written by COOPER_UPDATE=1 go test ./fakes/azurefake -run %s -->\n"
	pageEnd       = "<!-- end -->\n"
)

// pageLock is held by the test that reads or writes the page.
var pageLock sync.Mutex

// different is where the fake does otherwise than the service, by operation.
var different = map[string]string{
	"AppendBlobClient.appendBlockFromURL":                 "a source of another server is refused",
	"BlobClient.abortCopyFromURL":                         "copies are complete in the response, so that there is none to abort",
	"BlobClient.copyFromURL":                              "a source of another server is refused",
	"BlobClient.getAccountInfo":                           "always Standard_RAGRS and StorageV2",
	"BlobClient.getProperties":                            "a range is ignored, as HTTP has it",
	"BlobClient.setExpiry":                                "refused as in an account without a hierarchical namespace",
	"BlobClient.setTier":                                  "what is archived comes back after 15 hours of the fake's clock, with the priority High after one",
	"BlobClient.startCopyFromURL":                         "complete in the response; a source of another server is refused; what is archived comes back as by setTier",
	"BlockBlobClient.stageBlock":                          "the encryption scope must be one that the container allows; the blob has that of its list",
	"BlockBlobClient.stageBlockFromURL":                   "the same; a source of another server is refused",
	"BlockBlobClient.uploadBlobFromURL":                   "a source of another server is refused",
	"ContainerClient.getAccountInfo":                      "always Standard_RAGRS and StorageV2",
	"ServiceClient.getAccountInfo":                        "always Standard_RAGRS and StorageV2",
	"ServiceClient.getStatistics":                         "of the secondary location, which is never behind",
	"ServiceClient.setProperties":                         "CORS rules, soft delete and static websites are refused; logging and metrics are kept, and nothing is logged or measured",
	"ServiceClient.listContainersSegment":                 "nothing is soft-deleted, so that include=deleted adds nothing",
	"ContainerClient.listBlobFlatSegment":                 "nothing is soft-deleted or under a policy, so that including it adds nothing",
	"ContainerClient.getProperties":                       "never has an immutability policy or a legal hold",
	"ServiceClient.getUserDelegationKey":                  "signatures for one user or certain headers are refused (sduoid, srh, srq)",
	"ContainerClient.setAccessPolicy":                     "counts at once, where the service may take 30 seconds",
	"ContainerClient.listBlobFlatSegmentApacheArrow":      "responds in XML, which the client takes, too",
	"ContainerClient.listBlobHierarchySegmentApacheArrow": "responds in XML, which the client takes, too",
	"ContainerClient.listBlobHierarchySegment":            "as the flat one",
}

// common are the parameters of all operations.
var common = []string{"timeout", "x-ms-client-request-id", "x-ms-version"}

// makeAnother are headers that make another operation of a call.
var makeAnother = []string{"x-ms-copy-source", "x-ms-blob-type", "x-ms-requires-sync"}

// pageOf generates the text for the results.
func pageOf(all []described, found map[string]probed) string {
	var text strings.Builder
	text.WriteString("| operation of azblob | served | refused | different |\n|---|---|---|---|\n")
	for _, d := range all {
		served, refused := columns(d, found[d.name])
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", d.name, served, refused, different[d.name])
	}
	return text.String()
}

func columns(d described, p probed) (served, refused string) {
	if p.refusal != "" {
		return "", "all of it: " + p.refusal
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
		t.Errorf("%s lists something else; write it with COOPER_UPDATE=1 (-page +found):\n%s", referencePage, diff)
	}
}
