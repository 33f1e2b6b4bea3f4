// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/testenv"
)

// global returns the name of a cluster-scoped object.
func (s *system) global(name string) string { return s.namespace + "." + name }

// newClass creates a BucketClass with policy Delete after applying alter.
func (s *system) newClass(name string, alter ...func(*cosiapi.BucketClass)) *cosiapi.BucketClass {
	s.t.Helper()
	class := &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.global(name)},
		Spec: cosiapi.BucketClassSpec{
			DriverName: s.namespace, DeletionPolicy: cosiapi.DeletionPolicyDelete, Parameters: map[string]string{"tier": "hot"},
		},
	}
	for _, a := range alter {
		a(class)
	}
	s.Create(class)
	return class
}

// claim returns a claim of a class. It does not create it.
func (s *system) claim(name, class string, protocols ...cosiapi.Protocol) *cosiapi.BucketClaim {
	return &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: s.global(class), Protocols: protocols},
	}
}

// newClaim creates a claim of a class.
func (s *system) newClaim(name, class string) *cosiapi.BucketClaim {
	s.t.Helper()
	claim := s.claim(name, class, cosiapi.ProtocolS3)
	s.Create(claim)
	return claim
}

// importing returns a claim for an imported Bucket. It does not create it.
func (s *system) importing(name, bucket string, protocols ...cosiapi.Protocol) *cosiapi.BucketClaim {
	claim := s.claim(name, "", protocols...)
	claim.Spec.BucketClassName, claim.Spec.ExistingBucketName = "", s.global(bucket)
	return claim
}

// newImported creates a Bucket as an administrator does to import one.
func (s *system) newImported(name, claim string, alter ...func(*cosiapi.Bucket)) *cosiapi.Bucket {
	s.t.Helper()
	bucket := &cosiapi.Bucket{
		ObjectMeta: metav1.ObjectMeta{Name: s.global(name)},
		Spec: cosiapi.BucketSpec{
			DriverName: s.namespace, DeletionPolicy: cosiapi.DeletionPolicyRetain, ExistingBucketID: name,
			BucketClaimRef: cosiapi.BucketClaimReference{Namespace: s.namespace, Name: claim},
		},
	}
	for _, a := range alter {
		a(bucket)
	}
	s.Create(bucket)
	return bucket
}

// bound waits until a claim is bound and returns its Bucket, which is deleted at the end of the test in any case.
func (s *system) bound(claim *cosiapi.BucketClaim) *cosiapi.Bucket {
	s.t.Helper()
	testenv.Until(s.Env, claim, "claim "+claim.Name+" is bound", func(c *cosiapi.BucketClaim) error {
		if c.Status.BoundBucketName == "" {
			return fmt.Errorf("it is not, conditions %+v", c.Status.Conditions)
		}
		return nil
	})
	bucket := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.BoundBucketName}}
	s.t.Cleanup(func() { s.dropFinalizer(bucket) })
	return testenv.Get(s.Env, bucket)
}

// provision acts as the sidecar: it sets an ID and marks the Bucket as provisioned.
func (s *system) provision(bucket *cosiapi.Bucket, protocols ...cosiapi.Protocol) {
	s.t.Helper()
	if len(protocols) == 0 {
		protocols = []cosiapi.Protocol{cosiapi.ProtocolS3}
	}
	id := bucket.Spec.ExistingBucketID
	if id == "" {
		id = bucket.Name
	}
	testenv.ChangeStatus(s.Env, bucket, func(b *cosiapi.Bucket) {
		b.Status.BucketID, b.Status.Protocols = id, protocols
		setCondition(&b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue, conditions.Provisioned, "The bucket is there")
		setCondition(&b.Status.Conditions, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.SidecarValidated, "Valid")
		setCondition(&b.Status.Conditions, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse, conditions.RPCSucceeded, "OK")
	})
}

// protectBucket acts as the sidecar: it adds the finalizer to the Bucket.
func (s *system) protectBucket(bucket *cosiapi.Bucket) {
	s.t.Helper()
	testenv.Change(s.Env, bucket, func(b *cosiapi.Bucket) { cosiapi.AddProtection(b) })
	s.t.Cleanup(func() { s.dropFinalizer(bucket) })
}

