// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// The finalizer may have been removed after the hand-off.
func TestAccessGetsItsFinalizerBeforeItsGrant(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.access(b)
	a.Finalizers = nil
	key := client.ObjectKeyFromObject(a)
	memdriver.On(s.driver, func(ctx context.Context, _ *cosi.DriverGrantBucketAccessRequest) error {
		now := &cosiapi.BucketAccess{}
		err := s.Client.Get(ctx, key, now)
		if err == nil && !cosiapi.HasProtection(now) {
			t.Error("the access is granted before it has its finalizer")
		}
		return err
	})
	s.handOff(a, b)
	s.ready(a)
}

func TestAccessesThatAreNotTheSidecars(t *testing.T) {
	t.Parallel()
	for name, driver := range map[string]string{"an access of another driver": "other.example.com", "an access that was not handed off": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.readyBucket()
			a := s.access(b)
			s.Create(a)
			if driver != "" {
				testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) {
					a.Status.DriverName, a.Status.AuthenticationType = driver, cosiapi.AuthenticationTypeKey
					a.Status.AccessedBuckets = []cosiapi.AccessedBucket{{BucketName: b.Name, BucketID: b.Status.BucketID, BucketClaimName: b.Spec.BucketClaimRef.Name}}
				})
			}
			before := testenv.Get(s.Env, a).ResourceVersion
			s.readyAccess(b) // created later, so the sidecar has seen the first one
			if after := testenv.Get(s.Env, a).ResourceVersion; after != before {
				t.Errorf("it was written: %+v", a)
			}
			if calls := s.driver.Calls(memdriver.GenerateAccessID); len(calls) != 1 {
				t.Errorf("DriverGenerateBucketAccessId: want 1 call, for the access of the sidecar, got %d", len(calls))
			}
			if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(s.secrets(a)[0]), &corev1.Secret{}); !apierrors.IsNotFound(err) {
				t.Errorf("a Secret was made: %v", err)
			}
		})
	}
}

func TestAccessToBucketThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, tc := range fulltest.Rows(t, map[string]struct {
		bucket func(*cosiapi.Bucket)
		access func(*cosiapi.AccessedBucket)
		status metav1.ConditionStatus
		reason conditions.Reason
	}{
		"another driver": {
			bucket: func(b *cosiapi.Bucket) { b.Spec.DriverName = "other.example.com" },
			status: metav1.ConditionFalse, reason: conditions.BucketNotUsable,
		},
		"the claim of another namespace": {
			bucket: func(b *cosiapi.Bucket) { b.Spec.BucketClaimRef.Namespace = "elsewhere" },
			status: metav1.ConditionFalse, reason: conditions.BucketNotUsable,
		},
		"a Bucket that does not exist": {
			access: func(b *cosiapi.AccessedBucket) { b.BucketName = "bc-nowhere" },
			status: metav1.ConditionUnknown, reason: conditions.BucketNotUsable,
		},
	}, "another driver") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.bucket()
			if tc.bucket != nil {
				tc.bucket(b)
			}
			s.Create(b)
			b.Status.BucketID = b.Name
			a := s.access(b)
			s.Create(a)
			testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) {
				accessed := cosiapi.AccessedBucket{BucketName: b.Name, BucketID: b.Name, BucketClaimName: b.Spec.BucketClaimRef.Name}
				if tc.access != nil {
					tc.access(&accessed)
				}
				a.Status.DriverName, a.Status.AuthenticationType = s.driver.Name(), cosiapi.AuthenticationTypeKey
				a.Status.AccessedBuckets = []cosiapi.AccessedBucket{accessed}
			})
			s.untilCondition(a, cosiapi.ConditionResourcesValidated, tc.status, tc.reason)
			s.untilCondition(a, cosiapi.ConditionProvisioned, tc.status, tc.reason)
			if calls := s.driver.Calls(memdriver.GenerateAccessID, memdriver.GrantAccess); len(calls) > 0 {
				t.Errorf("the driver was called: %v", calls)
			}
			if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(s.secrets(a)[0]), &corev1.Secret{}); !apierrors.IsNotFound(err) {
				t.Errorf("a Secret was made: %v", err)
			}
		})
	}
}

