// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/e2e/containers"
)

// inspected is the output of docker image inspect.
type inspected struct {
	Architecture string `json:"Architecture"`
	Size         int64  `json:"Size"`
	Config       struct {
		User   string            `json:"User"`
		Labels map[string]string `json:"Labels"`
	} `json:"Config"`
	RootFS struct {
		Layers []string `json:"Layers"`
	} `json:"RootFS"`
}

func inspect(t *testing.T, name string) inspected {
	t.Helper()
	out, err := run(t.Context(), nil, "docker", "image", "inspect", name)
	if err != nil {
		t.Fatal(err)
	}
	var found []inspected
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found) != 1 {
		t.Fatalf("docker image inspect %s: %v\n%s", name, err, out)
	}
	return found[0]
}

func imageNames() []string {
	return []string{"cosi-controller", "cosi-sidecar", "cosi-obc", "cosi-driver-s3", "cosi-driver-azure", "cosi-driver-gcs", "cosi-driver-static", "cosi-driver-adapter", "cooper", "cosi-sanity", "control-plane"}
}

// TestImages checks the images that make images has built. TestCompose and StartSystem verify that they run
// with a read-only root file system.
func TestImages(t *testing.T) {
	t.Parallel()
	for _, name := range imageNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			built := containers.Ours(name)
			got := inspect(t, containers.Name(t, built))
			if got.Config.User != "65532:65532" {
				t.Errorf("it runs as %q", got.Config.User)
			}
			for label, want := range map[string]string{"title": name, "licenses": "Apache-2.0", "vendor": "Cooper", "source": "https://github.com/cooper-cosi/cooper"} {
				if value := got.Config.Labels["org.opencontainers.image."+label]; value != want {
					t.Errorf("label %s: want %q, got %q", label, want, value)
				}
			}
			t.Logf("%s %s: %d MB", name, got.Architecture, got.Size/1e6)
		})
	}
}

// TestImagesAreReproducible builds the smallest image twice, and once for another architecture.
func TestImagesAreReproducible(t *testing.T) {
	t.Parallel()
	const name = "cosi-sanity"
	containers.Require(t, containers.Ours(name))
	build := func(tag string, arguments ...string) inspected {
		t.Helper()
		image := "cooper-reproduced/" + name + ":" + tag
		if _, err := run(t.Context(), nil, "go", append([]string{
			"run", "./hack/images", "-only=" + name, "-repository=cooper-reproduced", "-tag=" + tag,
		}, arguments...)...); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := run(context.WithoutCancel(t.Context()), nil, "docker", "image", "rm", "--force", image); err != nil {
				t.Error(err)
			}
		})
		return inspect(t, image)
	}
	first, second := build("first"), build("second")
	if diff := cmp.Diff(first.RootFS.Layers, second.RootFS.Layers); diff != "" {
		t.Errorf("the same sources give other layers (-first +second):\n%s", diff)
	}
	if other := build("arm64", "-arch=arm64"); other.Architecture != "arm64" {
		t.Errorf("for arm64 it builds %q", other.Architecture)
	}
}
