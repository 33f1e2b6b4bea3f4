// SPDX-License-Identifier: Apache-2.0

package pages_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// root is the root of the repository.
const root = "../../"

// build builds a program of this repository and returns its path.
func build(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	command := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/"+name)
	command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

// start starts a program, waits until a line that it prints matches the pattern, and returns the first group. The program
// gets SIGINT at the end of the test, as by Ctrl-C, and must then exit with 0.
func start(t *testing.T, pattern, path string, args ...string) string {
	t.Helper()
	var problems bytes.Buffer
	command := exec.Command(path, args...)
	command.Env, command.Stderr = append(os.Environ(), "TMPDIR="+processtest.ShortTempDir(t)), &problems
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	processtest.BindToTest(command)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines, wanted := bufio.NewScanner(stdout), regexp.MustCompile(pattern)
	var match []string
	for match == nil && lines.Scan() {
		match = wanted.FindStringSubmatch(lines.Text())
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, stdout)
		ended <- errors.Join(err, command.Wait())
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt) // it may have ended
		if err := <-ended; err != nil {
			t.Errorf("%s: %v\n%s", filepath.Base(path), err, &problems)
		}
	})
	if match == nil {
		t.Fatalf("%s ended without a line like %s", filepath.Base(path), pattern)
	}
	return match[1]
}
