// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// There are three writes if the claim exists already: finalizer, UID on the claim, hand-off.
func TestAccessIsHandedOffInOneWrite(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	class := s.newAccessClass("keys")
	claim, bucket := s.provisioned("photos", "fast")
	s.settled()
	before := len(s.writes())
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilHandedOff(access)
	want := cosiapi.BucketAccessStatus{
		DriverName: s.namespace, AuthenticationType: cosiapi.AuthenticationTypeKey, Parameters: map[string]string{"user": "plain"},
		AccessedBuckets: []cosiapi.AccessedBucket{{BucketName: bucket.Name, BucketID: bucket.Status.BucketID, BucketClaimName: "photos"}},
		Conditions:      access.Status.Conditions,
	}
	if diff := cmp.Diff(want, access.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated)
	if !cosiapi.HasProtection(access) {
		t.Errorf("finalizers of the access %v", access.Finalizers)
	}
	s.referenced(claim, access)
	s.Eventually("the audit log shows the writes", func(context.Context) error {
		writes := s.writes()[before:]
		if diff := cmp.Diff([]string{"patch bucketaccesses app", "patch bucketclaims photos", "patch bucketaccesses/status app"}, writes); diff != "" {
			return fmt.Errorf("writes (-want +got):\n%s", diff)
		}
		return nil
	})
	if got := s.conflicts(); got != 0 {
		t.Errorf("conflicts on the straight path: %d", got)
	}
	// Another class of the same name changes nothing.
	s.Delete(class)
	s.Gone(class)
	s.newAccessClass("keys", func(spec *cosiapi.BucketAccessClassSpec) {
		spec.DriverName, spec.Parameters = "other", map[string]string{"user": "fancy"}
	})
	s.settled()
	if diff := cmp.Diff(want, testenv.Get(s.Env, access).Status); diff != "" {
		t.Errorf("status after the class was replaced (-want +got):\n%s", diff)
	}
}

// Creating access and claim together needs no additional writes, and the hand-off does not read the claim.
func TestAccessCreatedWithItsClaim(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.newClass("fast")
	s.newAccessClass("keys")
	claim := s.newClaim("photos", "fast")
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.run()
	bucket := s.bound(claim)
	s.Eventually("the finalizer of the access", func(context.Context) error {
		if !cosiapi.HasProtection(testenv.Get(s.Env, access)) {
			return errors.New("it has none")
		}
		return nil
	})
	s.provision(bucket)
	s.untilHandedOff(access)
	for _, e := range s.Audit(controlplane.AuditFilter{User: s.user}) {
		if e.Verb == "get" && e.Resource == "bucketclaims" {
			t.Errorf("the claim was read from the API server: %+v", e)
		}
	}
	want := []string{
		"create buckets " + bucket.Name, "patch bucketaccesses app", "patch bucketaccesses/status app",
		"patch bucketclaims photos", "patch bucketclaims photos", "patch bucketclaims/status photos", "patch bucketclaims/status photos",
	}
	s.Eventually("the audit log shows the writes", func(context.Context) error {
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(s.writes()))); diff != "" {
			return fmt.Errorf("writes (-want +got):\n%s", diff)
		}
		return nil
	})
	if got := s.conflicts(); got != 0 {
		t.Errorf("conflicts on the straight path: %d", got)
	}
}

// There is one more write for each object that the access reports waiting for: the claim, and then its Bucket.
func TestAccessCreatedBeforeItsClaim(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	s.newAccessClass("keys")
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucketClaim)
	s.untilCondition(access, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForBucketClaim)
	claim := s.newClaim("photos", "fast")
	bucket := s.bound(claim)
	// A bucket ID is not enough to make the Bucket usable.
	testenv.ChangeStatus(s.Env, bucket, func(b *cosiapi.Bucket) { b.Status.BucketID = b.Name })
	s.settled()
	if got := testenv.Get(s.Env, access).Status.DriverName; got != "" {
		t.Errorf("handed off to %s before the bucket is provisioned", got)
	}
	s.provision(bucket)
	s.untilHandedOff(access)
	s.Eventually("the access is written for: waiting for the claim, finalizer, waiting for the Bucket, hand-off", func(context.Context) error {
		if writes := slices.DeleteFunc(s.writes(), func(w string) bool { return !strings.HasSuffix(w, " app") }); len(writes) != 4 {
			return fmt.Errorf("writes %q", writes)
		}
		return nil
	})
}

func addClaim(a *cosiapi.BucketAccess, name string) {
	more := a.Spec.BucketClaims[0]
	more.BucketClaimName, more.AccessSecretName = name, a.Name+"-"+name
	a.Spec.BucketClaims = append(a.Spec.BucketClaims, more)
}

// lateClasses is a client with a cache that has no BucketAccessClass yet.
type lateClasses struct{ client.Client }

