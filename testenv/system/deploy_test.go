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
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/testenv"
)

// TestDeploy applies the manifests of an installation twice. It checks the Pods against the restricted Pod
// Security Standard and the accounts against their roles.
func TestDeploy(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{Private: true})
	for range 2 {
		for _, dir := range []string{"../../deploy", "../../deploy/drivers/s3", "../../deploy/drivers/azure", "../../deploy/drivers/gcs", "../../deploy/drivers/static", "../../deploy/obc/crds", "../../deploy/obc"} {
			apply(t, env, "default", "--force-conflicts", "-k", dir)
		}
		apply(t, env, "default", "-f", "../../deploy/policies/classes.yaml")
	}
	clients, err := kubernetes.NewForConfig(env.ControlPlane.Config())
	wantNoError(t, err)
	deployments, err := clients.AppsV1().Deployments("").List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=cosi"})
	if err != nil || len(deployments.Items) != 6 {
		t.Fatalf("want the controller, cosi-obc and four drivers, got %d deployments, %v", len(deployments.Items), err)
	}
	for _, d := range deployments.Items {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			admitted(t, clients, d)
			podOf(t, d)
		})
	}
	t.Run("rights", func(t *testing.T) {
		t.Parallel()
		rights(t, clients)
	})
	t.Run("namespaced", func(t *testing.T) {
		t.Parallel()
		namespaced(t, env)
	})
	t.Run("secrets", func(t *testing.T) {
		t.Parallel()
		secretsOfSidecars(t, env)
	})
	t.Run("copies", func(t *testing.T) {
		t.Parallel()
		copiesOfSecrets(t, env)
	})
	t.Run("own driver", func(t *testing.T) {
		t.Parallel()
		objectsOfDrivers(t, env)
	})
	t.Run("classes", func(t *testing.T) {
		t.Parallel()
		classesOfNamespaces(t, env)
	})
	t.Run("quota", func(t *testing.T) {
		t.Parallel()
		quotaOfNamespaces(t, env)
	})
}

// apply runs kubectl apply in a namespace as an administrator.
func apply(t *testing.T, env *testenv.Env, namespace string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), env.ControlPlane.Kubectl(), append([]string{"apply", "--server-side"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+env.Kubeconfig(env.Config(), namespace), "KUBECACHEDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl apply %s: %v\n%s", args, err, out)
	}
}

// admitted checks that the namespace admits the Pod of a Deployment, and rejects it with higher privileges.
func admitted(t *testing.T, clients *kubernetes.Clientset, d appsv1.Deployment) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "try"}, Spec: d.Spec.Template.Spec}
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if _, err := clients.CoreV1().Pods(d.Namespace).Create(t.Context(), pod, dryRun); err != nil {
		t.Errorf("the Pod is refused: %v", err)
	}
	if has, want := withToken(pod), []string{pod.Spec.Containers[0].Name}; !slices.Equal(has, want) {
		t.Errorf("the containers %q have a token of the API server, want %q", has, want)
	}
	privileged := true
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &privileged}
	_, err := clients.CoreV1().Pods(d.Namespace).Create(t.Context(), pod, dryRun)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "restricted") {
		t.Errorf("a privileged Pod in its namespace: want a refusal by the restricted standard, got %v", err)
	}
}

