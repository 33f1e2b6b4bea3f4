// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMakeTakesNoClusterOfTheShell verifies that make does not run tests on the cluster of an exported
// KUBECONFIG.
func TestMakeTakesNoClusterOfTheShell(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"exported":            {nil, "which cluster?"},
		"on the command line": {[]string{"KUBECONFIG=said"}, `COOPER_CLUSTER_KUBECONFIG="said"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "make", append([]string{"--dry-run", "e2e-cluster"}, tc.args...)...)
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "KUBECONFIG=exported", "MAKEFLAGS=", "MAKEOVERRIDES=")
			out, err := cmd.CombinedOutput()
			if (err == nil) != (len(tc.args) > 0) || !strings.Contains(string(out), tc.want) {
				t.Errorf("want %q, got %v:\n%s", tc.want, err, out)
			}
		})
	}
}

// TestAKubeconfigIsNamedFromTheRoot verifies that relative paths are resolved in the root, where make runs,
// and not in the directory of the tests.
func TestAKubeconfigIsNamedFromTheRoot(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	wantNoError(t, err)
	repository := filepath.Dir(filepath.Dir(here))
	for path, want := range map[string]string{"/etc/kubeconfig": "/etc/kubeconfig", "my/kubeconfig": repository + "/my/kubeconfig", "../kubeconfig": filepath.Dir(repository) + "/kubeconfig"} {
		if got, err := fromRoot(path); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", path, got, err, want)
		}
	}
}

// TestClustersInUse verifies that tests do not touch a cluster in use.
func TestClustersInUse(t *testing.T) {
	t.Parallel()
	const claims = "customresourcedefinition.apiextensions.k8s.io/bucketclaims.objectstorage.k8s.io"
	there := []string{
		"namespace/default", "namespace/kube-system", "namespace/cosi", "customresourcedefinition.apiextensions.k8s.io/bgppeers.crd.projectcalico.org",
		"namespace/cosi-system", "namespace/cosi-driver-azure", "namespace/stores", claims,
	}
	if diff := cmp.Diff([]string{"namespace/cosi-system", "namespace/cosi-driver-azure", "namespace/stores", claims}, inUse(there)); diff != "" {
		t.Errorf("in use (-want +got):\n%s", diff)
	}
	if used := inUse(there[:4]); len(used) > 0 {
		t.Errorf("%q have no owner", used)
	}
}