// dropFinalizer removes the finalizer of an object at the end of a test.
func (s *system) dropFinalizer(obj client.Object) {
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	ctx := withoutCancel(s.t)
	if err := client.IgnoreNotFound(s.Client.Patch(ctx, obj, patch)); err != nil {
		s.t.Errorf("take finalizers off %s: %v", obj.GetName(), err)
	}
	if err := client.IgnoreNotFound(s.Client.Delete(ctx, obj)); err != nil {
		s.t.Errorf("delete %s: %v", obj.GetName(), err)
	}
}

// setCondition acts as the sidecar, which writes Ready together with the condition.
func setCondition(conds *[]metav1.Condition, conditionType string, status metav1.ConditionStatus, reason conditions.Reason, message string) {
	defer conditions.Summarize(conds)
	meta.SetStatusCondition(conds, metav1.Condition{Type: conditionType, Status: status, Reason: string(reason), Message: message, ObservedGeneration: 1})
}

// provisioned creates a claim of a class and waits until it is provisioned. It returns the claim and its Bucket.
func (s *system) provisioned(name, class string) (*cosiapi.BucketClaim, *cosiapi.Bucket) {
	s.t.Helper()
	claim := s.newClaim(name, class)
	bucket := s.bound(claim)
	s.provision(bucket)
	s.untilProvisioned(claim)
	return claim, bucket
}

func (s *system) untilProvisioned(claim *cosiapi.BucketClaim) {
	s.t.Helper()
	s.untilCondition(claim, cosiapi.ConditionProvisioned, metav1.ConditionTrue, conditions.Provisioned)
}

// newAccessClass creates a BucketAccessClass after applying alter.
func (s *system) newAccessClass(name string, alter ...func(*cosiapi.BucketAccessClassSpec)) *cosiapi.BucketAccessClass {
	s.t.Helper()
	class := &cosiapi.BucketAccessClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.global(name)},
		Spec:       cosiapi.BucketAccessClassSpec{DriverName: s.namespace, Parameters: map[string]string{"user": "plain"}},
	}
	for _, a := range alter {
		a(&class.Spec)
	}
	s.Create(class)
	return class
}

func multiBucket(spec *cosiapi.BucketAccessClassSpec) {
	spec.MultiBucketAccess = cosiapi.MultiBucketAccessMultipleBuckets
}

// access returns a read-write access to claims. It does not create it.
func (s *system) access(name, class string, claims ...string) *cosiapi.BucketAccess {
	access := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       cosiapi.BucketAccessSpec{BucketAccessClassName: s.global(class), Protocol: cosiapi.ProtocolS3},
	}
	for _, claim := range claims {
		access.Spec.BucketClaims = append(access.Spec.BucketClaims, cosiapi.BucketClaimAccess{
			BucketClaimName: claim, AccessSecretName: name + "-" + claim,
			AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
		})
	}
	return access
}

// newAccess creates an access and drops its finalizer at the end of the test.
func (s *system) newAccess(access *cosiapi.BucketAccess) *cosiapi.BucketAccess {
	s.t.Helper()
	s.Create(access)
	s.t.Cleanup(func() { s.dropFinalizer(access) })
	return access
}

// untilHandedOff waits until the access is handed off.
func (s *system) untilHandedOff(access *cosiapi.BucketAccess) {
	s.t.Helper()
	testenv.Until(s.Env, access, "access "+access.Name+" is handed off", func(a *cosiapi.BucketAccess) error {
		if a.Status.DriverName == "" {
			return fmt.Errorf("it is not, conditions %+v", a.Status.Conditions)
		}
		return nil
	})
}

// grant acts as the sidecar: it marks the access as granted.
func (s *system) grant(access *cosiapi.BucketAccess) {
	s.t.Helper()
	testenv.ChangeStatus(s.Env, access, func(a *cosiapi.BucketAccess) {
		a.Status.AccountID = cosiapi.AccountNameFor(a.UID)
		setCondition(&a.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue, conditions.Provisioned, "Granted")
		setCondition(&a.Status.Conditions, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse, conditions.RPCSucceeded, "OK")
	})
}

// cleanedUp acts as the sidecar: it reports that the Secrets are deleted and the access is revoked.
func (s *system) cleanedUp(access *cosiapi.BucketAccess) {
	s.t.Helper()
	testenv.Change(s.Env, access, func(a *cosiapi.BucketAccess) {
		cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "true")
	})
}

// marked reports whether a claim has the mark of a claim in use.
func marked(claim *cosiapi.BucketClaim) bool {
	return cosiapi.HasAnnotation(claim, cosiapi.HasBucketAccessReferencesAnnotation)
}

func inNamespace(s *system) client.ListOption { return client.InNamespace(s.namespace) }
