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
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv"
)

// objectsOfDrivers changes Buckets, accesses and access Secrets with the service account of a driver's Pod.
func objectsOfDrivers(t *testing.T, env *testenv.Env) {
	t.Helper()
	config, err := env.ControlPlane.User("system:serviceaccount:"+ofDriver+":"+ofDriver, "system:serviceaccounts", "system:authenticated")
	wantNoError(t, err)
	sidecar := env.ClientFor(config)
	tenant, _ := newTenant(t, env)
	annotate(t, env, tenant, map[string]string{"cooper.dev/bucket-access-classes": "*"})
	const own, other, none = "s3.cooper.dev", "gcs.cooper.dev", ""
	buckets, accesses, secrets := map[string]client.Object{}, map[string]client.Object{}, map[string]client.Object{}
	for driver, name := range map[string]string{own: "own", other: "other", none: "none"} {
		access := newAccess(tenant, name, "keys")
		until(t, "there is an access", func(ctx context.Context) error { return env.Client.Create(ctx, access) })
		accesses[driver] = access
		if driver == none {
			continue
		}
		access.Status = cosiapi.BucketAccessStatus{
			DriverName: driver, AuthenticationType: cosiapi.AuthenticationTypeKey,
			AccessedBuckets: []cosiapi.AccessedBucket{{BucketName: "bc-1", BucketID: "bc-1", BucketClaimName: "photos"}},
		}
		bucket := &cosiapi.Bucket{
			ObjectMeta: metav1.ObjectMeta{Name: "of-" + name},
			Spec: cosiapi.BucketSpec{
				DriverName: driver, DeletionPolicy: cosiapi.DeletionPolicyRetain,
				BucketClaimRef: cosiapi.BucketClaimReference{Namespace: tenant, Name: "photos", UID: "1"},
			},
		}
		wantNoError(t, env.Client.Status().Update(t.Context(), access))
		secret := newSecret(tenant, name, ofAccess(access), func(s *corev1.Secret) {
			s.Finalizers, s.Annotations = []string{cosiapi.ProtectionFinalizer}, map[string]string{"cooper.dev/driver": driver}
		})
		for _, object := range []client.Object{bucket, secret} {
			wantNoError(t, env.Client.Create(t.Context(), object))
		}
		buckets[driver], secrets[driver] = bucket, secret
	}
	// A tenant can write this Secret. It must not prevent the sidecar of the access from replacing it.
	pretender := newSecret(tenant, "pretender", ofAccess(accesses[own]), func(s *corev1.Secret) {
		s.Annotations = map[string]string{"cooper.dev/driver": other}
	})
	wantNoError(t, env.Client.Create(t.Context(), pretender))
	changeAs := func(c client.Client, o client.Object) error {
		return c.Patch(t.Context(), o.DeepCopyObject().(client.Object), merge(`{"metadata":{"annotations":{"a":"b"}}}`), client.DryRunAll)
	}
	change := func(o client.Object) error { return changeAs(sidecar, o) }
	report := func(o client.Object, status string) error {
		return sidecar.Status().Patch(t.Context(), o.DeepCopyObject().(client.Object), merge(`{"status":`+status+`}`), client.DryRunAll)
	}
	until(t, "the policy counts", func(context.Context) error {
		if err := change(buckets[other]); !ofAnother(err) {
			return fmt.Errorf("want a refusal by the policy, got %w", err)
		}
		return nil
	})
	remove := func(o client.Object) error { return sidecar.Delete(t.Context(), o, client.DryRunAll) }
	owner := ownerOf(t, env, tenant)
	for name, tc := range map[string]struct {
		err     error
		allowed bool
	}{
		"change a Bucket of its driver":                {change(buckets[own]), true},
		"change a Bucket of another driver":            {change(buckets[other]), false},
		"report on a Bucket of its driver":             {report(buckets[own], `{"bucketID":"x"}`), true},
		"report on a Bucket of another driver":         {report(buckets[other], `{"bucketID":"x"}`), false},
		"change an access of its driver":               {change(accesses[own]), true},
		"change an access of another driver":           {change(accesses[other]), false},
		"report on an access of its driver":            {report(accesses[own], `{"accountID":"x"}`), true},
		"report on an access of another driver":        {report(accesses[other], `{"accountID":"x"}`), false},
		"change an access that was not handed off":     {change(accesses[none]), false},
		"change the Secret of its driver's access":     {change(secrets[own]), true},
		"change the Secret of another driver's access": {change(secrets[other]), false},
		"delete the Secret of its driver's access":     {remove(secrets[own]), true},
		"delete the Secret of another driver's access": {remove(secrets[other]), false},
		"delete a Secret that pretends to be another":  {remove(pretender), true},
		"change any Secret as the namespace's owner":   {changeAs(owner, secrets[other]), true},
		"change any Bucket as an administrator":        {changeAs(env.Client, buckets[other]), true},
		"change any access as the namespace's owner":   {changeAs(owner, accesses[none]), true},
		"hand an access over to itself": {report(accesses[none], `{"driverName":"s3.cooper.dev","authenticationType":"Key",`+
			`"accessedBuckets":[{"bucketName":"bc-1","bucketID":"bc-1","bucketClaimName":"photos"}]}`), false},
	} {
		if tc.allowed && tc.err != nil || !tc.allowed && !ofAnother(tc.err) {
			t.Errorf("%s: want allowed %v by the policy, got %v", name, tc.allowed, tc.err)
		}
	}
}

// ownerOf returns a user with all permissions in a namespace, including those that identify a sidecar, but
// with no Lease elsewhere.
func ownerOf(t *testing.T, env *testenv.Env, namespace string) client.Client {
	t.Helper()
	name := "owner-of-" + namespace
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}},
	}
	wantNoError(t, env.Client.Create(t.Context(), binding))
	owner := env.ClientFor(env.User(name))
	until(t, "the owner's role counts", func(ctx context.Context) error {
		return owner.List(ctx, &cosiapi.BucketAccessList{}, client.InNamespace(namespace))
	})
	return owner
}

func merge(body string) client.Patch {
	return client.RawPatch("application/merge-patch+json", []byte(body))
}

// ofAnother reports whether the policy, and not RBAC, rejected a request, with advice for the administrator.
func ofAnother(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "only Buckets, BucketAccesses and access Secrets of its own driver") &&
		strings.Contains(err.Error(), "If the sidecar runs with --leader-namespace, also replace cosi-system by that namespace in the policy cosi-sidecar-driver")
}
