// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/testenv/gobuild/gobuildtest"
)

func TestTemplateIsFormattedGo(t *testing.T) {
	t.Parallel()
	gobuildtest.Formatted(t, template, 4)
	gobuildtest.Formatted(t, managerTemplate, 3)
}

func TestTemplateRequiresTheNamedVersion(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{"gomod.txt": Version, "oldest.mod.txt": Oldest} {
		content, err := os.ReadFile("template/" + name)
		wantNoError(t, err)
		if !bytes.Contains(content, []byte("\tk8s.io/kubernetes "+version+"\n")) {
			t.Errorf("%s does not require k8s.io/kubernetes %s", name, version)
		}
		staging := strings.Replace(version, "v1.", "v0.", 1)
		replaced := regexp.MustCompile(`(?m)^\t(k8s\.io/\S+) => (\S+) (\S+)$`).FindAllSubmatch(content, -1)
		if len(replaced) == 0 {
			t.Errorf("%s replaces no staging repository", name)
		}
		for _, r := range replaced {
			if !bytes.Equal(r[1], r[2]) || string(r[3]) != staging {
				t.Errorf("%s: %s, want %s of itself", name, r[0], staging)
			}
		}
	}
}

// TestTheOldestHasTheOtherModulesOfTheTemplate compares the modules that are not part of the Kubernetes
// release. If their versions are equal, they are compiled once for both, which saves a quarter of the build
// of the oldest release. That release does not compile with newer versions of two modules.
func TestTheOldestHasTheOtherModulesOfTheTemplate(t *testing.T) {
	t.Parallel()
	var all [2]map[string]string
	for i, name := range []string{"gomod.txt", "oldest.mod.txt"} {
		content, err := os.ReadFile("template/" + name)
		wantNoError(t, err)
		all[i] = gobuildtest.Required(content)
	}
	delete(all[1], "github.com/google/cel-go")
	delete(all[1], "github.com/google/gnostic-models")
	for module, version := range all[1] {
		if has, both := all[0][module]; both && has != version && !strings.HasPrefix(module, "k8s.io/") {
			t.Errorf("%s: %s in oldest.mod.txt, %s in gomod.txt", module, version, has)
		}
	}
}

// TestTemplateHasTheVersionsOfCooper compares the modules that the template shares with Cooper. If the
// versions are equal, packages compiled for the control plane are reused for Cooper, which saves a third of
// the time on a new machine.
func TestTemplateHasTheVersionsOfCooper(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("template/gomod.txt")
	wantNoError(t, err)
	own, err := os.ReadFile("../../../go.mod")
	wantNoError(t, err)
	theirs, ours := gobuildtest.Required(content), gobuildtest.Required(own)
	shared := 0
	for module, version := range ours {
		their, ok := theirs[module]
		if !ok {
			continue
		}
		shared++
		if their != version {
			t.Errorf("%s: %s in gomod.txt, %s in go.mod", module, their, version)
		}
	}
	if shared == 0 {
		t.Error("no module is in both")
	}
}
