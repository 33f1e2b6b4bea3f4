// SPDX-License-Identifier: Apache-2.0

package storestest

import (
	"io/fs"
	"strings"
	"testing"
)

// TestTheVersionIsThatOfThePage unless the page is written: what is compared is what the store can do.
func TestTheVersionIsThatOfThePage(t *testing.T) {
	t.Parallel()
	written := Row{Store: "Ceph RGW", Version: "16.2.15", Driver: "S3, `rgw`", Quotas: "yes", Suite: "MUST 1/1"}
	page := string(render(string(render("", written)), Row{Store: "MinIO", Version: "1", Driver: "S3, `minio`", Suite: "MUST 1/1"}))
	newer := written
	newer.Version = "19.2.0"
	if got := string(render(page, newer.asVersionOf(page))); got != page {
		t.Errorf("another version changes the page to\n%s", got)
	}
	newer.Quotas = "no"
	if got := string(render(page, newer.asVersionOf(page))); got == page {
		t.Error("a store without quotas changes nothing")
	}
	other := Row{Store: "Garage", Version: "2", Driver: "S3, `garage`", Suite: "MUST 1/1"}
	if got := string(render(page, other.asVersionOf(page))); !strings.Contains(got, other.String()) {
		t.Errorf("a store that the page does not have is not in\n%s", got)
	}
}

// outcome notes what a test is told, in place of ending it.
type outcome struct {
	testing.TB

	failed, skipped bool
}

func (o *outcome) Fatal(...any) { o.failed = true }

func (o *outcome) Skip(...any) { o.skipped = true }

// TestMissing skips nothing where stores are required.
func TestMissing(t *testing.T) {
	for name, test := range map[string]struct {
		variable string
		why      error
		fails    bool
	}{
		"a store that is not there is skipped":   {"", fs.ErrNotExist, false},
		"and fails where stores are required":    {"1", fs.ErrNotExist, true},
		"one that cannot run fails in any event": {"", fs.ErrPermission, true},
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