func TestAccessWaitsForBucketThatIsOnlyIdentified(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	hold := make(chan struct{})
	s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Hold: hold})
	b := s.bucket()
	s.Create(b)
	testenv.Until(s.Env, b, "the Bucket has an ID", func(b *cosiapi.Bucket) error {
		if b.Status.BucketID == "" {
			return fmt.Errorf("it has none")
		}
		return nil
	})
	a := s.access(b)
	s.handOff(a, b)
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForProvisionedBucket)
	s.untilEvent(a, "WaitingForBucket")
	if calls := s.driver.Calls(memdriver.GenerateAccessID); len(calls) > 0 {
		t.Errorf("the driver was called: %v", calls)
	}
	close(hold)
	s.ready(a)
}

func TestAccessToBucketThatStartsDeleting(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.readyAccess(b)
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "") })
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketNotUsable)
	s.ready(a)
	late := s.access(b)
	s.handOff(late, b)
	s.untilCondition(late, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.BucketNotUsable)
	if n := len(s.driver.Calls(memdriver.GenerateAccessID)); n != 1 {
		t.Errorf("DriverGenerateBucketAccessId: want 1 call, got %d", n)
	}
}

// An access may be created from the manifest of one that was being deleted.
func TestNewAccessWithFinishedCleanup(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.access(b)
	cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "")
	s.handOff(a, b)
	s.ready(a)
	if cosiapi.HasAnnotation(testenv.Get(s.Env, a), cosiapi.SidecarCleanupFinishedAnnotation) {
		t.Error("an access that was just granted is reported as cleaned up")
	}
	s.Delete(a)
	s.release(a)
	s.Gone(s.secrets(a)[0])
	if n := len(s.driver.Calls(memdriver.RevokeAccess)); n != 1 {
		t.Errorf("DriverRevokeBucketAccess: want 1 call, got %d", n)
	}
}

// A Bucket that was deleted before its claim remains, and so does the access to it.
func TestAccessToBucketThatIsHeldForItsClaim(t *testing.T) {
	t.Parallel()
	s := startWatching(t, false)
	b := s.readyBucket()
	a := s.readyAccess(b)
	original := testenv.Get(s.Env, s.secrets(a)[0])
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Finalizers = append(b.Finalizers, "example.com/keep") })
	s.Delete(b.DeepCopy())
	s.untilCondition(b, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.ClaimStillBound)
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketNotUsable)
	testenv.Change(s.Env, original.DeepCopy(), func(secret *corev1.Secret) { delete(secret.Data, "AWS_SECRET_ACCESS_KEY") })
	testenv.Until(s.Env, original.DeepCopy(), "the Secret is repaired", sameContent(original))
	s.settled()
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketNotUsable)
	s.ready(a)
	// No other access is granted.
	late := s.access(b)
	s.handOff(late, b)
	s.untilCondition(late, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.BucketNotUsable)
	// Without its claim, the bucket is deleted, and nothing is granted to it.
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain })
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "Retain") })
	s.settled()
	n := len(s.driver.Calls(memdriver.GrantAccess))
	testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "once") })
	s.settled()
	if more := len(s.driver.Calls(memdriver.GrantAccess)) - n; more > 0 {
		t.Errorf("access was granted %d times to a bucket of a deleted claim", more)
	}
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Finalizers = nil })
}

func TestTwoWritersOfResourcesValidated(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.readyAccess(b)
	controllers := conditions.Change{
		Type: cosiapi.ConditionResourcesValidated, Status: metav1.ConditionFalse, Reason: conditions.BucketClaimDeleting,
		Message: "the claim is being deleted", Generation: 1,
	}
	testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) { conditions.Merge(&a.Status.Conditions, controllers) })
	s.settled()
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketClaimDeleting)
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "") })
	s.settled()
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketClaimDeleting)
	controllers.Status, controllers.Reason = metav1.ConditionTrue, conditions.ControllerValidated
	testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) { conditions.Merge(&a.Status.Conditions, controllers) })
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketNotUsable)
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.RemoveAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation) })
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.SidecarValidated)
}
