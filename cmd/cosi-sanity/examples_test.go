// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestExamplesNameVariablesOfTheDrivers compares the environment variables in the how-to's files with each
// driver's --help. A driver silently ignores a variable that it does not know.
func TestExamplesNameVariablesOfTheDrivers(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../docs/howto/sanity/*.yaml")
	if err != nil || len(paths) < 3 {
		t.Fatalf("want an example for each reference driver, got %q, %v", paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var file struct {
				Command     []string          `json:"command"`
				Environment map[string]string `json:"environment"`
			}
			if err := yaml.Unmarshal(text, &file); err != nil {
				t.Fatal(err)
			}
			driver := filepath.Base(file.Command[0])
			help, err := exec.CommandContext(t.Context(), "go", "run", "../"+driver, "--help").CombinedOutput()
			if err != nil {
				t.Fatalf("%s --help: %v\n%s", driver, err, help)
			}
			for variable := range file.Environment {
				if !strings.Contains(string(help), variable+"]") && !strings.Contains(string(help), "  "+variable+" ") {
					t.Errorf("%s does not read %s", driver, variable)
				}
			}
		})
	}
}
