// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

func TestClaimInUse(t *testing.T) {
	t.Parallel()
	covers(t, "claim-in-use", "claim-being-deleted")
	w := start(t, setup{patience: brief})
	w.newClass("fast")
	w.newAccessClass("keys")
	claim, bucket := w.provisioned("photos", "fast")
	access := w.granted("app", "keys", "photos")
	w.delete(claim)
	// The access stays provisioned, and its condition reports that the claim is being deleted.
	w.refused(access, conditions.BucketClaimDeleting)
	if message := w.condition(claim, cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown, conditions.WaitingForBucketAccess); !strings.Contains(message, `"app"`) {
		t.Errorf("the claim does not report the reason of the wait: %s", message)
	}
	late := w.access("late", "keys", "photos")
	w.create(late)
	w.refused(late, conditions.BucketClaimDeleting)
	w.settled()
	if c := testenv.Condition(get(w, access), cosiapi.ConditionProvisioned); c.Status != metav1.ConditionTrue {
		t.Errorf("Provisioned of the access: %+v", c)
	}
	if get(w, claim); !marked(claim) || !cosiapi.HasProtection(claim) {
		t.Errorf("a claim in use was released: %+v", claim.ObjectMeta)
	}
	if get(w, bucket); released(bucket) || !bucket.DeletionTimestamp.IsZero() {
		t.Errorf("its Bucket was released: %+v", bucket.ObjectMeta)
	}
	w.delete(access)
	w.gone(access, claim, bucket)
}

// TestClaimDeletedBehindTheCache covers a controller whose cache does not show that the claim of a new access
// is being deleted. The controller must read it live before the hand-off.
func TestClaimDeletedBehindTheCache(t *testing.T) {
	t.Parallel()
	covers(t, "claim-being-deleted")
	w := start(t, setup{})
	w.newClass("fast")
	w.newAccessClass("keys")
	claim, bucket := w.provisioned("photos", "fast")
	first := w.granted("first", "keys", "photos")
	w.settled()
	release := w.lags.lag(theController, "bucketclaims")
	w.delete(claim)
	late := w.access("late", "keys", "photos")
	w.create(late)
	w.refused(late, conditions.BucketClaimDeleting)
	if get(w, late); late.Status.DriverName != "" {
		t.Errorf("an access to a claim that is being deleted was handed off: %+v", late.Status)
	}
	release()
	until(w, late, "the access does not hold the claim", func(a *cosiapi.BucketAccess) error {
		if cosiapi.HasProtection(a) {
			return errNot
		}
		return nil
	})
	w.delete(first)
	w.gone(first, claim, bucket)
	w.delete(late)
	w.gone(late)
}

