// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// classesOfNamespaces creates claims and accesses as a tenant, with the sample policy of deploy/policies.
func classesOfNamespaces(t *testing.T, env *testenv.Env) {
	t.Helper()
	namespace, tenant := newTenant(t, env)
	claim := func(class string) client.Object {
		return newClaim(namespace, "claim-"+class, &cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: class}})
	}
	access := func(class string) client.Object { return newAccess(namespace, "access-"+class, class) }
	imported := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "imported"},
		Spec:       cosiapi.BucketClaimSpec{ExistingBucketName: "photos"},
	}
	until(t, "the policies count", func(ctx context.Context) error {
		for _, object := range []client.Object{claim("standard"), access("keys")} {
			if err := env.Client.Create(ctx, object, client.DryRunAll); !apierrors.IsForbidden(err) {
				return fmt.Errorf("create %T without annotations, as an administrator: want forbidden, got %w", object, err)
			}
		}
		return nil
	})
	rounds := []struct {
		annotations map[string]string
		allowed     []client.Object
		refused     map[string]client.Object
	}{
		{nil, []client.Object{imported}, map[string]client.Object{"standard": claim("standard"), "keys": access("keys")}},
		{
			map[string]string{"cooper.dev/bucket-classes": "standard, archive"},
			[]client.Object{claim("standard"), claim("archive")},
			map[string]client.Object{"fast": claim("fast"), "stand": claim("stand"), "keys": access("keys"), "standard": access("standard")},
		},
		{
			map[string]string{"cooper.dev/bucket-access-classes": "keys"},
			[]client.Object{access("keys")},
			map[string]client.Object{"roles": access("roles"), "standard": claim("standard")},
		},
		{
			map[string]string{"cooper.dev/bucket-classes": "*", "cooper.dev/bucket-access-classes": "*"},
			[]client.Object{claim("fast"), access("roles")},
			nil,
		},
	}
	for _, round := range rounds {
		annotate(t, env, namespace, round.annotations)
		for _, object := range round.allowed {
			until(t, fmt.Sprintf("the tenant may create a %T with %v", object, round.annotations), func(ctx context.Context) error {
				return tenant.Create(ctx, object, client.DryRunAll)
			})
		}
		for class, object := range round.refused {
			until(t, fmt.Sprintf("class %s is refused with %v", class, round.annotations), func(ctx context.Context) error {
				err := tenant.Create(ctx, object, client.DryRunAll)
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "may not use Bucket") || !strings.Contains(err.Error(), `"`+class+`"`) {
					return fmt.Errorf("want forbidden, got %w", err)
				}
				return nil
			})
		}
	}
	staysAsItIs(t, env, namespace, tenant)
}

