// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"regexp"
	"testing"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

func TestTemplateIsFormattedGo(t *testing.T) {
	t.Parallel()
	programs, err := fs.Glob(template, "template/*/*.go.txt")
	if err != nil || len(programs) < 9 {
		t.Fatalf("%q, %v", programs, err)
	}
	for _, path := range programs {
		source, err := fs.ReadFile(template, path)
		if err != nil {
			t.Fatal(err)
		}
		formatted, err := format.Source(source)
		if err != nil || !bytes.Equal(source, formatted) {
			t.Errorf("%s is not formatted (%v)", path, err)
		}
	}
}

// TestTemplateHasTheVersionsOfTheControlPlane compares the modules that both have: of these, what is compiled for the
// control plane is there for the node.
func TestTemplateHasTheVersionsOfTheControlPlane(t *testing.T) {
	t.Parallel()
	own, err := fs.ReadFile(template, "template/gomod.txt")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile("../../controlplane/binaries/template/gomod.txt")
	if err != nil {
		t.Fatal(err)
	}
	ours, shared := versions(own), 0
	for module, version := range versions(theirs) {
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

// TestTheGuardOfProcessesIsTheControlPlanes compares a file that both templates have.
func TestTheGuardOfProcessesIsTheControlPlanes(t *testing.T) {
	t.Parallel()
	own, err := fs.ReadFile(template, "template/parent/parent.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile("../../controlplane/binaries/template/parent/parent.go.txt")
	if err != nil || !bytes.Equal(own, theirs) {
		t.Errorf("parent.go.txt differs (%v)", err)
	}
}

// versions returns those of the modules that a go.mod requires.
func versions(gomod []byte) map[string]string {
	found := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllSubmatch(gomod, -1) {
		found[string(line[1])] = string(line[2])
	}
	return found
}