// TestAccessThatTheCacheDoesNotShow covers a second controller that takes over, and whose cache does not show
// that an access was handed off.
func TestAccessThatTheCacheDoesNotShow(t *testing.T) {
	t.Parallel()
	covers(t, "claim-in-use-unseen")
	w := start(t, setup{backoff: patient()})
	w.newClass("fast")
	w.newAccessClass("keys")
	claim, bucket := w.provisioned("photos", "fast")
	late := w.secondController()
	w.settled()
	release := late.lags.lag(theController, "bucketaccesses")
	access := w.granted("app", "keys", "photos")
	w.stop(theController)
	lists := w.listsOfAccesses()
	w.delete(claim)
	w.eventually("the controller lists the accesses in the API server", func(context.Context) error {
		if w.listsOfAccesses() == lists {
			return errNot
		}
		return nil
	})
	fence := w.newClaim("fence", "no-such-class")
	w.condition(fence, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	if get(w, bucket); released(bucket) || !cosiapi.HasProtection(get(w, claim)) {
		t.Error("the claim was released while an access used it")
	}
	release()
	w.delete(access)
	w.gone(access, claim, bucket)
}

// TestAccessThatTheCacheNeverShows deletes an access before the cache shows it, so there is no event. The
// wait for the cache must end nevertheless.
func TestAccessThatTheCacheNeverShows(t *testing.T) {
	t.Parallel()
	covers(t, "claim-in-use-unseen")
	w := start(t, setup{})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	w.settled()
	release := w.lags.lag(theController, "bucketaccesses")
	access := w.access("app", "keys", "photos")
	cosiapi.AddProtection(access)
	w.create(access)
	lists := w.listsOfAccesses()
	change(w, claim, func(c *cosiapi.BucketClaim) {
		cosiapi.SetAnnotation(c, cosiapi.HasBucketAccessReferencesAnnotation, string(access.UID))
	})
	w.delete(claim)
	w.eventually("the controller lists the accesses in the API server", func(context.Context) error {
		if w.listsOfAccesses() < lists+2 { // one list before and one after the deletion of the claim
			return errNot
		}
		return nil
	})
	if !cosiapi.HasProtection(get(w, claim)) {
		t.Error("the claim was released while an access used it")
	}
	w.drop(t.Context(), access)
	w.gone(access, claim, bucket)
	release()
}

// listsOfAccesses returns how often controllers have listed accesses.
func (w *world) listsOfAccesses() int {
	return len(w.Audit(controlplane.AuditFilter{User: w.user(theController), Verbs: []string{"list"}, Resources: []string{"bucketaccesses"}}))
}

func TestBucketIsAnnotatedBeforeItsDeletion(t *testing.T) {
	t.Parallel()
	covers(t, "annotated-before-deletion", "bucket-deleted-first")
	w := start(t, setup{})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	mark := w.tape.mark()
	w.delete(claim)
	w.gone(claim, bucket)
	w.settled() // the tape also contains the last response
	got := w.tape.done(func(e entry) bool { return since(mark)(e) && e.Name == bucket.Name })
	want := []string{"controller patch buckets", "controller delete buckets", "sidecar DriverDeleteBucket", "sidecar patch buckets"}
	diff(t, "requests about the Bucket", want, got)
}

func TestClaimWhoseBucketWasReplaced(t *testing.T) {
	t.Parallel()
	covers(t, "claim-without-its-bucket")
	w := start(t, setup{})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	w.stop(theSidecar)
	w.drop(t.Context(), bucket)
	w.refused(claim, conditions.BucketMissing)
	foreign := bucketFor(claim)
	foreign.Spec = *bucket.Spec.DeepCopy()
	foreign.Spec.BucketClaimRef.UID, foreign.Spec.BucketClaimRef.Name = "somebody-else", "films"
	foreign.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain
	w.create(foreign)
	w.refused(claim, conditions.BindingInvalid)
	w.runSidecar()
	w.delete(claim)
	w.condition(claim, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.BindingInvalid)
	w.settled()
	if get(w, claim); !cosiapi.HasProtection(claim) {
		t.Error("the claim is not held")
	}
	// A Bucket that no longer exists does not block the deletion.
	w.drop(t.Context(), foreign)
	w.gone(claim)
	w.called(memdriver.DeleteBucket, 0)
}

func TestDeletionNeedsBothSigns(t *testing.T) {
	t.Parallel()
	covers(t, "deletion-needs-both-signs", "bucket-deleted-first")
	for name, policy := range map[string]cosiapi.DeletionPolicy{"Delete": cosiapi.DeletionPolicyDelete, "Retain": cosiapi.DeletionPolicyRetain} {
		t.Run("the Bucket first, policy "+name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{})
			w.newClass("any", func(c *cosiapi.BucketClassSpec) { c.DeletionPolicy = policy })
			claim, bucket := w.provisioned("photos", "any")
			w.delete(bucket)
			w.refused(bucket, conditions.ClaimStillBound)
			w.settled()
			w.called(memdriver.DeleteBucket, 0)
			w.delete(claim)
			w.gone(claim, bucket)
			deletes := 0
			if policy == cosiapi.DeletionPolicyDelete {
				deletes = 1
			}
			w.called(memdriver.DeleteBucket, deletes)
		})
	}
	for _, value := range []string{"Retain", "Delete"} {
		t.Run("the mark alone, with policy "+value, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{})
			w.newClass("fast")
			claim, bucket := w.provisioned("photos", "fast")
			w.stop(theController)
			change(w, bucket, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, value) })
			w.runController()
			w.settled()
			w.called(memdriver.DeleteBucket, 0)
			if !get(w, bucket).DeletionTimestamp.IsZero() {
				t.Error("a Bucket with an existing claim was deleted")
			}
			w.delete(claim)
			w.gone(claim, bucket)
		})
	}
}

