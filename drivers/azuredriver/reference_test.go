// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestReferenceIsCurrent fails when the configuration changed and the reference was not generated.
func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	generate := exec.CommandContext(t.Context(), "go", "run", "./internal/reference", ".", made)
	if output, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, name := range []string{"azure-driver.md", "azure-driver.schema.json"} {
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
