// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

const annotation = cosiapi.HasBucketAccessReferencesAnnotation

// referenced waits until exactly these accesses have their UIDs on a claim.
func (s *system) referenced(claim *cosiapi.BucketClaim, by ...*cosiapi.BucketAccess) {
	s.t.Helper()
	var uids []string
	for _, a := range by {
		uids = append(uids, string(a.UID))
	}
	slices.Sort(uids)
	want := map[string]string{}
	if len(uids) > 0 {
		want[annotation] = strings.Join(uids, ",")
	}
	testenv.Until(s.Env, claim, fmt.Sprintf("%d accesses are on the claim", len(by)), func(c *cosiapi.BucketClaim) error {
		got := map[string]string{}
		if value, has := c.Annotations[annotation]; has {
			got[annotation] = value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("annotation (-want +got):\n%s", diff)
		}
		return nil
	})
}

// untilProtected waits until an access has the finalizer.
func (s *system) untilProtected(access *cosiapi.BucketAccess) {
	s.t.Helper()
	testenv.Until(s.Env, access, "access "+access.Name+" has the finalizer", func(a *cosiapi.BucketAccess) error {
		if !cosiapi.HasProtection(a) {
			return fmt.Errorf("finalizers %v", a.Finalizers)
		}
		return nil
	})
}

// hooked is a client that calls a function once, before the first patch of a matching object.
type hooked struct {
	client.Client

	once   *sync.Once
	claims bool // match the patch that adds a UID to a claim; otherwise match the hand-off
	do     func()
}

// Patch implements client.Client.
func (c hooked) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if claim, ok := obj.(*cosiapi.BucketClaim); ok && c.claims && cosiapi.HasAnnotation(claim, annotation) {
		c.once.Do(c.do)
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}

// Status implements client.Client.
func (c hooked) Status() client.SubResourceWriter {
	return hookedStatus{SubResourceWriter: c.Client.Status(), of: c}
}

type hookedStatus struct {
	client.SubResourceWriter

	of hooked
}

// Patch implements client.SubResourceWriter.
func (c hookedStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if access, ok := obj.(*cosiapi.BucketAccess); ok && !c.of.claims && access.Status.DriverName != "" {
		c.of.once.Do(c.of.do)
	}
	return c.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// The claim is deleted just before or just after the UID of the access is added, before the hand-off. Either the
// hand-off or the deletion must wait for the other.
func TestHandOffAndDeletionOfTheClaim(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"the deletion is first": true, "the UID is first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t)
			claim := s.claim("photos", "fast", cosiapi.ProtocolS3)
			s.wrapClient = func(c client.Client) client.Client {
				return hooked{Client: c, once: &sync.Once{}, claims: first, do: func() { s.Delete(s.claim("photos", "fast")) }}
			}
			s.run()
			s.newClass("fast")
			s.newAccessClass("keys")
			_, bucket := s.provisioned("photos", "fast")
			access := s.newAccess(s.access("app", "keys", "photos"))
			if first {
				s.Gone(claim)
				s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucketClaim)
				if access.Status.DriverName != "" || cosiapi.HasProtection(access) {
					t.Errorf("an access to a deleted claim was handed off: %+v", access)
				}
				return
			}
			s.untilHandedOff(access)
			s.referenced(testenv.Get(s.Env, claim), access)
			s.settled()
			if testenv.Get(s.Env, bucket); cosiapi.HasAnnotation(bucket, cosiapi.BucketClaimBeingDeletedAnnotation) {
				t.Error("the Bucket of an access was released")
			}
			s.Delete(access)
			s.cleanedUp(access)
			s.Gone(access)
			s.Gone(claim)
			s.untilReleased(bucket, true)
		})
	}
}

// behind is a client with a cache that lacks the Bucket once. It calls a function when that Bucket is read.
type behind struct {
	client.Client

	armed *atomic.Bool
	do    func()
}

