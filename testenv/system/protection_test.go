// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/testenv"
)

// copiesOfSecrets creates Secrets with and without COSI's finalizer as the accounts that create Secrets.
func copiesOfSecrets(t *testing.T, env *testenv.Env) {
	t.Helper()
	namespace, tenant := newTenant(t, env)
	everywhere, err := env.ControlPlane.User("system:serviceaccount:"+ofDriver+":"+ofDriver, "system:serviceaccounts", "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
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
			if err := create(c, ordinary); err != nil {
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

// isCopy reports whether the policy refused a request and said what to do.
func isCopy(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "Remove metadata.finalizers and metadata.ownerReferences from this copy")
}

// applyAs tries kubectl apply --server-side.
func applyAs(t *testing.T, c client.Client, s *corev1.Secret) error {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"), client.DryRunAll)
}

// userWith returns a client of a user with these ClusterRoles in a namespace.
func userWith(t *testing.T, env *testenv.Env, namespace, name string, roles ...string) client.Client {
	t.Helper()
	name += "-of-" + namespace
	for _, role := range roles {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}},
		}
		if err := env.Client.Create(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
	return env.ClientFor(env.User(name))
}
