// SPDX-License-Identifier: Apache-2.0

// Package referencetest generates the configuration reference of a driver, which consists of a page and a JSON
// schema, and checks that the reference is up to date. The input is the configuration types with their comments, and
// the declared environment variables and class parameters.
package referencetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Current fails if the reference of the driver in the working directory is out of date. With COOPER_UPDATE set, it
// writes the reference instead.
func (d Document) Current(t *testing.T) {
	t.Helper()
	files, err := d.files(".")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		path := filepath.Join("..", "..", "docs", "reference", name)
		if os.Getenv("COOPER_UPDATE") != "" {
			if err := os.WriteFile(path, want, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("docs/reference/%s is out of date; run go generate in the driver's directory (-want +got):\n%s", name, diff)
		}
	}
}
