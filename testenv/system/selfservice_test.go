// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv/system"
)

// TestAUserWithTheRoleEditServesThemselves binds none of Cooper's roles: the rules for claims and accesses
// are aggregated to the default roles.
func TestAUserWithTheRoleEditServesThemselves(t *testing.T) {
	t.Parallel()
	f := newFlow(t, system.Options{})
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "anna"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "anna-" + f.Namespace}},
	}
	f.Create(binding)
	anna := f.Env.ClientFor(f.Env.User("anna-" + f.Namespace))
	f.Env.Eventually("the role edit counts", func(ctx context.Context) error {
		return errors.Join(
			anna.List(ctx, &cosiapi.BucketClaimList{}, client.InNamespace(f.Namespace)),
			anna.Create(ctx, newClaim(f.Namespace, "probe", f.class), client.DryRunAll))
	})
	for _, object := range []client.Object{f.claim, f.access} {
		if err := anna.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
	f.WaitCondition(f.access, cosiapi.ConditionProvisioned)
	if err := anna.Get(t.Context(), client.ObjectKeyFromObject(f.secret), f.secret); err != nil || len(f.secret.Data) == 0 {
		t.Errorf("read the granted Secret: %v, %d keys", err, len(f.secret.Data))
	}
	for what, err := range map[string]error{
		"list Buckets":         anna.List(t.Context(), &cosiapi.BucketList{}),
		"create a Bucket":      anna.Create(t.Context(), &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: f.Namespace}}),
		"delete a BucketClass": anna.Delete(t.Context(), f.class),
		"claims elsewhere":     anna.List(t.Context(), &cosiapi.BucketClaimList{}, client.InNamespace("default")),
		"write a status":       anna.Status().Update(t.Context(), f.claim),
		"write roles":          anna.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "x"}, RoleRef: binding.RoleRef}),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: want forbidden, got %v", what, err)
		}
	}
	for _, object := range []client.Object{f.access, f.claim} {
		if err := anna.Delete(t.Context(), object); err != nil {
			t.Fatalf("delete %T: %v", object, err)
		}
		if err := system.WaitGone(t.Context(), f.Client(), object); err != nil {
			t.Error(err)
		}
	}
	if err := anna.Get(t.Context(), client.ObjectKeyFromObject(f.secret), &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret after the deletion of its access: %v, want not found", err)
	}
}

// TestWhoSeesClasses binds view in the cluster, which is sufficient, and edit in a namespace, which excludes
// classes, before and after the role for classes is bound as the page on deployment says.
func TestWhoSeesClasses(t *testing.T) {
	t.Parallel()
	f := newFlow(t, system.Options{})
	bind := func(user, role string, binding client.Object) client.Client {
		t.Helper()
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
		subjects := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}}
		switch binding := binding.(type) {
		case *rbacv1.RoleBinding:
			binding.RoleRef, binding.Subjects = ref, subjects
		case *rbacv1.ClusterRoleBinding:
			binding.RoleRef, binding.Subjects = ref, subjects
		}
		f.Create(binding)
		return f.Env.ClientFor(f.Env.User(user))
	}
	mayRead := func(c client.Client) func(context.Context) error {
		return func(ctx context.Context) error {
			return errors.Join(c.List(ctx, &cosiapi.BucketClassList{}), c.List(ctx, &cosiapi.BucketAccessClassList{}), c.Get(ctx, client.ObjectKeyFromObject(f.class), &cosiapi.BucketClass{}))
		}
	}
	auditor := bind("auditor-"+f.Namespace, "view", &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "auditor-" + f.Namespace}})
	f.Env.Eventually("users with the role view in the cluster read classes", mayRead(auditor))

	name := "ben-" + f.Namespace
	ben := bind(name, "edit", &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name}})
	f.Env.Eventually("the role edit counts", func(ctx context.Context) error {
		return ben.List(ctx, &cosiapi.BucketClaimList{}, client.InNamespace(f.Namespace))
	})
	if err := ben.List(t.Context(), &cosiapi.BucketClassList{}); !apierrors.IsForbidden(err) {
		t.Errorf("classes with edit in a namespace: want forbidden, got %v", err)
	}
	bind(name, "cosi-view-classes", &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}})
	f.Env.Eventually("the role for classes counts", mayRead(ben))
	for who, c := range map[string]client.Client{"auditor": auditor, "ben": ben} {
		if err := c.Delete(t.Context(), f.class, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("%s deletes a class: want forbidden, got %v", who, err)
		}
	}
}
