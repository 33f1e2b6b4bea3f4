// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files in the directory of a Shell. One has 100 bytes. The other has 20 MiB, so that tools upload it in parts.
const (
	SmallFile = "small.txt"
	LargeFile = "large.bin"
)

// Shell runs command-line tools in a directory.
type Shell struct {
	// Dir is the working directory and the home directory.
	Dir string
	// Env is the environment, without AWS variables.
	Env []string

	t *testing.T
	// commands counts the commands that were run.
	commands int
}

// NewShell returns a Shell. It skips the test if the tool is not installed, and logs the number of commands at the end
// of the test.
func NewShell(t *testing.T, tool string) *Shell {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("%s is not installed", tool)
	}
	s := &Shell{Dir: t.TempDir(), t: t}
	for file, size := range map[string]int{SmallFile: 100, LargeFile: 20 << 20} {
		content := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{}).Read(content) // never fails
		if err := os.WriteFile(filepath.Join(s.Dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "AWS_") })
	s.Set("HOME="+s.Dir, "AWS_EC2_METADATA_DISABLED=true")
	t.Cleanup(func() { t.Logf("%d commands of %s", s.commands, tool) })
	return s
}

// Set adds variables, each as KEY=value.
func (s *Shell) Set(variables ...string) { s.Env = append(s.Env, variables...) }

// Run runs a tool and returns its output.
func (s *Shell) Run(tool string, args ...string) (string, error) {
	s.t.Helper()
	s.commands++
	cmd := exec.CommandContext(s.t.Context(), tool, args...)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// Must is like Run, for a tool that must succeed.
func (s *Shell) Must(tool string, args ...string) string {
	s.t.Helper()
	output, err := s.Run(tool, args...)
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", tool, strings.Join(args, " "), err, output)
	}
	return output
}

// Refused is like Run, for a tool that must fail and print text.
func (s *Shell) Refused(text, tool string, args ...string) {
	s.t.Helper()
	if output, err := s.Run(tool, args...); err == nil || !strings.Contains(output, text) {
		s.t.Errorf("%s %s: %v, without %q:\n%s", tool, strings.Join(args, " "), err, text, output)
	}
}

// SameFile fails the test if two files of the directory differ.
func (s *Shell) SameFile(a, b string) {
	s.t.Helper()
	x, err1 := os.ReadFile(filepath.Join(s.Dir, a))
	y, err2 := os.ReadFile(filepath.Join(s.Dir, b))
	if err1 != nil || err2 != nil || !bytes.Equal(x, y) {
		s.t.Errorf("%s and %s differ (%v, %v)", a, b, err1, err2)
	}
}
