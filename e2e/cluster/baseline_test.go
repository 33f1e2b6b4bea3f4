// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// baseline is the commit that upgrades start from and downgrades return to, until there is a release.
	baseline = "16f3770825fe93aeaa2a7459e3e317d080909171"
	// baselineVariable is the image tag with which a cluster of the user can pull the images of the baseline.
	baselineVariable = "COOPER_BASELINE_TAG"
)

// The baseline accepts a store without TLS, and does not have the field for it.
var baselineConfig = strings.Replace(driverConfig, "    insecure: true\n", "", 1)

// older returns the baseline after loading its images into the cluster. It skips the test if the git history
// is too short.
func (w *world) older(t *testing.T) version {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", "-C", root, "cat-file", "-e", baseline+"^{commit}").CombinedOutput(); err != nil {
		reason := fmt.Sprintf("the history of this checkout does not contain %s: run git fetch --unshallow: %v\n%s", baseline, err, out)
		if os.Getenv(requireVariable) != "" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	v := version{name: "baseline", sources: t.TempDir(), tag: os.Getenv(baselineVariable), config: baselineConfig}
	archive := filepath.Join(t.TempDir(), "baseline.tar")
	run(t, root, "git", "archive", "--output="+archive, baseline)
	run(t, v.sources, "tar", "-xf", archive)
	switch {
	case v.tag != "":
	case w.node == nil:
		t.Skipf("the cluster needs the images of commit %s, and %s to be their tag", baseline, baselineVariable)
	default:
		v.tag = "baseline"
		w.loadOlder(t, v)
	}
	return v
}

// loadOlder builds the programs of another version, packages them in today's image format, and loads them.
func (w *world) loadOlder(t *testing.T, v version) {
	t.Helper()
	program, archives := filepath.Join(t.TempDir(), "images"), t.TempDir()
	run(t, root, "go", "build", "-o", program, "./hack/images")
	run(t, v.sources, program, "-archives="+archives, "-tag="+v.tag, "-repository="+repository(), "-only="+strings.Join(parts(), ","))
	wantNoError(t, w.node.LoadImages(t.Context(), archives))
}

// run runs a command in a directory.
func run(t *testing.T, dir, program string, arguments ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, arguments...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
