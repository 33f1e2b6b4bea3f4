// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/pagetest"
)

// TestReasonsPage compares the page with what go generate would write. It also sees that a table stays one.
func TestReasonsPage(t *testing.T) {
	t.Parallel()
	page, err := reasonsPage("../..")
	if err != nil {
		t.Fatal(err)
	}
	pagetest.Current(t, "docs/reference/reasons.md", func(string) []byte { return []byte(page) })
	for line := range strings.Lines(page) {
		cells := strings.Count(strings.TrimSpace(line), " | ") + 1
		if strings.HasPrefix(line, "| ") && cells != 2 && cells != 4 {
			t.Errorf("a row of %d cells: %s", cells, line)
		}
	}
	for _, want := range []string{"| `SecretTaken` |", "| `BucketHeld` |", "| `PermissionDenied` |", "| BucketClaim | status.boundBucketName may not be changed", "| cosi-protection | the finalizer"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
