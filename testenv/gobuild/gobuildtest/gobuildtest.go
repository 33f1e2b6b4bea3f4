// SPDX-License-Identifier: Apache-2.0

// Package gobuildtest checks templates of modules that gobuild builds. It does not build them.
package gobuildtest

import (
	"bytes"
	"go/format"
	"io/fs"
	"regexp"
	"testing"
)

// Formatted fails the test if a Go file of a template is not formatted, or if there are fewer than least
// files.
func Formatted(t *testing.T, template fs.FS, least int) {
	t.Helper()
	programs, err := fs.Glob(template, "template/*/*.go.txt")
	if err != nil || len(programs) < least {
		t.Fatalf("%q, %v", programs, err)
	}
	for _, path := range programs {
		source, err := fs.ReadFile(template, path)
		if err != nil {
			t.Fatal(err)
		}
		formatted, err := format.Source(source)
		if err != nil || !bytes.Equal(source, formatted) {
			t.Errorf("%s is not formatted (%v)", path, err)
		}
	}
}

// Required returns the versions of the modules that a go.mod requires.
func Required(gomod []byte) map[string]string {
	versions := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllSubmatch(gomod, -1) {
		versions[string(line[1])] = string(line[2])
	}
	return versions
}
