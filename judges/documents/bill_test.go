// SPDX-License-Identifier: Apache-2.0

// Package documents_test uses third-party libraries to validate the formats of documents that Cooper publishes.
package documents_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"
)

// root is the root of the repository.
const root = "../../"

// Valid values of mandatory fields in SPDX 2.3.
var (
	spdxID       = regexp.MustCompile(`^[A-Za-z0-9.-]+$`) // after the prefix SPDXRef-, which the library requires and removes
	spdxLocation = regexp.MustCompile(`^(NONE|NOASSERTION|(git\+)?https://\S+)$`)
	spdxURI      = regexp.MustCompile(`^https://[^\s#]+$`)
	spdxCreator  = regexp.MustCompile(`^(Tool|Person|Organization)$`)
)

// wrongInBill returns the violations of SPDX 2.3. The library checks that the identifiers in relationships
// exist, but not that all mandatory fields are set.
func wrongInBill(text []byte) []string {
	document, err := json.Read(bytes.NewReader(text))
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	must := func(holds bool, what, of string) {
		if !holds {
			found = append(found, strings.TrimSpace(of+" "+what))
		}
	}
	if err := spdxlib.ValidateDocument(document); err != nil {
		found = append(found, err.Error())
	}
	must(document.SPDXVersion == spdx.Version, "spdxVersion", "")
	must(document.DataLicense == "CC0-1.0", "dataLicense", "")
	must(document.SPDXIdentifier == "DOCUMENT", "SPDXID", "")
	must(document.DocumentName != "", "name", "")
	must(spdxURI.MatchString(document.DocumentNamespace), "documentNamespace", "")
	if creation := document.CreationInfo; creation == nil {
		must(false, "creationInfo", "")
	} else {
		_, err := time.Parse("2006-01-02T15:04:05Z", creation.Created)
		must(err == nil, "created", "")
		must(len(creation.Creators) > 0, "creators", "")
		for _, c := range creation.Creators {
			must(spdxCreator.MatchString(c.CreatorType) && c.Creator != "", "creators", "")
		}
	}
	seen := map[spdx.ElementID]bool{document.SPDXIdentifier: true}
	for _, p := range document.Packages {
		must(spdxID.MatchString(string(p.PackageSPDXIdentifier)) && !seen[p.PackageSPDXIdentifier], "SPDXID", p.PackageName)
		seen[p.PackageSPDXIdentifier] = true
		must(p.PackageName != "", "name", string(p.PackageSPDXIdentifier))
		must(spdxLocation.MatchString(p.PackageDownloadLocation), "downloadLocation", p.PackageName)
		must(p.IsFilesAnalyzedTagPresent && !p.FilesAnalyzed, "filesAnalyzed", p.PackageName) // otherwise it needs a verification code
		for _, sum := range p.PackageChecksums {
			must(sum.Algorithm == spdx.SHA256 && len(sum.Value) == 64, "checksums", p.PackageName)
		}
		for _, r := range p.PackageExternalReferences {
			must(r.Category != "" && r.RefType != "" && r.Locator != "", "externalRefs", p.PackageName)
		}
	}
	for _, r := range document.Relationships {
		must(r.Relationship != "", "relationshipType", string(r.RefA.ElementRefID))
	}
	describes := func(r *spdx.Relationship) bool {
		return r.RefA.ElementRefID == "DOCUMENT" && r.Relationship == "DESCRIBES"
	}
	must(slices.ContainsFunc(document.Relationships, describes), "describes nothing", "")
	return found
}

// TestBill validates the SBOM that TestBill in hack/release writes and, for the test of a whole release, the file that
// COOPER_BILL names. It verifies that corrupted SBOMs are detected.
func TestBill(t *testing.T) {
	t.Parallel()
	bill, err := os.ReadFile(root + "hack/release/testdata/bill.spdx.json")
	if err != nil {
		t.Fatal(err)
	}
	released := bill
	if file := os.Getenv("COOPER_BILL"); file != "" {
		if released, err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	for _, valid := range [][]byte{bill, released} {
		if wrong := wrongInBill(valid); len(wrong) > 0 {
			t.Errorf("%q", wrong)
		}
	}
	for name, tc := range map[string]struct{ old, spoilt, want string }{
		"no JSON":                       {"{", "", "invalid character"},
		"another version":               {`"SPDX-2.3"`, `"SPDX-9"`, "unsupported"},
		"another licence of the bill":   {`"CC0-1.0"`, `"MIT"`, "dataLicense"},
		"another name of itself":        {`"SPDXID": "SPDXRef-DOCUMENT"`, `"SPDXID": "SPDXRef-x"`, "SPDXID"},
		"no name":                       {`"name": "cooper-`, `"x": "`, "name"},
		"a namespace with a fragment":   {`/abc"`, `/abc#1"`, "documentNamespace"},
		"nobody who made it":            {`"creationInfo"`, `"x"`, "creationInfo"},
		"no time":                       {`"1970-01-01T00:00:00Z"`, `"yesterday"`, "created"},
		"a creator of no kind":          {`"Organization: Cooper"`, `"Robot: Cooper"`, "creators"},
		"two modules of one identifier": {`"SPDXRef-Module-example.com--47b-v1.0.0--43incompatible"`, `"SPDXRef-Module-example.com--47a-v1.0.0"`, "example.com/b SPDXID"},
		"a module from nowhere":         {`"downloadLocation": "NOASSERTION"`, `"x": ""`, "stdlib downloadLocation"},
		"files that were not analyzed":  {`"filesAnalyzed": false`, `"filesAnalyzed": true`, "cooper-v1.1000.0-linux-amd64 filesAnalyzed"},
		"a sum of no length":            {`"checksumValue": "`, `"checksumValue": "0`, "cooper-v1.1000.0-linux-amd64 checksums"},
		"a reference to nothing":        {`"pkg:golang/stdlib@1.26.0"`, `""`, "stdlib externalRefs"},
		"a relation of no kind":         {`"relationshipType": "DEPENDS_ON"`, `"relationshipType": ""`, "relationshipType"},
		"a relation to nothing":         {`"relatedSpdxElement": "SPDXRef-Module-stdlib`, `"relatedSpdxElement": "SPDXRef-x`, "used in relationship"},
		"nothing that it is about":      {`"DESCRIBES"`, `"CONTAINS"`, "describes nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(string(bill), tc.old, tc.spoilt)
			if text == string(bill) {
				t.Fatalf("there is no %s in\n%s", tc.old, bill)
			}
			if got := fmt.Sprint(wrongInBill([]byte(text))); !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %q", got, tc.want)
			}
		})
	}
}
