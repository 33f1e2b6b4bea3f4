// SPDX-License-Identifier: Apache-2.0

package storestest

import (
	"io/fs"
	"os/exec"
	"strings"
	"testing"
)

// TestTheVersionIsThatOfThePage verifies that the version is ignored for an installed store and compared for
// a pinned one.
func TestTheVersionIsThatOfThePage(t *testing.T) {
	t.Parallel()
	written := Row{Store: "Ceph RGW", Version: "16.2.15", Driver: "S3, `rgw`", Quotas: "yes", Suite: "MUST 1/1", Installed: true}
	page := string(render(string(render("", written)), Row{Store: "MinIO", Version: "1", Driver: "S3, `minio`", Suite: "MUST 1/1"}))
	newer := written
	newer.Version = "19.2.0"
	if got := string(render(page, newer.asVersionOf(page))); got != page {
		t.Errorf("another version changes the page to\n%s", got)
	}
	pinned := newer
	pinned.Installed = false
	if got := string(render(page, pinned.asVersionOf(page))); got == page {
		t.Error("another version of a store that is pinned changes nothing")
	}
	newer.Quotas = "no"
	if got := string(render(page, newer.asVersionOf(page))); got == page {
		t.Error("a store without quotas changes nothing")
	}
	other := Row{Store: "Garage", Version: "2", Driver: "S3, `garage`", Suite: "MUST 1/1", Installed: true}
	if got := string(render(page, other.asVersionOf(page))); !strings.Contains(got, other.String()) {
		t.Errorf("a store that the page does not have is not in\n%s", got)
	}
}

// outcome is a testing.TB that records the result.
type outcome struct {
	testing.TB

	failed, skipped bool
}

func (o *outcome) Fatal(...any) { o.failed = true }

func (o *outcome) Skip(...any) { o.skipped = true }

// TestMissing verifies that a missing store fails the test where stores are required.
func TestMissing(t *testing.T) {
	for name, test := range map[string]struct {
		variable string
		why      error
		fails    bool
	}{
		"a store that is not there is skipped":   {"", fs.ErrNotExist, false},
		"and fails where stores are required":    {"1", fs.ErrNotExist, true},
		"one that cannot run fails in any event": {"", fs.ErrPermission, true},
		"a program that is not there is skipped": {"", exec.ErrNotFound, false},
		"and it fails, too":                      {"1", exec.ErrNotFound, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(requireVariable, test.variable)
			recorded := &outcome{TB: t}
			Missing(recorded, test.why)
			if recorded.failed != test.fails || recorded.failed == recorded.skipped {
				t.Errorf("failed: %t, skipped: %t", recorded.failed, recorded.skipped)
			}
		})
	}
}
