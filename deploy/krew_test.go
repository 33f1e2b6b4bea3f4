// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// krewPlugin is the part of a manifest that krew uses.
type krewPlugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			SHA256 string `json:"sha256"`
			Bin    string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

// TestKrewManifest also verifies that each platform has its own placeholders.
func TestKrewManifest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("krew/cosi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var plugin krewPlugin
	if err := yaml.UnmarshalStrict(text, &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || plugin.Kind != "Plugin" || plugin.Metadata.Name != "cosi" || plugin.Spec.Version != "VERSION" {
		t.Errorf("it is no manifest of a plugin cosi with a placeholder for the version: %+v", plugin)
	}
	const longest = 50 // of the description in krew's list
	if s := plugin.Spec.ShortDescription; s == "" || len(s) > longest || strings.HasSuffix(s, ".") {
		t.Errorf("shortDescription %q: want at most %d characters and no full stop", s, longest)
	}
	if len(plugin.Spec.Platforms) == 0 {
		t.Error("it has no platform")
	}
	for _, p := range plugin.Spec.Platforms {
		system, arch := p.Selector.MatchLabels["os"], p.Selector.MatchLabels["arch"]
		if want := "DOWNLOADS/kubectl-cosi-" + system + "-" + arch + ".tar.gz"; p.URI != want || system == "" || arch == "" {
			t.Errorf("uri: want %s, got %s", want, p.URI)
		}
		if want := "SHA256_" + strings.ToUpper(system+"_"+arch); p.SHA256 != want {
			t.Errorf("sha256: want %s, got %s", want, p.SHA256)
		}
		if p.Bin != "kubectl-cosi" {
			t.Errorf("bin: %s", p.Bin)
		}
	}
}
