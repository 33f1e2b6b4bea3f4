// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// variable makes the test binary the helper, and holds its argument.
const variable = "COOPER_TEST_HELPER"

// HelperMain is a TestMain: in a process that StartHelper started, it is the helper.
func HelperMain(m *testing.M, helper func(argument string)) {
	if argument := os.Getenv(variable); argument != "" {
		helper(argument)
		return
	}
	m.Run()
}

// StartHelper starts the helper, which is killed when the test ends, and returns the lines that it prints. What it puts into
// the directory for temporary files goes with the test.
func StartHelper(t *testing.T, argument string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+argument, "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(output)
}
