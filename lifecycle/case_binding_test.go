// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestNothingIsLeftWithoutASidecar(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-finalizer")
	w := start(t, setup{idle: true})
	w.runController()
	w.newClass("fast")
	claim := w.newClaim("photos", "fast")
	bucket := w.bucketOf(claim)
	if !cosiapi.HasProtection(bucket) {
		t.Errorf("the controller made the Bucket without the finalizer: %v", bucket.Finalizers)
	}
	w.delete(claim)
	w.gone(claim, bucket)
}

func TestClaimDeletedDuringACall(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-finalizer")
	for name, tc := range map[string]struct {
		rpc     memdriver.RPC
		creates int
	}{
		"the first, which makes nothing":     {memdriver.GenerateBucketID, 0},
		"the second, which makes the bucket": {memdriver.CreateBucket, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{})
			w.newClass("fast")
			hold := make(chan struct{})
			w.driver.Script(memdriver.Fault{RPC: tc.rpc, Hold: hold})
			claim := w.newClaim("photos", "fast")
			bucket := w.bucketOf(claim)
			w.awaitCalls(func(calls []memdriver.Call) bool { return len(calls) > 0 }, tc.rpc)
			w.delete(claim)
			w.gone(claim)
			if tc.creates == 0 {
				w.gone(bucket)
			}
			close(hold)
			w.gone(bucket)
			w.settled()
			w.called(memdriver.CreateBucket, tc.creates)
			w.called(memdriver.DeleteBucket, tc.creates)
		})
	}
}

// creates returns the number of Buckets that the controller has created.
func (w *world) creates() int {
	return len(w.tape.done(func(e entry) bool { return e.What == "create buckets" }))
}

func TestLostBucketIsNotCreatedAgain(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-lost")
	w := start(t, setup{})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	w.stop(theSidecar)
	w.drop(t.Context(), bucket)
	w.refused(claim, conditions.BucketMissing)
	w.touch(claim)
	w.stop(theController)
	w.runController()
	w.runSidecar()
	w.settled()
	w.refused(claim, conditions.BucketMissing)
	if n := w.creates(); n != 1 {
		t.Errorf("Buckets created: want 1, got %d", n)
	}
}

func TestStaleCacheLosesNoBucket(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-cache-lags")
	w := start(t, setup{})
	w.newClass("fast")
	w.settled()
	release := w.lags.lag(theController, "buckets")
	claim := w.newClaim("photos", "fast")
	bucket := w.bucketOf(claim)
	w.ready(bucket)
	w.touch(claim)
	w.newClaim("fence", "no-such-class")
	w.condition(w.claim("fence", ""), cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	if c := testenv.Condition(get(w, claim), cosiapi.ConditionResourcesValidated); c.Status == metav1.ConditionFalse {
		t.Errorf("a stale cache made it %s: %s", c.Reason, c.Message)
	}
	release()
	w.ready(claim)
	if n := w.creates(); n != 1 {
		t.Errorf("Buckets created: want 1, got %d", n)
	}
}

func TestBucketOfThatNameExists(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-exists", "foreign-names")
	for name, tc := range map[string]struct {
		uid   func(types.UID) types.UID
		ready bool
	}{
		"ours is adopted":                       {func(uid types.UID) types.UID { return uid }, true},
		"another claim's Bucket is not changed": {func(types.UID) types.UID { return "somebody-else" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{idle: true})
			w.newClass("fast")
			claim := w.newClaim("photos", "fast")
			bucket := bucketFor(claim)
			bucket.Spec = cosiapi.BucketSpec{
				DriverName: w.driver.Name(), DeletionPolicy: cosiapi.DeletionPolicyRetain, Protocols: claim.Spec.Protocols,
				BucketClaimRef: cosiapi.BucketClaimReference{Namespace: w.namespace, Name: "photos", UID: tc.uid(claim.UID)},
			}
			if !tc.ready {
				bucket.Spec.BucketClaimRef.Namespace, bucket.Spec.BucketClaimRef.Name = "rivals", "films"
			}
			w.create(bucket)
			w.runController()
			w.runSidecar()
			if tc.ready {
				w.ready(claim)
				return
			}
			w.refused(claim, conditions.BindingInvalid)
			if get(w, claim); claim.Status.BoundBucketName != "" {
				t.Errorf("the claim bound to %s", claim.Status.BoundBucketName)
			}
			w.unnamed(claim, claim.Status.Conditions, reconciler.FailedCreateBucket, "rivals", "films", "somebody-else")
		})
	}
}

func TestClassIsCopiedOnce(t *testing.T) {
	t.Parallel()
	covers(t, "class-copied-once")
	w := start(t, setup{})
	class := w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	w.delete(class)
	w.gone(class)
	w.newClass("fast", retain, func(c *cosiapi.BucketClassSpec) { c.Parameters = map[string]string{"tier": "cold"} })
	w.settled()
	w.delete(claim)
	w.gone(claim, bucket)
	if got := memdriver.Requests[*cosi.DriverDeleteBucketRequest](w.driver)[0].GetParameters()["tier"]; got != "hot" {
		t.Errorf("parameter of the deletion: want hot, got %s", got)
	}
}

func TestImportForAnotherClaim(t *testing.T) {
	t.Parallel()
	covers(t, "import-for-another-claim")
	w := start(t, setup{})
	w.must(w.driver.AddBucket("existing"))
	wrong := w.imported("archive", "existing", "films")
	claim := w.importing("photos", "archive")
	w.create(wrong, claim)
	w.refused(claim, conditions.BindingInvalid)
	if get(w, claim); claim.Status.BoundBucketName != "" {
		t.Errorf("the claim bound to %s", claim.Status.BoundBucketName)
	}
	w.delete(wrong)
	w.gone(wrong)
	w.create(w.imported("archive", "existing", "photos"))
	w.ready(claim)
}

