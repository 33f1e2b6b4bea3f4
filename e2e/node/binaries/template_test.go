// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"io/fs"
	"os"
	"testing"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
	"github.com/cooper-cosi/cooper/testenv/gobuild/gobuildtest"
)

func TestTemplateIsFormattedGo(t *testing.T) {
	t.Parallel()
	gobuildtest.Formatted(t, template, 9)
}

// TestTemplateHasTheVersionsOfTheControlPlane compares the modules that the templates share. If the versions
// are equal, packages compiled for the control plane are reused for the node.
func TestTemplateHasTheVersionsOfTheControlPlane(t *testing.T) {
	t.Parallel()
	own, err := fs.ReadFile(template, "template/gomod.txt")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile("../../../testenv/controlplane/binaries/template/gomod.txt")
	if err != nil {
		t.Fatal(err)
	}
	ours, shared := gobuildtest.Required(own), 0
	for module, version := range gobuildtest.Required(theirs) {
		if has, ok := ours[module]; ok {
			shared++
			if has != version {
				t.Errorf("%s: %s, and %s for the control plane", module, has, version)
			}
		}
	}
	if shared == 0 || ours["k8s.io/kubernetes"] != binaries.Version {
		t.Errorf("%d modules are in both, and Kubernetes is %s", shared, ours["k8s.io/kubernetes"])
	}
}

// TestTheGuardOfProcessesIsTheControlPlanes compares a file that both templates contain.
func TestTheGuardOfProcessesIsTheControlPlanes(t *testing.T) {
	t.Parallel()
	own, err := fs.ReadFile(template, "template/parent/parent.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile("../../../testenv/controlplane/binaries/template/parent/parent.go.txt")
	if err != nil || !bytes.Equal(own, theirs) {
		t.Errorf("parent.go.txt differs (%v)", err)
	}
}
