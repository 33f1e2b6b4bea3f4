// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv"
)

// TestUninstallLeavesTheCRDs takes the steps of docs/howto/deploy.md, of which the last alone deletes CRDs, while a class is
// there.
func TestUninstallLeavesTheCRDs(t *testing.T) {
	t.Parallel()
	// One that has the CRDs of nobody.
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

	page, err := os.ReadFile("../../docs/howto/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "## Uninstall\n")
	if !found {
		t.Fatal("the page does not say how to uninstall")
	}
	steps := 0
	for line := range strings.Lines(section) {
		command, isDelete := strings.CutPrefix(strings.TrimSpace(line), "kubectl delete ")
		if !isDelete {
			continue
		}
		if command == "-f deploy/crds" {
			break
		}
		steps++
		// Nobody empties namespaces here.
		remove(t, env, append(strings.Fields(command), "--wait=false"))
	}
	if steps != 2 {
		t.Fatalf("%d steps before the CRDs, want that of the driver and that of the controller", steps)
	}
	env.Gone(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cosi-sidecar"}})
	for _, name := range []string{"cosi-system/cosi-controller", "cosi-driver-s3/cosi-driver-s3"} {
		namespace, name, _ := strings.Cut(name, "/")
		env.Gone(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	if after := testenv.Get(env, crdOfBuckets()); after.GetUID() != before || after.GetDeletionTimestamp() != nil {
		t.Error("the CRD of Buckets went")
	}
	if testenv.Get(env, class).DeletionTimestamp != nil {
		t.Error("the class went, and with it would every other object")
	}
}

// remove runs kubectl delete in the repository as an administrator.
func remove(t *testing.T, env *testenv.Env, args []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), env.ControlPlane.Kubectl(), append([]string{"delete"}, args...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "KUBECONFIG="+env.Kubeconfig(env.Config(), "default"), "KUBECACHEDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl delete %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
