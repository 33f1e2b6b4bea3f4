// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv"
)

// TestHelm installs, upgrades, uninstalls and reinstalls the charts with Helm on an API server. The tests in
// e2e cover what needs Pods.
func TestHelm(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestDeploy installs the manifests that the charts are generated from")
	// A control plane without CRDs.
	env := testenv.Start(t, testenv.Options{CRDs: map[string][]byte{}})
	apply(t, env, "default", "-f", "../../deploy/controller/namespace.yaml", "-f", "../../deploy/drivers/s3/namespace.yaml")
	controller := []string{"upgrade", "--install", "cosi-controller", "../../deploy/charts/cosi-controller", "--namespace=cosi-system"}
	driver := []string{"upgrade", "--install", "cosi-driver-s3", "../../deploy/charts/cosi-driver", "--namespace=cosi-driver-s3"}
	helm(t, env, controller...)
	helm(t, env, driver...)

	clients, err := kubernetes.NewForConfig(env.ControlPlane.Config())
	wantNoError(t, err)
	for _, deployment := range []*appsv1.Deployment{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "cosi-system", Name: "cosi-controller"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "cosi-driver-s3", Name: "cosi-driver-s3"}},
	} {
		admitted(t, clients, *testenv.Get(env, deployment))
	}
	for release, namespace := range map[string]string{"cosi-controller": "cosi-system", "cosi-driver-s3": "cosi-driver-s3"} {
		hooks := helm(t, env, "get", "hooks", release, "--namespace="+namespace)
		admittedJob(t, clients, hooks)
	}
	upgraded(t, env, controller, driver)
	env.Gone(everywhere())
	renamed(t, env, driver)
	strandsNothing(t, env, driver)
	before := testenv.Get(env, crdOfBuckets()).GetUID()

	helm(t, env, append(controller, "--set=crds.install=false")...)
	helm(t, env, "uninstall", "cosi-driver-s3", "--namespace=cosi-driver-s3", "--no-hooks")
	helm(t, env, "uninstall", "cosi-controller", "--namespace=cosi-system", "--no-hooks")
	env.Gone(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cosi-controller"}})
	helm(t, env, controller...)
	if after := testenv.Get(env, crdOfBuckets()).GetUID(); after != before {
		t.Error("the CRDs went, with the value or with the release")
	}
}

// upgraded upgrades both releases, the controller's from a version with an older CRD of Buckets.
func upgraded(t *testing.T, env *testenv.Env, controller, driver []string) {
	t.Helper()
	// The sidecar writes to the Lease, and an upgrade must preserve this.
	lease := &unstructured.Unstructured{}
	lease.SetAPIVersion("coordination.k8s.io/v1")
	lease.SetKind("Lease")
	lease.SetNamespace("cosi-system")
	lease.SetName("cosi-driver-s3.cooper.dev")
	testenv.Change(env, lease, func(l *unstructured.Unstructured) {
		annotations := l.GetAnnotations()
		annotations["cooper.dev/owner"] = "cosi-driver-s3/cosi-driver-s3"
		l.SetAnnotations(annotations)
	})
	crd := crdOfBuckets()
	columns := func(c *unstructured.Unstructured) []any {
		versions, _, _ := unstructured.NestedSlice(c.Object, "spec", "versions")
		found, _ := versions[0].(map[string]any)["additionalPrinterColumns"].([]any)
		return found
	}
	want := columns(testenv.Get(env, crd))
	older(t, env, "../../deploy/charts/cosi-controller")
	if got := columns(testenv.Get(env, crd)); len(got) == len(want) {
		t.Fatalf("the older chart has the same columns: %v", got)
	}
	upgrade := func() {
		helm(t, env, append(controller, "--set=replicas=3")...)
		helm(t, env, append(driver, "--set=replicas=3", "--set=namespaces={default}")...)
	}
	upgrade()
	helm(t, env, "rollback", "cosi-driver-s3", "--namespace=cosi-driver-s3")
	testenv.Get(env, everywhere())
	helm(t, env, "rollback", "cosi-controller", "--namespace=cosi-system")
	if got := columns(testenv.Get(env, crd)); len(got) == len(want) {
		t.Errorf("the rollback left the newer CRD: %v", got)
	}
	upgrade()
	if diff := cmp.Diff(want, columns(testenv.Get(env, crd))); diff != "" {
		t.Errorf("columns of the CRD after the upgrade (-want +got):\n%s", diff)
	}
	if owner := testenv.Get(env, lease).GetAnnotations()["cooper.dev/owner"]; owner == "" {
		t.Error("the upgrade took the Lease away from its owner")
	}
}

// everywhere returns a binding that gives the driver's sidecar permissions in all namespaces.
func everywhere() *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "cosi-sidecar:cosi-driver-s3"}}
}