func TestImportBindsOnce(t *testing.T) {
	t.Parallel()
	covers(t, "import-binds-once", "retain")
	w := start(t, setup{})
	w.must(w.driver.AddBucket("existing"))
	bucket := w.imported("archive", "existing", "photos")
	first := w.importing("photos", "archive")
	w.create(bucket, first)
	w.ready(first)
	if got := get(w, bucket).Spec.BucketClaimRef.UID; got != first.UID {
		t.Errorf("UID on the Bucket: want %s, got %s", first.UID, got)
	}
	w.delete(first)
	w.gone(first)
	second := w.importing("photos", "archive")
	w.create(second)
	w.refused(second, conditions.BindingInvalid)
	if got := get(w, bucket).Spec.BucketClaimRef.UID; got != first.UID {
		t.Errorf("UID on the Bucket: want still %s, got %s", first.UID, got)
	}
	if !released(bucket) || !bucket.DeletionTimestamp.IsZero() {
		t.Errorf("a retained Bucket must be marked and stay: %+v", bucket.ObjectMeta)
	}
	w.called(memdriver.DeleteBucket, 0)
	// The administrator imports it again.
	w.delete(bucket)
	w.gone(bucket)
	w.create(w.imported("archive", "existing", "photos"))
	w.ready(second)
}

func TestImportBeforeItsBucket(t *testing.T) {
	t.Parallel()
	covers(t, "import-before-its-bucket")
	w := start(t, setup{})
	w.must(w.driver.AddBucket("existing"))
	claim := w.importing("photos", "archive")
	w.create(claim)
	w.condition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucket)
	w.settled()
	w.create(w.imported("archive", "existing", "photos"))
	w.ready(claim)
}

func TestImportWithoutTheProtocol(t *testing.T) {
	t.Parallel()
	covers(t, "import-protocols")
	w := start(t, setup{})
	w.must(w.driver.AddBucket("existing"))
	bucket := w.imported("archive", "existing", "photos")
	claim := w.importing("photos", "archive")
	claim.Spec.Protocols = []cosiapi.Protocol{cosiapi.ProtocolAzure}
	w.create(bucket, claim)
	w.ready(bucket)
	w.refused(claim, conditions.ProtocolUnsupported)
	w.condition(claim, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.ProtocolUnsupported)
}

func TestConditionsOfAClaim(t *testing.T) {
	t.Parallel()
	covers(t, "conditions-of-claims", "ready-summarizes")
	type want struct {
		provisioned, validated, failed metav1.ConditionStatus
	}
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, tc := range fulltest.Rows(t, map[string]struct {
		prepare func(*world) *cosiapi.BucketClaim
		want    want
	}{
		"waiting for its class": {func(w *world) *cosiapi.BucketClaim { return w.newClaim("photos", "later") }, want{unknown, unknown, unknown}},
		"waiting for its Bucket": {func(w *world) *cosiapi.BucketClaim {
			claim := w.importing("photos", "later")
			w.create(claim)
			return claim
		}, want{unknown, unknown, unknown}},
		"provisioned": {func(w *world) *cosiapi.BucketClaim {
			w.newClass("fast")
			return w.newClaim("photos", "fast")
		}, want{yes, yes, no}},
		"retried": {func(w *world) *cosiapi.BucketClaim {
			w.newClass("fast")
			w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: 14, Times: memdriver.Always})
			return w.newClaim("photos", "fast")
		}, want{unknown, yes, yes}},
		"refused by the driver": {func(w *world) *cosiapi.BucketClaim {
			w.newClass("fast")
			w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: 3, Times: memdriver.Always})
			return w.newClaim("photos", "fast")
		}, want{no, yes, yes}},
		"its Bucket is not valid": {func(w *world) *cosiapi.BucketClaim {
			w.newClass("fast")
			claim := w.claim("photos", "fast")
			claim.Spec.Protocols = []cosiapi.Protocol{cosiapi.ProtocolAzure}
			w.create(claim)
			return claim
		}, want{no, no, unknown}},
		"its Bucket is lost": {func(w *world) *cosiapi.BucketClaim {
			w.newClass("fast")
			claim, bucket := w.provisioned("photos", "fast")
			w.drop(w.t.Context(), bucket)
			return claim
		}, want{yes, no, no}},
		"an import for another claim": {func(w *world) *cosiapi.BucketClaim {
			w.create(w.imported("archive", "x", "films"))
			claim := w.importing("photos", "archive")
			w.create(claim)
			return claim
		}, want{no, no, unknown}},
	}, "provisioned", "its Bucket is lost") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{})
			claim := tc.prepare(w)
			until(w, claim, "the claim is "+name, func(c *cosiapi.BucketClaim) error {
				got := want{
					testenv.Condition(c, cosiapi.ConditionProvisioned).Status, testenv.Condition(c, cosiapi.ConditionResourcesValidated).Status,
					testenv.Condition(c, cosiapi.ConditionProvisionFailed).Status,
				}
				pending := slices.ContainsFunc(c.Status.Conditions[:3], func(c metav1.Condition) bool {
					return c.Reason == cosiapi.ReasonPending || c.ObservedGeneration != 1 || c.Message == ""
				})
				if got != tc.want || pending {
					return fmt.Errorf("conditions %+v", c.Status.Conditions)
				}
				return nil
			})
		})
	}
}
