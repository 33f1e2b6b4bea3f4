// SPDX-License-Identifier: Apache-2.0

package main //nolint:testpackage // the log of libraries can only be observed through the command itself

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// TestLibrariesLogToStandardError runs a command that may fail. Without a logger, controller-runtime prints a
// stack trace after 30 seconds.
func TestLibrariesLogToStandardError(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"apply", "--kubeconfig", filepath.Join(t.TempDir(), "missing")}, &stdout, &stderr); code != 1 {
		t.Errorf("cooper apply without a kubeconfig: exit code %d, want 1", code)
	}
	ctrllog.Log.WithName("library").Info("of no interest")
	ctrllog.Log.WithName("library").Error(nil, "of interest")
	if got := stderr.String(); !strings.Contains(got, `msg="of interest"`) || strings.Contains(got, "of no interest") {
		t.Errorf("want the library's error and nothing less on standard error, got:\n%s", got)
	}
}
