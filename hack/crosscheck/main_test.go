// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck checks a module in which the test of one package compiles only on Linux.
func TestCheck(t *testing.T) {
	t.Parallel()
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
	if err := check(dir, "linux/amd64"); err != nil {
		t.Errorf("on Linux: %v", err)
	}
	if err := check(dir, "darwin/arm64"); err == nil || !strings.Contains(err.Error(), "Pdeathsig") || !strings.Contains(err.Error(), "tiny_test.go:12") {
		t.Errorf("on macOS: want an error about Pdeathsig in tiny_test.go, got %v", err)
	}
	if err := check(dir, "plan10/arm64"); err == nil {
		t.Error("on a system that Go does not know: no error")
	}
}
