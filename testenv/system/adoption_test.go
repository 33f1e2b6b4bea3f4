// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv"
)

// baseline is the commit that TestUpgradeAndDowngrade in e2e/cluster upgrades from. It has no charts, and its
// driver runs in the Pod of the sidecar.
const baseline = "16f3770825fe93aeaa2a7459e3e317d080909171"

// TestHelmTakesOver installs the baseline with kubectl, has Helm adopt the objects with the steps of
// docs/howto/install-with-helm.md, and compares the result with a new Helm installation.
func TestHelmTakesOver(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestDeploy installs the manifests that the charts are generated from")
	manifests := baselineManifests(t)
	// A control plane without CRDs.
	env := testenv.Start(t, testenv.Options{CRDs: map[string][]byte{}})
	for _, root := range []string{manifests, "../../deploy"} {
		for _, dir := range []string{".", "drivers/s3", "drivers/azure"} {
			apply(t, env, "default", "-k", filepath.Join(root, dir))
		}
	}
	install := func() {
		for release, args := range map[string][]string{
			"cosi-controller":   {"../../deploy/charts/cosi-controller", "--namespace=cosi-system"},
			"cosi-driver-s3":    {"../../deploy/charts/cosi-driver", "--namespace=cosi-driver-s3"},
			"cosi-driver-azure": {"../../deploy/charts/cosi-driver", "--namespace=cosi-driver-azure", "--values=../../deploy/charts/cosi-driver/azure.yaml", "--set=namespaces={default}"},
		} {
			helm(t, env, append([]string{"upgrade", "--install", "--take-ownership", release}, args...)...)
		}
	}
	install()
	everywhere := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "cosi-sidecar:cosi-driver-azure"}}
	env.Delete(everywhere) // as the page says
	taken := installed(t, env)
	uninstall := func() {
		for release, namespace := range map[string]string{"cosi-controller": "cosi-system", "cosi-driver-s3": "cosi-driver-s3", "cosi-driver-azure": "cosi-driver-azure"} {
			helm(t, env, "uninstall", release, "--namespace="+namespace, "--no-hooks", "--wait")
		}
	}
	uninstall()
	if left := installed(t, env); len(left) > 0 {
		t.Errorf("objects that no release had: %v", left)
	}
	install()
	if diff := cmp.Diff(installed(t, env), taken); diff != "" {
		t.Errorf("-new installation +adopted installation:\n%s", diff)
	}
	uninstall() // and back, as docs/howto/upgrade.md says
	for _, dir := range []string{".", "drivers/s3"} {
		apply(t, env, "default", "--force-conflicts", "-k", filepath.Join(manifests, dir))
	}
	driver := testenv.Get(env, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "cosi-driver-s3", Name: "cosi-driver-s3"}})
	if pod := driver.Spec.Template.Spec; len(pod.Containers) != 2 || len(pod.InitContainers) != 0 {
		t.Errorf("the Pod of the baseline has the containers %v and %v", pod.InitContainers, pod.Containers)
	}
}

// baselineManifests returns the manifests of the baseline. It skips the test if the git history is too short.
func baselineManifests(t *testing.T) string {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "cat-file", "-e", baseline+"^{commit}").CombinedOutput(); err != nil {
		t.Skip("the history of this checkout does not contain " + baseline + ": run git fetch --unshallow: " + string(out))
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "baseline.tar")
	for _, command := range [][]string{
		{"git", "-C", "../..", "archive", "--output=" + archive, baseline, "deploy"},
		{"tar", "-C", dir, "-xf", archive},
	} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
		}
	}
	return filepath.Join(dir, "deploy")
}

// ofKustomize matches ConfigMaps of Kustomize, which appends a hash of the content to the name and never
// deletes old ones.
var ofKustomize = regexp.MustCompile(`^cosi-driver-[0-9a-z]+-[0-9a-z]{10}$`)

// installed returns Cooper's objects except the CRDs, without the fields that the API server sets.
func installed(t *testing.T, env *testenv.Env) map[string]any {
	t.Helper()
	found := map[string]any{}
	for group, kinds := range map[string][]string{
		"/v1":                             {"ServiceAccount", "ConfigMap", "Service"},
		"apps/v1":                         {"Deployment"},
		"policy/v1":                       {"PodDisruptionBudget"},
		"coordination.k8s.io/v1":          {"Lease"},
		"networking.k8s.io/v1":            {"NetworkPolicy"},
		"rbac.authorization.k8s.io/v1":    {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"},
		"admissionregistration.k8s.io/v1": {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"},
	} {
		for _, kind := range kinds {
			group, version, _ := strings.Cut(group, "/")
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
			wantNoError(t, env.Client.List(t.Context(), list))
			for _, object := range list.Items {
				if !strings.HasPrefix(object.GetName(), "cosi-") || kind == "ConfigMap" && ofKustomize.MatchString(object.GetName()) {
					continue
				}
				found[kind+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
				delete(object.Object, "status")
				object.Object["metadata"] = map[string]any{"labels": object.GetLabels()}
			}
		}
	}
	return found
}
