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

// TestAUserWithTheRoleEditServesThemselves binds nothing of ours: the rules for
// claims and accesses are part of the roles that every cluster has.
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
		t.Errorf("the Secret after its access is gone: %v, want not found", err)
	}
}