func (c lateClasses) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*cosiapi.BucketAccessClass); ok {
		key.Name = "no-such-class"
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// An access that is created together with its class must not report a missing class.
func TestAccessWhoseClassIsNotInTheCache(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.wrapClient = func(c client.Client) client.Client { return lateClasses{c} }
	s.run()
	s.newClass("fast")
	s.newAccessClass("keys")
	s.provisioned("photos", "fast")
	s.untilHandedOff(s.newAccess(s.access("app", "keys", "photos")))
}

// An access that a class rejects leaves nothing on its claims, and a new class triggers a reconcile.
func TestAccessRejectedByOneClassAndAllowedByTheNext(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	first := s.newAccessClass("keys")
	photos, _ := s.provisioned("photos", "fast")
	s.provisioned("films", "fast")
	access := s.newAccess(s.access("app", "keys", "photos", "films"))
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.MultiBucketDisallowed)
	if cosiapi.HasProtection(access) {
		t.Errorf("a rejected access is protected: %v", access.Finalizers)
	}
	s.Eventually("the claim has no mark", func(context.Context) error {
		if claim := testenv.Get(s.Env, photos); marked(claim) {
			return fmt.Errorf("annotations %v", claim.Annotations)
		}
		return nil
	})
	s.Delete(first)
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	s.newAccessClass("keys", multiBucket)
	s.untilHandedOff(access)
	if got := len(access.Status.AccessedBuckets); got != 2 {
		t.Errorf("Buckets handed off: want 2, got %d", got)
	}
}

// The Bucket of the claim is marked as released, so the binding is not valid until an administrator removes the mark.
func TestAccessIsRetriedWhenTheBindingIsCorrected(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	s.newAccessClass("keys")
	claim := s.newClaim("photos", "fast")
	bucket := s.bound(claim)
	testenv.Change(s.Env, bucket, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "") })
	s.provision(bucket)
	s.untilProvisioned(claim)
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BindingInvalid)
	testenv.Change(s.Env, bucket, func(b *cosiapi.Bucket) { cosiapi.RemoveAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation) })
	s.untilHandedOff(access)
}

func TestWaitingAccessReleasesDeletedClaim(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	s.newAccessClass("keys")
	claim := s.newClaim("photos", "fast")
	s.bound(claim)
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilProtected(access)
	s.Delete(claim)
	s.Gone(claim)
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucketClaim)
	if cosiapi.HasProtection(access) {
		t.Error("the access kept its finalizer")
	}
}

// A claim may be deleted before the access has its finalizer.
func TestAccessToMissingClaimHoldsNoOther(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	s.newAccessClass("keys", func(spec *cosiapi.BucketAccessClassSpec) {
		spec.MultiBucketAccess = cosiapi.MultiBucketAccessMultipleBuckets
	})
	claim := s.newClaim("photos", "fast")
	s.provision(s.bound(claim))
	access := s.access("app", "keys", "photos")
	addClaim(access, "films")
	cosiapi.AddProtection(access) // the state after that race
	s.newAccess(access)
	testenv.Until(s.Env, access, "the access releases its claims", func(a *cosiapi.BucketAccess) error {
		if cosiapi.HasProtection(a) {
			return fmt.Errorf("finalizers %v", a.Finalizers)
		}
		return nil
	})
	s.settled()
	if marked(testenv.Get(s.Env, claim)) {
		t.Error("the claim is marked as in use by an access that waits for another claim")
	}
	films := s.newClaim("films", "fast")
	s.provision(s.bound(films))
	s.untilHandedOff(access)
}

// The mark is removed before the finalizer of the last access.
func TestLastAccessTakesTheMarkOff(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	s.newAccessClass("keys")
	claim, _ := s.provisioned("photos", "fast")
	first, last := s.newAccess(s.access("first", "keys", "photos")), s.newAccess(s.access("last", "keys", "photos"))
	for _, a := range []*cosiapi.BucketAccess{first, last} {
		s.untilHandedOff(a)
		s.grant(a)
	}
	s.Delete(last)
	s.Delete(first)
	s.settled()
	testenv.Get(s.Env, first)
	if !cosiapi.HasProtection(first) {
		t.Error("an access went before its sidecar had cleaned up")
	}
	s.cleanedUp(first)
	s.Gone(first)
	if !marked(testenv.Get(s.Env, claim)) { // the revocation of the other one is stuck
		t.Error("the mark went while an access was still being revoked")
	}
	s.cleanedUp(last)
	s.Gone(last)
	if marked(testenv.Get(s.Env, claim)) {
		t.Error("the mark remains after the last access is deleted")
	}
	s.Eventually("the audit log shows that the mark was off before the finalizer", func(context.Context) error {
		writes := s.writes()
		if lastIndex(writes, "patch bucketclaims photos") > lastIndex(writes, "patch bucketaccesses last") {
			return errors.New(strings.Join(writes, "\n"))
		}
		return nil
	})
}

func lastIndex(all []string, what string) int {
	for i, v := range slices.Backward(all) {
		if v == what {
			return i
		}
	}
	return -1
}

// If a user removes our marks, they are added again.
func TestMarksTakenOffByHandComeBack(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	s.newAccessClass("keys")
	claim, _ := s.provisioned("photos", "fast")
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilHandedOff(access)
	testenv.Change(s.Env, claim, func(c *cosiapi.BucketClaim) {
		cosiapi.RemoveAnnotation(c, cosiapi.HasBucketAccessReferencesAnnotation)
		cosiapi.RemoveProtection(c)
	})
	testenv.Change(s.Env, access, func(a *cosiapi.BucketAccess) { cosiapi.RemoveProtection(a) })
	testenv.Until(s.Env, claim, "the claim is marked and protected again", func(c *cosiapi.BucketClaim) error {
		if !marked(c) || !cosiapi.HasProtection(c) {
			return fmt.Errorf("annotations %v, finalizers %v", c.Annotations, c.Finalizers)
		}
		return nil
	})
	testenv.Until(s.Env, access, "the access is protected again", func(a *cosiapi.BucketAccess) error {
		if !cosiapi.HasProtection(a) {
			return fmt.Errorf("finalizers %v", a.Finalizers)
		}
		return nil
	})
}
