// SPDX-License-Identifier: Apache-2.0

// Package referencetest checks that the configuration reference of a driver is current. It must not
// know any configuration.
package referencetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Current fails when the configuration of the driver in the working directory changed and the files
// of its reference were not generated.
func Current(t *testing.T, files ...string) {
	t.Helper()
	made := t.TempDir()
	generate := exec.CommandContext(t.Context(), "go", "run", "./internal/reference", ".", made)
	if output, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, name := range files {
		want, err := os.ReadFile(filepath.Join(made, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/reference/%s is not current (%v): run make generate", name, err)
		}
	}
}