// staysAsItIs checks that a tenant without access to a class keeps the existing objects of it, and can delete
// them.
func staysAsItIs(t *testing.T, env *testenv.Env, namespace string, tenant client.Client) {
	t.Helper()
	kept := newClaim(namespace, "kept", &cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: "standard"}})
	kept.Finalizers = []string{"example.com/held"}
	wantNoError(t, tenant.Create(t.Context(), kept))
	annotate(t, env, namespace, nil)
	until(t, "the class is lost", func(ctx context.Context) error {
		again := newClaim(namespace, "again", &cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: "standard"}})
		if err := tenant.Create(ctx, again, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("want forbidden, got %w", err)
		}
		return nil
	})
	if err := tenant.Delete(t.Context(), kept); err != nil {
		t.Errorf("delete a claim whose class was lost: %v", err)
	}
	release := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := env.Client.Patch(t.Context(), kept, release); err != nil {
		t.Errorf("the finalizer of a claim whose class was lost: %v", err)
	}
	if err := tenant.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"cooper.dev/bucket-classes":"*"}}}`))); !apierrors.IsForbidden(err) {
		t.Errorf("the tenant annotates the namespace: want forbidden, got %v", err)
	}
}

// quotaOfNamespaces creates claims and accesses with the sample quota of deploy/policies until it is
// exhausted.
func quotaOfNamespaces(t *testing.T, env *testenv.Env) {
	t.Helper()
	namespace, tenant := newTenant(t, env)
	annotate(t, env, namespace, map[string]string{"cooper.dev/bucket-classes": "*", "cooper.dev/bucket-access-classes": "*"})
	apply(t, env, namespace, "-f", "../../deploy/policies/quota.yaml")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "object-storage"}}
	until(t, "the quota counts", func(ctx context.Context) error {
		err := env.Client.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		if err == nil && len(quota.Status.Used) < 2 {
			return fmt.Errorf("its status is %v", quota.Status)
		}
		return err
	})
	class := &cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: "standard"}}
	for resource, object := range map[string]func(name string) client.Object{
		"count/bucketclaims.objectstorage.k8s.io":   func(name string) client.Object { return newClaim(namespace, name, class) },
		"count/bucketaccesses.objectstorage.k8s.io": func(name string) client.Object { return newAccess(namespace, name, "keys") },
	} {
		hard := quota.Spec.Hard[corev1.ResourceName(resource)]
		if hard.Value() == 0 {
			t.Fatalf("the quota does not contain %s: %v", resource, quota.Spec.Hard)
		}
		noneFor(t, env, namespace, corev1.ResourceName(resource), object)
		until(t, "the tenant may create", func(ctx context.Context) error { return tenant.Create(ctx, object("probe"), client.DryRunAll) })
		for i := range hard.Value() {
			if err := tenant.Create(t.Context(), object(fmt.Sprintf("n%d", i))); err != nil {
				t.Fatalf("%s: number %d of %d: %v", resource, i+1, hard.Value(), err)
			}
		}
		err := tenant.Create(t.Context(), object("one-more"))
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: object-storage, requested: "+resource) {
			t.Errorf("%s: one more than %d: want forbidden by the quota, got %v", resource, hard.Value(), err)
		}
		wantNoError(t, tenant.Delete(t.Context(), object("n0")))
		until(t, "there is room for another again", func(ctx context.Context) error { return tenant.Create(ctx, object("another")) })
	}
}

// noneFor creates a quota that allows no object of a resource, waits until it counts, and deletes it. The API server
// counts by a cache. When this quota is in it, so are those before it.
func noneFor(t *testing.T, env *testenv.Env, namespace string, resource corev1.ResourceName, object func(name string) client.Object) {
	t.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{resource: {}}},
	}
	wantNoError(t, env.Client.Create(t.Context(), quota))
	until(t, "the API server counts", func(ctx context.Context) error {
		if err := env.Client.Create(ctx, object("none"), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "exceeded quota: none") {
			return fmt.Errorf("want a refusal by the quota, got %w", err)
		}
		return nil
	})
	wantNoError(t, env.Client.Delete(t.Context(), quota))
}

// newTenant returns a namespace and a client with the role edit in it.
func newTenant(t *testing.T, env *testenv.Env) (string, client.Client) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenant-"}}
	wantNoError(t, env.Client.Create(t.Context(), namespace))
	name := "user-of-" + namespace.Name
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}},
	}
	wantNoError(t, env.Client.Create(t.Context(), binding))
	return namespace.Name, env.ClientFor(env.User(name))
}

// annotate replaces all annotations of a namespace.
func annotate(t *testing.T, env *testenv.Env, name string, annotations map[string]string) {
	t.Helper()
	namespace := &corev1.Namespace{}
	wantNoError(t, env.Client.Get(t.Context(), client.ObjectKey{Name: name}, namespace))
	namespace.Annotations = annotations
	wantNoError(t, env.Client.Update(t.Context(), namespace))
}

func newAccess(namespace, name, class string) *cosiapi.BucketAccess {
	return &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: class, Protocol: cosiapi.ProtocolS3,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: "photos", AccessSecretName: name,
				AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
			}},
		},
	}
}

// until is Eventually for subtests that share an Env.
func until(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := controlplane.Until(ctx, check); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
