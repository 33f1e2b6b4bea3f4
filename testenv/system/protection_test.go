// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system"
)

// copiesOfSecrets creates Secrets with and without COSI's finalizer as various accounts that can create
// Secrets.
func copiesOfSecrets(t *testing.T, env *testenv.Env) {
	t.Helper()
	namespace, tenant := newTenant(t, env)
	everywhere, err := env.ControlPlane.User("system:serviceaccount:"+ofDriver+":"+ofDriver, "system:serviceaccounts", "system:authenticated")
	wantNoError(t, err)
	namespaced := userWith(t, env, namespace, "namespaced-sidecar", deploy.SidecarRole)
	restorer := userWith(t, env, namespace, "restorer", "edit", deploy.OverrideRole)
	access := newAccess(namespace, "app", "keys")
	annotate(t, env, namespace, map[string]string{"cooper.dev/bucket-access-classes": "*"})
	until(t, "there is an access", func(ctx context.Context) error { return env.Client.Create(ctx, access) })
	protected := func(s *corev1.Secret) { s.Finalizers = []string{cosiapi.ProtectionFinalizer} }
	original, ordinary := newSecret(namespace, "a", ofAccess(access), protected), newSecret(namespace, "a", ofAccess(access))
	create := func(c client.Client, s *corev1.Secret) error {
		return c.Create(t.Context(), s.DeepCopy(), client.DryRunAll)
	}
	until(t, "the policy and the roles count", func(context.Context) error {
		for _, c := range []client.Client{namespaced, restorer} {
			if err := create(c, original); err != nil {
				return err
			}
		}
		if err := create(tenant, original); !isCopy(err) {
			return fmt.Errorf("want a refusal by the policy, got %w", err)
		}
		return nil
	})
	for name, tc := range map[string]struct {
		err     error
		allowed bool
	}{
		"a tenant creates an ordinary Secret":                   {create(tenant, ordinary), true},
		"a tenant copies an access Secret":                      {create(tenant, original), false},
		"a tenant copies it with server-side apply":             {applyAs(t, tenant, original), false},
		"a tenant gives a Secret a finalizer of its own":        {create(tenant, newSecret(namespace, "a", stripped, withoutCOSI)), true},
		"the sidecar creates an access Secret":                  {create(env.ClientFor(everywhere), original), true},
		"a sidecar of one namespace creates an access Secret":   {create(namespaced, original), true},
		"an administrator of the namespace restores the Secret": {create(restorer, original), true},
		"an administrator of the cluster restores the Secret":   {create(env.Client, original), true},
	} {
		if tc.allowed && tc.err != nil || !tc.allowed && !isCopy(tc.err) {
			t.Errorf("%s: want allowed %v by the policy, got %v", name, tc.allowed, tc.err)
		}
	}
}

// withoutCOSI removes COSI's finalizer.
func withoutCOSI(s *corev1.Secret) { cosiapi.RemoveProtection(s) }

// isCopy reports whether the policy rejected a request with advice.
func isCopy(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "Remove metadata.finalizers and metadata.ownerReferences from this copy")
}

// applyAs runs kubectl apply --server-side as a client.
func applyAs(t *testing.T, c client.Client, s *corev1.Secret) error {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	wantNoError(t, err)
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"), client.DryRunAll)
}

// userWith returns the client of a user with these ClusterRoles in a namespace.
func userWith(t *testing.T, env *testenv.Env, namespace, name string, roles ...string) client.Client {
	t.Helper()
	name += "-of-" + namespace
	for _, role := range roles {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}},
		}
		wantNoError(t, env.Client.Create(t.Context(), binding))
	}
	return env.ClientFor(env.User(name))
}

// TestStorageAdministratorReleasesABucket deletes a Bucket to which no claim ever bound, and follows the
// advice of its condition with the role for storage administrators.
func TestStorageAdministratorReleasesABucket(t *testing.T) {
	t.Parallel()
	f := newFlow(t, system.Options{})
	name := "storage-admin-" + f.Namespace
	f.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: deploy.StorageAdminRole},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}},
	})
	admin := f.Env.ClientFor(f.Env.User(name))
	bucket := &cosiapi.Bucket{
		ObjectMeta: metav1.ObjectMeta{Name: "made-" + f.Namespace},
		Spec: cosiapi.BucketSpec{
			DriverName: f.driver.Name(), DeletionPolicy: cosiapi.DeletionPolicyDelete,
			BucketClaimRef: cosiapi.BucketClaimReference{Namespace: f.Namespace, Name: "photos"},
		},
	}
	f.Env.Eventually("the role counts", func(ctx context.Context) error { return admin.Create(ctx, bucket) })
	f.WaitCondition(bucket, cosiapi.ConditionProvisioned)
	if err := admin.Delete(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	f.Env.Eventually("the Bucket's condition states how to release it", func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(bucket), bucket); err != nil {
			return err
		}
		held := meta.FindStatusCondition(bucket.Status.Conditions, cosiapi.ConditionDeprovisionFailed)
		if held == nil || !strings.Contains(held.Message, "Set the annotation "+cosiapi.BucketClaimBeingDeletedAnnotation) {
			return fmt.Errorf("its condition is %v", held)
		}
		return nil
	})
	mark := merge(`{"metadata":{"annotations":{"` + cosiapi.BucketClaimBeingDeletedAnnotation + `":"` + cosiapi.ReleaseMark(bucket) + `"}}}`)
	if err := admin.Patch(t.Context(), bucket, mark); err != nil {
		t.Fatalf("the administrator follows the condition: %v", err)
	}
	f.Env.Gone(bucket)
	if has := f.driver.Inventory(); len(has.Buckets) != 0 {
		t.Errorf("the driver still has %+v", has.Buckets)
	}
}

