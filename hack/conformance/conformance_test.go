// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cooper-cosi/cooper/sanity"
)

const root = "../.."

// TestDriversConform holds every driver of this repository against the whole suite, and the page
// against the figures.
func TestDriversConform(t *testing.T) {
	t.Parallel()
	written, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets() {
		t.Run(target.name, func(t *testing.T) {
			t.Parallel()
			o, err := target.run(t.Context(), root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if failures := o.failures(); failures != "" {
				t.Error(failures)
			}
			line := fmt.Sprintf("| %s | %s | %s | %s |", o.about, o.report.Count(sanity.Must), o.report.Count(sanity.Should), o.report.Count(sanity.Advice))
			if !bytes.Contains(written, []byte(line)) {
				t.Errorf("%s lacks the line %q: run make generate", page, line)
			}
			t.Log(o.report.Verdict())
		})
	}
}