// renamed changes the name of the driver's Deployment. The sidecars keep the identity that is recorded on the
// Lease.
func renamed(t *testing.T, env *testenv.Env, driver []string) {
	t.Helper()
	helm(t, env, append(driver, "--reset-values", "--set=fullnameOverride=renamed")...)
	deployment := testenv.Get(env, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "cosi-driver-s3", Name: "renamed"}})
	sidecar := deployment.Spec.Template.Spec.Containers[0]
	if want := (corev1.EnvVar{Name: "COOPER_OWNER", Value: "cosi-driver-s3/cosi-driver-s3"}); !slices.Contains(sidecar.Env, want) {
		t.Errorf("the sidecar would not get its Lease: want %v in %v", want, sidecar.Env)
	}
	helm(t, env, append(driver, "--reset-values")...)
}

// strandsNothing verifies that upgrades that would leave existing objects without a controller or sidecar are
// rejected, and succeed when there are no such objects.
func strandsNothing(t *testing.T, env *testenv.Env, driver []string) {
	t.Helper()
	access := newAccess(env.Namespace(), "kept", "keys")
	bucket := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Spec: cosiapi.BucketSpec{
		DriverName: "s3.cooper.dev", DeletionPolicy: cosiapi.DeletionPolicyRetain,
		BucketClaimRef: cosiapi.BucketClaimReference{Namespace: access.Namespace, Name: "photos", UID: "1"},
	}}
	env.Create(access)
	env.Create(bucket)
	testenv.ChangeStatus(env, access, func(a *cosiapi.BucketAccess) {
		a.Status = cosiapi.BucketAccessStatus{
			DriverName: "s3.cooper.dev", AuthenticationType: cosiapi.AuthenticationTypeKey,
			AccessedBuckets: []cosiapi.AccessedBucket{{BucketName: "kept", BucketID: "kept", BucketClaimName: "photos"}},
		}
	})
	ofAccess := "such as BucketAccess " + access.Namespace + "/kept"
	for want, set := range map[string]string{
		"1 objects, " + ofAccess + ":":              "namespaces={default}",
		"2 objects, " + ofAccess + ", Bucket kept:": "driver.name=other.example.com,driver.config=",
	} {
		if out, err := tryHelm(t, env, append(driver, "--reset-values", "--set="+set)...); err == nil || !strings.Contains(out, want) {
			t.Errorf("helm upgrade --set %s: want a refusal with %q, got %v\n%s", set, want, err, out)
		}
	}
	helm(t, env, append(driver, "--reset-values", "--set=namespaces={"+access.Namespace+"}")...)
	helm(t, env, append(driver, "--reset-values")...)
	env.Delete(access)
	env.Delete(bucket)
	helm(t, env, append(driver, "--reset-values", "--set=driver.name=other.example.com,driver.config=")...)
	env.Gone(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "cosi-system", Name: "cosi-driver-s3.cooper.dev"}})
	helm(t, env, append(driver, "--reset-values")...)
}

func crdOfBuckets() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("buckets.objectstorage.k8s.io")
	return crd
}

// older installs a copy of the controller's chart with a Bucket CRD that has no printer columns.
func older(t *testing.T, env *testenv.Env, chart string) {
	t.Helper()
	former := filepath.Join(t.TempDir(), "cosi-controller")
	wantNoError(t, os.CopyFS(former, os.DirFS(chart)))
	file := filepath.Join(former, "files", "crds", "objectstorage.k8s.io_buckets.yaml")
	content, err := os.ReadFile(file)
	wantNoError(t, err)
	before, rest, _ := strings.Cut(string(content), "  - additionalPrinterColumns:\n")
	_, after, found := strings.Cut(rest, "    name: v1alpha2\n")
	if !found {
		t.Fatalf("the CRD is written in another way:\n%s", content)
	}
	wantNoError(t, os.WriteFile(file, []byte(before+"  - name: v1alpha2\n"+after), 0o600))
	helm(t, env, "upgrade", "cosi-controller", former, "--namespace=cosi-system")
}

// helm runs Helm as an administrator.
func helm(t *testing.T, env *testenv.Env, args ...string) string {
	t.Helper()
	out, err := tryHelm(t, env, args...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// tryHelm is helm for commands that may fail.
func tryHelm(t *testing.T, env *testenv.Env, args ...string) (string, error) {
	t.Helper()
	path, err := exec.CommandContext(t.Context(), "bash", "../../hack/helm.sh").Output()
	wantNoError(t, err)
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+env.Kubeconfig(env.Config(), "default"),
		"HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// admittedJob checks that the namespace admits the Pod of a hook.
func admittedJob(t *testing.T, clients *kubernetes.Clientset, hooks string) {
	t.Helper()
	job := &batchv1.Job{}
	if err := yaml.Unmarshal([]byte(strings.TrimPrefix(hooks, "---\n")), job); err != nil {
		t.Fatalf("%v in\n%s", err, hooks)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "try"}, Spec: job.Spec.Template.Spec}
	if _, err := clients.CoreV1().Pods(job.Namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("the Pod of %s is refused: %v", job.Name, err)
	}
}
