// SPDX-License-Identifier: Apache-2.0

package apps_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A published program is built with the go.mod of its authors, so its dependencies do not affect those of this module.
type published struct {
	// module is the module with the go.mod, in the form path@version.
	module string
	// edits are further arguments of go mod edit.
	edits []string
	// main is the import path of the main package, or the path of a file that replaces it.
	main string
	// linkFlags is the value of -ldflags.
	linkFlags string
	// toolchain is the value of GOTOOLCHAIN, for a program that needs a newer version of Go.
	toolchain string
}

// build writes the executable to a file.
func (p published) build(t *testing.T, output string) {
	t.Helper()
	dir := t.TempDir()
	var source struct{ Dir string }
	if err := json.Unmarshal(p.run(t, dir, "mod", "download", "-json", p.module), &source); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"go.mod": source.Dir + "/go.mod", "go.sum": source.Dir + "/go.sum"}
	main := p.main
	if filepath.Ext(main) == ".go" {
		files["main.go"], main = main, "."
	}
	for to, from := range files {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p.run(t, dir, append([]string{"mod", "edit", "-module=judge", "-require=" + p.module}, p.edits...)...)
	p.run(t, dir, "build", "-mod=mod", "-trimpath", "-ldflags="+p.linkFlags, "-o", output, main)
}

// run runs the go command and returns its output.
func (p published) run(t *testing.T, dir string, arguments ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", arguments...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if p.toolchain != "" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+p.toolchain)
	}
	out, err := cmd.Output()
	if err != nil {
		var said []byte
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			said = exit.Stderr
		}
		t.Fatalf("go %q: %v\n%s%s", arguments, err, out, said)
	}
	return out
}
