// SPDX-License-Identifier: Apache-2.0

package main //nolint:testpackage // the log of libraries can only be observed through the command itself

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// TestLibrariesLogToStandardError runs a command that may fail. Without a logger, controller-runtime prints a
// stack trace after 30 seconds. The command runs in a process of its own, because only the first logger of a
// process has an effect.
func TestLibrariesLogToStandardError(t *testing.T) {
	t.Parallel()
	const inner = "COOPER_TEST_LIBRARIES_LOG"
	if os.Getenv(inner) != "" {
		if code := run(t.Context(), []string{"apply", "--kubeconfig", filepath.Join(t.TempDir(), "missing")}, os.Stdout, os.Stderr); code != 1 {
			t.Errorf("cooper apply without a kubeconfig: exit code %d, want 1", code)
		}
		ctrllog.Log.WithName("library").Info("of no interest")
		ctrllog.Log.WithName("library").Error(nil, "of interest")
		return
	}
	var stderr strings.Builder
	command := exec.Command(os.Args[0], "-test.run=^TestLibrariesLogToStandardError$")
	command.Env = append(os.Environ(), inner+"=1")
	command.Stderr = &stderr
	if out, err := command.Output(); err != nil {
		t.Fatalf("%v\n%s%s", err, out, &stderr)
	}
	if got := stderr.String(); !strings.Contains(got, `msg="of interest"`) || strings.Contains(got, "of no interest") {
		t.Errorf("want the library's error and no information on standard error, got:\n%s", got)
	}
}
