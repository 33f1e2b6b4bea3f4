// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv"
)

// TestUninstallLeavesTheCRDs follows the steps of docs/howto/deploy.md while a class exists. Only the last
// step deletes CRDs.
func TestUninstallLeavesTheCRDs(t *testing.T) {
	t.Parallel()
	// A control plane without CRDs.
	env := testenv.Start(t, testenv.Options{CRDs: map[string][]byte{}})
	apply(t, env, "default", "-k", "../../deploy")
	apply(t, env, "default", "-k", "../../deploy/drivers/s3")
	class := &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: "survivor"},
		Spec:       cosiapi.BucketClassSpec{DriverName: "s3.cooper.dev", DeletionPolicy: cosiapi.DeletionPolicyRetain},
	}
	env.Eventually("the API is served", func(ctx context.Context) error {
		return env.Client.Create(ctx, class)
	})
	before := testenv.Get(env, crdOfBuckets()).GetUID()
	steps := uninstallSteps(t)
	if len(steps) != 4 {
		t.Fatalf("%d steps, want those of the driver, of the controller, and two of the CRDs: %q", len(steps), steps)
	}
	for _, step := range steps[:2] {
		mustKubectl(t, env, append(step, "--wait=false")...) // no controller empties namespaces here
	}
	env.Gone(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cosi-sidecar"}})
	for _, name := range []string{"cosi-system/cosi-controller", "cosi-driver-s3/cosi-driver-s3"} {
		namespace, name, _ := strings.Cut(name, "/")
		env.Gone(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	if after := testenv.Get(env, crdOfBuckets()); after.GetUID() != before || after.GetDeletionTimestamp() != nil {
		t.Error("the CRD of Buckets was deleted")
	}
	if testenv.Get(env, class).DeletionTimestamp != nil {
		t.Error("the class was deleted, as every other object would have been")
	}
	for _, step := range steps[2:] {
		mustKubectl(t, env, step...)
	}
	env.Gone(crdOfBuckets())
}

// uninstallSteps returns the arguments of the page's kubectl commands that change something, in order.
func uninstallSteps(t *testing.T) [][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/howto/deploy.md")
	wantNoError(t, err)
	_, section, found := strings.Cut(string(page), "## Uninstall\n")
	if !found {
		t.Fatal("the page does not say how to uninstall")
	}
	var steps [][]string
	for line := range strings.Lines(section) {
		if arguments, found := strings.CutPrefix(strings.TrimSpace(line), "kubectl "); found && !strings.HasPrefix(arguments, "get ") {
			steps = append(steps, strings.Fields(arguments))
		}
	}
	return steps
}

// TestCRDsAreNotDeletedByAccident tries to delete CRDs as an administrator, without and with the annotation.
func TestCRDsAreNotDeletedByAccident(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{CRDs: map[string][]byte{}})
	install := func() {
		for _, dir := range []string{"../../deploy", "../../deploy/obc/crds", "../../deploy/obc"} {
			apply(t, env, "default", "-k", dir)
		}
	}
	install()
	env.Create(v1alpha1CRD())
	names := []string{"buckets.objectstorage.k8s.io", "bucketclaims.objectstorage.k8s.io", "objectbucketclaims.objectbucket.io"}
	for _, name := range fulltest.Pick(t, names, fulltest.Tiers{Short: names[:1]}) {
		refused := func(context.Context) error {
			out, err := kubectl(t, env, "delete", "crd", name, "--dry-run=server")
			if err == nil || !strings.Contains(out, "set the annotation cooper.dev/allow-deletion=true") {
				return fmt.Errorf("delete %s: want a refusal by the policy, got %w\n%s", name, err, out)
			}
			return nil
		}
		env.Eventually("the policy counts", refused)
		mustKubectl(t, env, "annotate", "crd", name, "cooper.dev/allow-deletion=false")
		if err := refused(t.Context()); err != nil {
			t.Error(err)
		}
		mustKubectl(t, env, "annotate", "crd", name, "cooper.dev/allow-deletion=true", "--overwrite")
		install() // an upgrade preserves the administrator's annotation
		mustKubectl(t, env, "delete", "crd", name, "--wait=false")
	}
	mustKubectl(t, env, "delete", "crd", v1alpha1CRD().GetName(), "--wait=false")
}

// v1alpha1CRD returns a CRD of v1alpha1, as deleted in the migration.
func v1alpha1CRD() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": cosiapi.GroupName, "scope": "Cluster",
		"names": map[string]any{"plural": "oldbuckets", "singular": "oldbucket", "kind": "OldBucket", "listKind": "OldBucketList"},
		"versions": []any{map[string]any{
			"name": "v1alpha1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		}},
	}}}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("oldbuckets.objectstorage.k8s.io")
	crd.SetAnnotations(map[string]string{"api-approved.kubernetes.io": "unapproved, a test"})
	return crd
}

// mustKubectl is kubectl for commands that must succeed.
func mustKubectl(t *testing.T, env *testenv.Env, args ...string) {
	t.Helper()
	if out, err := kubectl(t, env, args...); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// kubectl runs kubectl in the repository as an administrator and returns its output.
func kubectl(t *testing.T, env *testenv.Env, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), env.ControlPlane.Kubectl(), args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "KUBECONFIG="+env.Kubeconfig(env.Config(), "default"), "KUBECACHEDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}
