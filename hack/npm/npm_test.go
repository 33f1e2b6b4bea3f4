// SPDX-License-Identifier: Apache-2.0

// Package npm_test runs hack/npm.sh with a program in place of npm.
package npm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// npm installs a package. The first time, it also starts the script again in the background, like a test of another
// package that needs the same programs.
const npm = `#!/bin/bash
set -e
echo "npm $*" >>"$HOME/calls"
if [ ! -e "$HOME/second" ]; then
  bash "$SCRIPT" grpc >"$HOME/second" &
fi
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/node_modules/tool"
`

// TestTwoAtOnce starts the script while it installs. The second process must wait, because it would otherwise replace the
// programs that the first caller uses.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("the script does not wait without flock")
	}
	home, programs := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "npm"), []byte(npm), 0o700); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../npm.sh")
	if err != nil {
		t.Fatal(err)
	}
	run := func() string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", script, "grpc")
		cmd.Env = []string{"PATH=" + programs + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + home, "SCRIPT=" + script}
		out, err := cmd.Output() // ends when the second process has ended, too, which has the same standard error
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	installed := run()
	if again := run(); again != installed {
		t.Errorf("the packages are in %s and %s", installed, again)
	}
	second, err := os.ReadFile(filepath.Join(home, "second"))
	if err != nil || strings.TrimSpace(string(second)) != installed {
		t.Errorf("the second process printed %q (%v), want %s", second, err, installed)
	}
	if _, err := os.Stat(filepath.Join(installed, "tool")); err != nil {
		t.Error(err)
	}
	calls, err := os.ReadFile(filepath.Join(home, "calls"))
	if err != nil || strings.Count(string(calls), "\n") != 1 {
		t.Errorf("npm was called several times (%v):\n%s", err, calls)
	}
}