// TestExportedManifest applies the output of kubectl get -o yaml for a claim after COSI has removed an
// annotation that the output contains. It does so as a GitOps tool with a tenant's permissions.
func TestExportedManifest(t *testing.T) {
	t.Parallel()
	f := newFlow(t, system.Options{})
	tenant := userWith(t, f.Env, f.Namespace, "gitops", "edit")
	f.Env.Eventually("the role counts", func(ctx context.Context) error { return tenant.Create(ctx, f.claim) })
	f.Create(f.access)
	f.WaitCondition(f.access, cosiapi.ConditionProvisioned)
	exported := testenv.Get(f.Env, f.claim.DeepCopy())
	if _, marked := exported.Annotations[cosiapi.HasBucketAccessReferencesAnnotation]; !marked {
		t.Fatalf("the exported claim has the annotations %v", exported.Annotations)
	}
	manifest := func() *unstructured.Unstructured {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(exported)
		wantNoError(t, err)
		object := &unstructured.Unstructured{Object: content}
		object.SetGroupVersionKind(cosiapi.GroupVersion().WithKind("BucketClaim"))
		object.SetManagedFields(nil)
		object.SetResourceVersion("")
		delete(object.Object, "status")
		return object
	}
	apply := func(object *unstructured.Unstructured) error {
		return tenant.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("gitops"), client.ForceOwnership)
	}
	f.Delete(f.access)
	f.Env.Eventually("COSI removes its annotation", func(ctx context.Context) error {
		if err := f.Client().Get(ctx, client.ObjectKeyFromObject(f.claim), f.claim); err != nil {
			return err
		}
		if _, marked := f.claim.Annotations[cosiapi.HasBucketAccessReferencesAnnotation]; marked {
			return fmt.Errorf("its annotations are %v", f.claim.Annotations)
		}
		return nil
	})
	if err := apply(manifest()); err == nil || !strings.Contains(err.Error(), "If this is an exported manifest, remove them from it") {
		t.Errorf("want a rejection with instructions, got %v", err)
	}
	clean := manifest()
	clean.SetAnnotations(nil)
	clean.SetFinalizers(nil)
	if err := apply(clean); err != nil {
		t.Errorf("without what belongs to COSI: %v", err)
	}
	f.Delete(f.claim)
}

// TestSidecarLogsMissingPolicies starts the sidecar with the policies, without one, and without permission to
// read them.
func TestSidecarLogsMissingPolicies(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{Private: true})
	lines := make(chan string, 10000)
	logger := funcr.New(func(_, args string) { lines <- args }, funcr.Options{Verbosity: 1})
	f := newFlowOn(t, env, system.Options{Logger: &logger})
	const missing, unknown, started = "Admission policies are missing", "Cannot check whether the admission policies", "Reconciled"
	logged := func() string {
		var all strings.Builder
		for len(lines) > 0 {
			all.WriteString(<-lines + "\n")
		}
		return all.String()
	}
	f.Create(f.claim, f.access)
	f.WaitCondition(f.access, cosiapi.ConditionProvisioned)
	if log := logged(); strings.Contains(log, missing) || strings.Contains(log, unknown) || !strings.Contains(log, started) {
		t.Errorf("with all policies, the log is\n%s", log)
	}
	untilLogged := func(want string) {
		t.Helper()
		f.Restart(f.Sidecar(f.driver.Name()))
		log := ""
		env.Eventually("it is logged", func(context.Context) error {
			if log += logged(); !strings.Contains(log, want) {
				return fmt.Errorf("no line has %q:\n%s", want, log)
			}
			return nil
		})
	}
	env.Delete(&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "cosi-protection-create"}})
	untilLogged(`"policies"="cosi-protection-create"`)
	testenv.Change(env, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: deploy.SidecarRole}}, func(role *rbacv1.ClusterRole) {
		role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return r.APIGroups[0] == "admissionregistration.k8s.io" })
	})
	account := env.ClientFor(env.User("system:serviceaccount:cosi-system:cosi-sidecar-" + f.driver.Name() + "-" + f.Namespace))
	env.Eventually("the sidecar may not read policies", func(ctx context.Context) error {
		policy := &admissionv1.ValidatingAdmissionPolicy{}
		if err := account.Get(ctx, client.ObjectKey{Name: "cosi-protection"}, policy); !apierrors.IsForbidden(err) {
			return fmt.Errorf("want forbidden, got %w", err)
		}
		return nil
	})
	untilLogged(unknown)
	f.Delete(f.access)
}