// Get implements client.Client.
func (c behind) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*cosiapi.Bucket); ok && c.armed.CompareAndSwap(true, false) {
		c.do()
		key.Name = "no-such-bucket"
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// The cache lacks the Bucket, so the claim is read again from the API server. It was deleted after it had been cached.
func TestNoHandOffForAClaimDeletedBeforeItIsReadAgain(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	claim, armed := s.claim("photos", "fast", cosiapi.ProtocolS3), &atomic.Bool{}
	s.wrapClient = func(c client.Client) client.Client {
		return behind{Client: c, armed: armed, do: func() { s.Delete(s.claim("photos", "fast")) }}
	}
	s.run()
	s.newClass("fast")
	s.newAccessClass("keys")
	s.provisioned("photos", "fast")
	first := s.newAccess(s.access("first", "keys", "photos"))
	s.untilHandedOff(first)
	s.settled()
	armed.Store(true)
	second := s.newAccess(s.access("second", "keys", "photos"))
	s.untilCondition(second, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketClaimDeleting)
	if second.Status.DriverName != "" {
		t.Errorf("an access to a claim that is being deleted was handed off: %+v", second)
	}
	s.referenced(claim, first)
}

// crashed creates an access in the state after a crash of the Controller between adding the UID to the claim and the
// hand-off.
func crashed(s *system) (*cosiapi.BucketClaim, *cosiapi.BucketAccess) {
	s.t.Helper()
	stop := s.run()
	s.newClass("fast")
	s.newAccessClass("keys")
	claim, _ := s.provisioned("photos", "fast")
	stop()
	access := s.access("app", "keys", "photos")
	cosiapi.AddProtection(access)
	s.newAccess(access)
	testenv.Change(s.Env, claim, func(c *cosiapi.BucketClaim) { cosiapi.SetAnnotation(c, annotation, string(access.UID)) })
	return claim, access
}

func TestStopBetweenReferenceAndHandOff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*system, *cosiapi.BucketClaim, *cosiapi.BucketAccess){
		"the next Controller hands the access off": func(s *system, claim *cosiapi.BucketClaim, access *cosiapi.BucketAccess) {
			s.run()
			s.untilHandedOff(access)
			s.referenced(claim, access)
		},
		"the access is deleted": func(s *system, claim *cosiapi.BucketClaim, access *cosiapi.BucketAccess) {
			s.Delete(access)
			s.run()
			s.Gone(access)
			s.referenced(claim)
		},
		"the claim is deleted": func(s *system, claim *cosiapi.BucketClaim, access *cosiapi.BucketAccess) {
			s.Delete(claim)
			s.run()
			s.Gone(claim)
			s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucketClaim)
		},
		"the claim is deleted after the access lost its finalizer": func(s *system, claim *cosiapi.BucketClaim, access *cosiapi.BucketAccess) {
			testenv.Change(s.Env, access, func(a *cosiapi.BucketAccess) { cosiapi.RemoveProtection(a) })
			s.Delete(claim)
			s.run()
			s.Gone(claim)
			s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucketClaim)
		},
		"both are deleted": func(s *system, claim *cosiapi.BucketClaim, access *cosiapi.BucketAccess) {
			s.Delete(claim)
			s.Delete(access)
			s.run()
			s.Gone(access)
			s.Gone(claim)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t)
			claim, access := crashed(s)
			test(s, claim, access)
		})
	}
}

// Earlier versions set the annotation to "true" and added no UIDs to claims.
func TestAnnotationOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"on a claim that stays": false, "on a claim that is being deleted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t)
			stop := s.run()
			s.newClass("fast")
			s.newAccessClass("keys")
			claim, bucket := s.provisioned("photos", "fast")
			access := s.newAccess(s.access("app", "keys", "photos"))
			s.untilHandedOff(access)
			s.grant(access)
			stop()
			testenv.Change(s.Env, claim, func(c *cosiapi.BucketClaim) { cosiapi.SetAnnotation(c, annotation, "true") })
			if deleted {
				s.Delete(claim)
			}
			s.run()
			if deleted {
				s.settled()
				if testenv.Get(s.Env, claim); claim.DeletionTimestamp.IsZero() || !cosiapi.HasProtection(claim) {
					t.Errorf("the claim is not held: %+v", claim.ObjectMeta)
				}
			} else {
				s.referenced(claim, access)
			}
			s.Delete(access)
			s.cleanedUp(access)
			s.Gone(access)
			if !deleted {
				s.referenced(claim)
				s.Delete(claim)
			}
			s.Gone(claim)
			s.untilReleased(bucket, true)
		})
	}
}