// podOf checks the requirements for the Pod of a Deployment: resources of each container and, for a driver,
// limits of its ephemeral volumes, one socket address for both containers, and credentials in a mounted
// Secret.
func podOf(t *testing.T, d appsv1.Deployment) {
	t.Helper()
	pod := d.Spec.Template.Spec
	endpoints := map[string]string{}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("container %s: requests %v, limits %v; want CPU and memory requested, and memory limited", c.Name, c.Resources.Requests, c.Resources.Limits)
		}
		for _, variable := range c.Env {
			if variable.Name == "COSI_ENDPOINT" || variable.Name == "COOPER_DRIVER_ADDRESS" {
				endpoints[variable.Name] = variable.Value
			}
		}
	}
	if !strings.HasPrefix(d.Name, "cosi-driver-") {
		return
	}
	secret := false
	for _, v := range pod.Volumes {
		secret = secret || v.Secret != nil
		switch {
		case v.EmptyDir != nil && v.EmptyDir.SizeLimit == nil:
			t.Errorf("volume %s has no size limit", v.Name)
		case v.EmptyDir == nil && v.ConfigMap == nil && v.Secret == nil && v.Projected == nil:
			t.Errorf("volume %s is not ephemeral: %+v", v.Name, v.VolumeSource)
		}
	}
	if at := endpoints["COSI_ENDPOINT"]; !strings.HasPrefix(at, "unix:///") || at != endpoints["COOPER_DRIVER_ADDRESS"] {
		t.Errorf("driver and sidecar must have one socket address, got %v", endpoints)
	}
	if !secret {
		t.Error("no Secret with the driver's credentials is mounted")
	}
}

// withToken returns the containers of a Pod that can act as its account: all by default, or those that mount
// a volume with a token for the API server.
func withToken(pod *corev1.Pod) []string {
	var tokens, names []string
	for _, v := range pod.Spec.Volumes {
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(p corev1.VolumeProjection) bool {
			return p.ServiceAccountToken != nil && p.ServiceAccountToken.Audience == ""
		}) {
			tokens = append(tokens, v.Name)
		}
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		automatic := pod.Spec.AutomountServiceAccountToken == nil || *pod.Spec.AutomountServiceAccountToken
		if automatic || slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return slices.Contains(tokens, m.Name) }) {
			names = append(names, c.Name)
		}
	}
	return names
}

