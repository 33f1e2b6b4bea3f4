// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// handOff gives the access over to the sidecar, in one write that can not be
// undone. So class and claims are looked at once more first, as latest says. A
// claim that begins to go after that look is held by our finalizer, and with it
// its Bucket, whose ID never changes: of that the cache is good enough.
func (r *Reconciler) handOff(ctx context.Context, w *work) (step.Verdict, error) {
	if !w.facts.fresh {
		var err error
		look := latest{Reader: r.Live, cache: r.Client, marks: r.Marks, since: w.since, class: w.class}
		if w.facts, err = gatherFrom(ctx, look, r.Client, w.access); err != nil {
			return step.Verdict{}, err
		}
	}
	for _, check := range []rule{checkClass, checkClaims, checkBuckets} {
		if verdict, err := r.check(ctx, w, check); err != nil || !verdict.Goes() {
			return verdict, err
		}
	}
	if verdict := awaitMarks(w); !verdict.Goes() {
		return verdict, nil
	}
	_, err := r.PatchStatus(ctx, w.access, func() {
		fill(w.access, w.facts)
		w.merge(cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.ControllerValidated, waitsForGrant(w.access))
		w.merge(cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated, validMessage)
	})
	return step.Wait(waitsForGrant(w.access)), err
}

// fill puts into the status all that the sidecar needs, now and to revoke the
// access when class and claims are gone.
func fill(access *cosiapi.BucketAccess, f facts) {
	access.Status.DriverName = f.class.Spec.DriverName
	access.Status.AuthenticationType = authenticationType(f.class)
	access.Status.Parameters = f.class.Spec.Parameters
	access.Status.DisallowedBucketAccessModes = f.class.Spec.DisallowedBucketAccessModes
	access.Status.AccessedBuckets = nil
	for _, c := range access.Spec.BucketClaims {
		bucket := f.buckets[c.BucketClaimName]
		access.Status.AccessedBuckets = append(access.Status.AccessedBuckets, cosiapi.AccessedBucket{
			BucketName: bucket.Name, BucketID: bucket.Status.BucketID, BucketClaimName: c.BucketClaimName,
		})
	}
}

// waitsForGrant is the message for an access that was handed off.
func waitsForGrant(access *cosiapi.BucketAccess) string {
	return fmt.Sprintf("Waiting for the sidecar of driver %q to grant this BucketAccess.", access.Status.DriverName)
}
