// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMakeTakesNoClusterOfTheShell sees that who has exported a kubeconfig for their work runs no test on that cluster.
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

// TestClustersInUse are not touched.
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
		t.Errorf("%q are nobody's", used)
	}
}
