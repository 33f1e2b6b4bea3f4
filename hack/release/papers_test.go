// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/internal/testing/docstest"
)

// TestBill writes the SBOM of a placeholder file. TestBill in judges/documents checks with the library of SPDX that the
// result is valid.
func TestBill(t *testing.T) {
	t.Parallel()
	r := &release{options: options{version: version}, source: source{commit: "abc", time: time.Unix(0, 0)}, files: t.TempDir()}
	modules := []*debug.Module{{Path: "example.com/a", Version: "v1.0.0"}, {Path: "example.com/b", Version: "v1.0.0+incompatible"}}
	for _, name := range []string{"cooper", "cosi-obc"} {
		p := program{name: name, platform: "linux/amd64", file: name + "-" + version + "-linux-amd64", info: &buildinfo.BuildInfo{GoVersion: "go1.26.0", Deps: modules}}
		r.programs = append(r.programs, p)
		if err := r.write(p.file, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.writeBill(t.Context()); err != nil {
		t.Fatal(err)
	}
	docstest.CurrentPage(t, "hack/release/testdata/bill.spdx.json", func(string) []byte {
		bill, err := os.ReadFile(filepath.Join(r.files, "cooper-"+version+".spdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		return bill
	})
}
