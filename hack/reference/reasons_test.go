// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/reasons"
	"github.com/cooper-cosi/cooper/internal/testing/docstest"
)

// TestReasonsPage compares the page with the output of go generate, and checks that no text breaks a table.
func TestReasonsPage(t *testing.T) {
	t.Parallel()
	page, err := reasonsPage("../..")
	if err != nil {
		t.Fatal(err)
	}
	docstest.CurrentPage(t, "docs/reference/reasons.md", func(string) []byte { return []byte(page) })
	columns := 0
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			columns = 0 // the next row is a header
			continue
		}
		cells := strings.Count(strings.TrimSpace(line), " | ") + 1
		if columns == 0 {
			columns = cells
		}
		if strings.HasPrefix(line, "| ") && (cells != columns || columns != 4 && columns != 5) {
			t.Errorf("a row of %d cells in a table of %d columns: %s", cells, columns, line)
		}
	}
	for _, want := range []string{"| `SecretTaken` |", "| `BucketHeld` |", "| `PermissionDenied` |", "| BucketClaim | status.boundBucketName may not be changed", "| cosi-protection | The finalizer", "| kubectl cosi | BucketAccess … does not use claim"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// TestEveryRefusalHasItsText also finds explanations of messages that no longer exist.
func TestEveryRefusalHasItsText(t *testing.T) {
	t.Parallel()
	fromCRDs, err := refusals()
	if err != nil {
		t.Fatal(err)
	}
	fromPolicies, err := policyRefusals("../..")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, r := range slices.Concat(fromCRDs, fromPolicies) {
		want = append(want, r.message)
	}
	slices.Sort(want)
	for _, text := range reasons.Refusals() {
		got = append(got, text.Reason)
	}
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("(-messages of CRDs and policies +texts):\n%s", diff)
	}
}

// TestEveryErrorHasItsText also finds explanations of messages that no longer exist.
func TestEveryErrorHasItsText(t *testing.T) {
	t.Parallel()
	errors, err := commandErrors("../..")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, e := range errors {
		want = append(want, e.message)
	}
	for _, text := range reasons.Errors() {
		got = append(got, text.Reason)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-messages in the sources +texts):\n%s", diff)
	}
}

// TestRefusalsAreOfAllManifests finds policies, and CRDs with rules, in files that the page does not include.
func TestRefusalsAreOfAllManifests(t *testing.T) {
	t.Parallel()
	var policies []string
	err := filepath.WalkDir("../../deploy", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "charts" { // copies
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".yaml" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash("../../")))
		if strings.Contains(string(text), "kind: ValidatingAdmissionPolicy\n") {
			policies = append(policies, name)
		}
		if strings.Contains(string(text), "x-kubernetes-validations:") && !strings.HasPrefix(name, "deploy/crds/") {
			t.Errorf("%s has rules that the page does not list", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(policies)
	if diff := cmp.Diff(slices.Sorted(slices.Values(policyFiles)), policies); diff != "" {
		t.Errorf("(-policyFiles +files with policies):\n%s", diff)
	}
}
