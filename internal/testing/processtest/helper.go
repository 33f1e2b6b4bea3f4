// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// variable marks a process as the helper; its value is the helper's argument.
const variable = "COOPER_TEST_HELPER"

// HelperMain is a TestMain that runs the helper in a process started by StartHelper.
func HelperMain(m *testing.M, helper func(argument string)) {
	if argument := os.Getenv(variable); argument != "" {
		helper(argument)
		return
	}
	m.Run()
}

// StartHelper starts the helper and returns its process and the lines that it prints. The helper is killed at the end
// of the test, and its temporary directory is removed.
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