// Many accesses of one claim add their UIDs after an upgrade, while the cache is stale.
func TestManyAccessesOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 200 * time.Millisecond}
	stop := s.run()
	s.newClass("fast")
	s.newAccessClass("keys")
	claim, _ := s.provisioned("photos", "fast")
	var all []*cosiapi.BucketAccess
	for n := range 20 {
		all = append(all, s.newAccess(s.access(fmt.Sprintf("app-%02d", n), "keys", "photos")))
	}
	for _, access := range all {
		s.untilHandedOff(access)
		s.grant(access)
	}
	stop()
	testenv.Change(s.Env, claim, func(c *cosiapi.BucketClaim) { cosiapi.SetAnnotation(c, annotation, "true") })
	s.run()
	s.referenced(claim, all...)
}

// The last access of an earlier version was deleted while no Controller ran, or its finalizer was removed manually:
// the value on the claim belongs to no access.
func TestReferencesWithoutAnAccess(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"the annotation of an earlier version": "true",
		"the UID of an access that is lost":    "00000000-0000-0000-0000-000000000000",
		"forged values":                        "x,,true,y",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.newClass("fast")
			claim, bucket := s.provisioned("photos", "fast")
			annotate := func(c *cosiapi.BucketClaim) { cosiapi.SetAnnotation(c, annotation, value) }
			testenv.Change(s.Env, claim, annotate)
			s.referenced(claim)
			testenv.Change(s.Env, claim, annotate)
			s.Delete(claim)
			s.Gone(claim)
			s.untilReleased(bucket, true)
		})
	}
}

// The UID of an access to another claim does not keep the claim.
func TestReferenceOfAnotherClaimsAccess(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	stop := s.run()
	s.newClass("fast")
	s.newAccessClass("keys")
	s.provisioned("films", "fast")
	claim, bucket := s.provisioned("photos", "fast")
	access := s.newAccess(s.access("app", "keys", "films"))
	s.untilHandedOff(access)
	stop()
	testenv.Change(s.Env, claim, func(c *cosiapi.BucketClaim) { cosiapi.SetAnnotation(c, annotation, string(access.UID)) })
	s.Delete(claim)
	s.run()
	s.Gone(claim)
	s.untilReleased(bucket, true)
}

// An access without a class releases its claims even if it had its finalizer.
func TestAccessWithoutItsClassReleasesItsClaims(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	class := s.newAccessClass("keys")
	claim := s.newClaim("photos", "fast")
	s.bound(claim)
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilProtected(access)
	s.Delete(class)
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	s.Delete(claim)
	s.Gone(claim)
}

// Many accesses of one claim are created, and then deleted, at once: their patches of the claim conflict.
func TestManyAccessesOfOneClaim(t *testing.T) {
	t.Parallel()
	const accesses = 50
	s := newSystem(t)
	s.backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 200 * time.Millisecond}
	s.run()
	s.newClass("fast")
	s.newAccessClass("keys")
	claim, bucket := s.provisioned("photos", "fast")
	lists := func() int {
		return len(s.Audit(controlplane.AuditFilter{User: s.user, Verbs: []string{"list"}, Resources: []string{"bucketaccesses"}}))
	}
	before := lists()
	var all []*cosiapi.BucketAccess
	for n := range accesses {
		all = append(all, s.newAccess(s.access(fmt.Sprintf("app-%02d", n), "keys", "photos")))
	}
	for _, access := range all {
		s.untilHandedOff(access)
	}
	s.referenced(claim, all...)
	for _, access := range all {
		s.Delete(access)
	}
	s.Delete(claim)
	for _, access := range all {
		s.cleanedUp(access)
	}
	for _, access := range all {
		s.Gone(access)
	}
	s.Gone(claim)
	s.untilReleased(bucket, true)
	if n := lists() - before; n > 0 {
		t.Errorf("accesses were listed %d times", n)
	}
}