func TestRetain(t *testing.T) {
	t.Parallel()
	covers(t, "retain")
	w := start(t, setup{})
	w.newClass("kept", retain)
	claim, bucket := w.provisioned("photos", "kept")
	w.delete(claim)
	w.gone(claim)
	until(w, bucket, "the Bucket is marked", func(b *cosiapi.Bucket) error {
		if !released(b) {
			return errNot
		}
		return nil
	})
	again := w.newClaim("photos", "kept")
	w.ready(again)
	if b := w.bucketOf(again); b.Name == bucket.Name {
		t.Error("the new claim got the Bucket of the old one")
	}
	if get(w, bucket); !bucket.DeletionTimestamp.IsZero() || len(w.driver.Inventory().Buckets) != 2 {
		t.Errorf("a retained Bucket went: %+v, backend %v", bucket.ObjectMeta, w.driver.Inventory().Buckets)
	}
	w.called(memdriver.DeleteBucket, 0)
	w.delete(bucket)
	w.gone(bucket)
	w.called(memdriver.DeleteBucket, 0)
}

func TestPolicyChanges(t *testing.T) {
	t.Parallel()
	covers(t, "policy-changes")
	w := start(t, setup{})
	w.newClass("fast")
	w.newClass("kept", retain)
	flipped, flippedBucket := w.provisioned("photos", "fast")
	purged, purgedBucket := w.provisioned("films", "kept")
	// The policy changes from Delete to Retain after the annotation, before the call.
	w.stop(theSidecar)
	w.delete(flipped, purged)
	w.gone(flipped, purged)
	change(w, flippedBucket, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain })
	change(w, purgedBucket, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyDelete })
	w.runSidecar()
	w.gone(flippedBucket)
	w.settled()
	w.called(memdriver.DeleteBucket, 0)
	if get(w, purgedBucket); !purgedBucket.DeletionTimestamp.IsZero() {
		t.Error("a change from Retain to Delete after the deletion of the claim deleted the Bucket")
	}
	w.delete(purgedBucket)
	w.gone(purgedBucket)
	w.called(memdriver.DeleteBucket, 1)
}

func TestPolicyChangesBehindTheCache(t *testing.T) {
	t.Parallel()
	covers(t, "policy-changes")
	w := start(t, setup{})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	w.driver.Script(memdriver.Fault{RPC: memdriver.DeleteBucket, Code: codes.FailedPrecondition})
	w.delete(claim)
	w.condition(bucket, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue)
	w.settled()
	release := w.lags.lag(theSidecar, "buckets")
	change(w, bucket, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain })
	looked := w.looksAt(theSidecar, "buckets", bucket.Name)
	w.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Revision = "2" }) // this would repeat the call
	w.eventually("the sidecar has looked at the Bucket in the API server", func(context.Context) error {
		if w.looksAt(theSidecar, "buckets", bucket.Name) == looked {
			return errNot
		}
		return nil
	})
	release()
	w.gone(bucket)
	w.called(memdriver.DeleteBucket, 1)
}

// looksAt returns how often a component has read an object live.
func (w *world) looksAt(who, resource, name string) int {
	n := 0
	for _, e := range w.Audit(controlplane.AuditFilter{User: w.user(who), Verbs: []string{"get"}, Resources: []string{resource}}) {
		if e.Name == name {
			n++
		}
	}
	return n
}

// TestPolicyChangesDuringTheDeletion changes the policy while a deletion is in progress.
func TestPolicyChangesDuringTheDeletion(t *testing.T) {
	t.Parallel()
	covers(t, "policy-changes")
	w := start(t, setup{backoff: patient()})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	hold, held := make(chan struct{}), make(chan struct{})
	w.tape.strike(&fault{Who: theController, What: "delete buckets", Name: bucket.Name, Hold: hold, Hit: func() { close(held) }})
	w.delete(claim)
	select {
	case <-held:
	case <-time.After(patience()):
		t.Fatal("the controller does not delete the Bucket")
	}
	change(w, bucket, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain })
	close(hold)
	w.gone(claim)
	w.settled()
	if get(w, bucket); !released(bucket) || !bucket.DeletionTimestamp.IsZero() {
		t.Errorf("Retain was not honoured: %+v", bucket.ObjectMeta)
	}
	w.called(memdriver.DeleteBucket, 0)
}

