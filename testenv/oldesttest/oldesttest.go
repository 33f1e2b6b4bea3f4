// SPDX-License-Identifier: Apache-2.0

// Package oldesttest repeats tests of other packages on the oldest release of Kubernetes that Cooper supports.
package oldesttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// Again runs the named tests of this binary in a child process with an API server of the oldest supported
// release, and fails unless each passes. It runs in the full tier only, because that release must be built
// first.
func Again(t *testing.T, tests ...string) {
	t.Helper()
	fulltest.Only(t, "the same tests run on the current Kubernetes, and the binaries of "+binaries.Oldest+" take minutes to build")
	paths, err := binaries.Find(t.Context(), binaries.Options{Oldest: true, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	assets := t.TempDir()
	for name, path := range map[string]string{
		binaries.APIServer: paths.APIServer, binaries.Etcd: paths.Etcd, binaries.Kubectl: paths.Kubectl,
	} {
		if err := os.Symlink(path, filepath.Join(assets, name)); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	again := exec.CommandContext(t.Context(), self, "-test.run=^("+strings.Join(tests, "|")+")$", "-test.v")
	again.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+assets) // without -short, so that all of these tests run
	output, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "using kube-apiserver and etcd from "+assets) {
		t.Errorf("on Kubernetes %s: %v\n%s", binaries.Oldest, err, output)
	}
	for _, name := range tests {
		if !strings.Contains(string(output), "--- PASS: "+name+" ") {
			t.Errorf("on Kubernetes %s: %s did not pass: there is no such test, or it was skipped", binaries.Oldest, name)
		}
	}
}
