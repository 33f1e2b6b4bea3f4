// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// TestShipped runs cooper with the control plane of a release archive, on a machine that has neither Go nor
// cached binaries.
func TestShipped(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "a control plane")
	built, err := binaries.Find(t.Context(), binaries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cooper := filepath.Join(dir, "cooper")
	// Do not write a copy: it could not be executed (ETXTBSY) while a child process that a parallel test has just forked
	// still has the copy open for writing.
	if err := os.Link(program(t), cooper); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{built.APIServer, built.Etcd, built.ControllerManager, built.Kubectl} {
		if err := os.Symlink(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	up := startUpOf(t, cooper, []string{"PATH=" + t.TempDir(), "HOME=" + t.TempDir()}, newData(t))
	if kubectl, err := os.Readlink(filepath.Join(up.data, "bin", "kubectl")); err != nil || kubectl != filepath.Join(dir, "kubectl") {
		t.Errorf("kubectl is %q (%v), want the one in the directory of cooper", kubectl, err)
	}
	up.interrupt(t)
	if want := "using kube-apiserver and etcd from " + dir; !strings.Contains(up.stderr.String(), want) {
		t.Errorf("it does not say %q:\n%s", want, up.stderr)
	}
}