func TestPermissionsOfTheSidecar(t *testing.T) {
	t.Parallel()
	covers(t, "sidecar-rights")
	bothWays(t, setup{}, func(t *testing.T, o setup) {
		w := start(t, o)
		w.newClass("fast")
		w.newAccessClass("keys")
		claim, bucket := w.provisioned("photos", "fast")
		access := w.granted("app", "keys", "photos")
		w.delete(access, claim)
		w.gone(access, claim, bucket)
		foreign := []string{"bucketclaims", "bucketclasses", "bucketaccessclasses"}
		for _, e := range w.Audit(controlplane.AuditFilter{User: w.user(theSidecar)}) {
			switch {
			case e.Verb == "delete" && e.Resource != "secrets", slices.Contains(foreign, e.Resource),
				!o.watchSecrets && e.Resource == "secrets" && (e.Verb == "list" || e.Verb == "watch"):
				t.Errorf("the sidecar wanted to %s %s %s", e.Verb, e.Resource, e.Name)
			}
		}
		for _, e := range w.Audit(controlplane.AuditFilter{User: w.user(theController), Resources: []string{"secrets"}}) {
			t.Errorf("the controller wanted to %s Secret %s", e.Verb, e.Name)
		}
	})
}

func TestClaimRemovedByHand(t *testing.T) {
	t.Parallel()
	covers(t, "claim-removed-by-hand")
	for name, policy := range map[string]cosiapi.DeletionPolicy{"Delete": cosiapi.DeletionPolicyDelete, "Retain": cosiapi.DeletionPolicyRetain} {
		t.Run("policy "+name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{})
			w.newClass("any", func(c *cosiapi.BucketClassSpec) { c.DeletionPolicy = policy })
			claim, bucket := w.provisioned("photos", "any")
			w.stop(theController)
			w.drop(t.Context(), claim)
			w.gone(claim)
			w.runController()
			if policy == cosiapi.DeletionPolicyDelete {
				w.untilHeld(bucket)
				w.settled()
				w.called(memdriver.DeleteBucket, 0)
				w.confirm(bucket)
				w.gone(bucket)
				w.called(memdriver.DeleteBucket, 1)
				return
			}
			until(w, bucket, "the Bucket is marked", func(b *cosiapi.Bucket) error {
				if !released(b) {
					return errNot
				}
				return nil
			})
			w.settled()
			w.called(memdriver.DeleteBucket, 0)
		})
	}
}

// TestOrphanThatCannotBeWritten covers an admission policy of the cluster that rejects every write to the
// Bucket that an earlier claim of the same name left.
func TestOrphanThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	covers(t, "claim-removed-by-hand")
	w := start(t, setup{backoff: patient()})
	w.newClass("kept", retain)
	claim, orphan := w.provisioned("photos", "kept")
	w.stop(theController)
	w.drop(t.Context(), claim)
	w.gone(claim)
	refused := w.tape.strike(&fault{Who: theController, What: "patch buckets", Name: orphan.Name, Status: http.StatusForbidden, Times: always})
	w.runController()
	again, bucket := w.provisioned("photos", "kept")
	w.delete(again)
	w.gone(again)
	if get(w, bucket); !released(bucket) {
		t.Errorf("the Bucket of the second claim is not released: %v", bucket.Annotations)
	}
	refused()
	until(w, orphan, "the orphan is released", func(b *cosiapi.Bucket) error {
		if !released(b) {
			return errNot
		}
		return nil
	})
}

func TestConflictWithoutAnotherWriter(t *testing.T) {
	t.Parallel()
	covers(t, "claim-removed-by-hand")
	w := start(t, setup{backoff: patient()})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	w.stop(theController)
	w.drop(t.Context(), claim)
	w.gone(claim)
	w.tape.strike(&fault{Who: theController, What: "patch buckets", Name: bucket.Name, Status: http.StatusConflict})
	w.confirm(bucket)
	w.runController()
	w.gone(bucket)
}
