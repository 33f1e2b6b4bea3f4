// SPDX-License-Identifier: Apache-2.0

// Package crosscheck_test tests tools/crosscheck, which type-checks modules for another platform.
package crosscheck_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// TestCheck checks a module in which the test of one package compiles only on Linux.
func TestCheck(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "make verify type-checks for macOS")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module tiny\n\ngo 1.26\n",
		"tiny.go": "package tiny\n\nimport \"fmt\"\n\nfunc Hello() { fmt.Println() }\n",
		"tiny_test.go": "package tiny_test\n\nimport (\n\t\"syscall\"\n\t\"testing\"\n\n\t\"tiny\"\n)\n\n" +
			"func TestHello(*testing.T) {\n\ttiny.Hello()\n\t_ = syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "crosscheck")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../tools/crosscheck", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for platform, want := range map[string][]string{
		"linux/amd64":  nil,
		"darwin/arm64": {"Pdeathsig", "tiny_test.go:12"},
		"plan10/arm64": {"plan10"}, // Go does not know it
	} {
		out, err := exec.CommandContext(t.Context(), program, platform, dir).CombinedOutput()
		if (err != nil) != (want != nil) {
			t.Errorf("%s: %v\n%s", platform, err, out)
		}
		for _, text := range want {
			if !strings.Contains(string(out), text) {
				t.Errorf("%s: the output lacks %q:\n%s", platform, text, out)
			}
		}
	}
}