// rights checks what the accounts are allowed and denied.
func rights(t *testing.T, clients *kubernetes.Clientset) {
	t.Helper()
	const (
		controller = "system:serviceaccount:cosi-system:cosi-controller"
		driver     = "system:serviceaccount:cosi-driver-s3:cosi-driver-s3"
		azure      = "system:serviceaccount:cosi-driver-azure:cosi-driver-azure"
		gcs        = "system:serviceaccount:cosi-driver-gcs:cosi-driver-gcs"
		obc        = "system:serviceaccount:cosi-system:cosi-obc"
		cosi       = "objectstorage.k8s.io"
	)
	for name, tc := range map[string]struct {
		user      string
		attribute authorizationv1.ResourceAttributes
		want      bool
	}{
		"the controller makes Buckets":                        {controller, authorizationv1.ResourceAttributes{Group: cosi, Resource: "buckets", Verb: "create"}, true},
		"the controller reads no Secrets":                     {controller, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "get", Namespace: "default"}, false},
		"the sidecar writes access Secrets":                   {driver, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "create", Namespace: "default"}, true},
		"the sidecar's writes of Secrets are confined":        {driver, authorizationv1.ResourceAttributes{Group: "cooper.dev", Resource: "secrets", Verb: "confine", Namespace: "default"}, true},
		"the controller holds its Lease":                      {controller, lease("update", "cosi-controller"), true},
		"the controller reads no driver's Lease":              {controller, lease("get", "cosi-driver-s3.cooper.dev"), false},
		"the controller holds no driver's Lease":              {controller, lease("update", "cosi-driver-s3.cooper.dev"), false},
		"the sidecar holds its Lease":                         {driver, lease("update", "cosi-driver-s3.cooper.dev"), true},
		"the sidecar holds no other driver's Lease":           {driver, lease("update", "cosi-driver-azure.cooper.dev"), false},
		"the sidecar does not hold the controller's":          {driver, lease("update", "cosi-controller"), false},
		"the sidecar makes no Leases":                         {driver, lease("create", ""), false},
		"the controller makes no Leases":                      {controller, lease("create", ""), false},
		"the sidecar lists its driver's Secrets":              {driver, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "list", Namespace: "cosi-driver-s3"}, true},
		"the sidecar lists no Secrets of others":              {driver, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "list", Namespace: "default"}, false},
		"the GCS sidecar lists its driver's Secrets":          {gcs, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "list", Namespace: "cosi-driver-gcs"}, true},
		"that of Azure, which keeps none, does not":           {azure, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "list", Namespace: "cosi-driver-azure"}, false},
		"the Azure driver's sidecar holds its Lease":          {azure, lease("update", "cosi-driver-azure.cooper.dev"), true},
		"the GCS driver's sidecar holds its Lease":            {gcs, lease("update", "cosi-driver-gcs.cooper.dev"), true},
		"the sidecar makes no Buckets":                        {driver, authorizationv1.ResourceAttributes{Group: cosi, Resource: "buckets", Verb: "create"}, false},
		"neither makes Pods, which could do as much":          {driver, authorizationv1.ResourceAttributes{Resource: "pods", Verb: "create", Namespace: "cosi-driver-s3"}, false},
		"the controller may change what COSI notes":           {controller, authorizationv1.ResourceAttributes{Group: cosi, Resource: "bucketclaims", Verb: "override"}, true},
		"a sidecar may, too":                                  {driver, authorizationv1.ResourceAttributes{Group: cosi, Resource: "bucketaccesses", Verb: "override"}, true},
		"the controller authenticates clients of its metrics": {controller, authorizationv1.ResourceAttributes{Group: "authentication.k8s.io", Resource: "tokenreviews", Verb: "create"}, true},
		"the sidecar asks whether they may":                   {driver, authorizationv1.ResourceAttributes{Group: "authorization.k8s.io", Resource: "subjectaccessreviews", Verb: "create"}, true},
		"cosi-obc asks it, too":                               {obc, authorizationv1.ResourceAttributes{Group: "authorization.k8s.io", Resource: "subjectaccessreviews", Verb: "create"}, true},
		"cosi-obc holds its Lease":                            {obc, lease("update", "cosi-obc"), true},
		"cosi-obc lists no Secrets":                           {obc, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "list", Namespace: "default"}, false},
		"cosi-obc may not change what COSI notes":             {obc, authorizationv1.ResourceAttributes{Group: cosi, Resource: "bucketclaims", Verb: "override"}, false},
		"but not on claims":                                   {driver, authorizationv1.ResourceAttributes{Group: cosi, Resource: "bucketclaims", Verb: "override"}, false},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: tc.user, Groups: []string{"system:serviceaccounts", "system:authenticated"}, ResourceAttributes: &tc.attribute,
		}}
		got, err := clients.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil || got.Status.Allowed != tc.want {
			t.Errorf("%s: want allowed %v, got %v, %v", name, tc.want, got.Status.Allowed, err)
		}
	}
}

// lease returns the attributes of a request for a Lease in the system namespace.
func lease(verb, name string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Group: "coordination.k8s.io", Resource: "leases", Verb: verb, Namespace: "cosi-system", Name: name}
}

// TestLeasesAreCalledAfterDrivers compares the Leases in the drivers' manifests with those that the system in
// tests and on the laptop gives a sidecar.
func TestLeasesAreCalledAfterDrivers(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"s3", "azure", "gcs", "static"} {
		got, err := os.ReadFile(filepath.Join("../../deploy/drivers", driver, "lease.yaml"))
		wantNoError(t, err)
		want, err := deploy.DriverLease(driver + ".cooper.dev")
		wantNoError(t, err)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("lease.yaml of %s (-that of s3 +its own):\n%s", driver, diff)
		}
	}
}

// TestCredentialRoles does the same for the Roles of credential stores.
func TestCredentialRoles(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"s3", "gcs", "static"} {
		got, err := os.ReadFile(filepath.Join("../../deploy/drivers", driver, "credentials.yaml"))
		wantNoError(t, err)
		want, err := deploy.DriverCredentials("cosi-driver-" + driver)
		wantNoError(t, err)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("credentials.yaml of %s (-that of s3 +its own):\n%s", driver, diff)
		}
	}
}
