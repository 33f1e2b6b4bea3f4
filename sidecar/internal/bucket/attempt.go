// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
	"github.com/cooper-cosi/cooper/sidecar/internal/turn"
)

// exclusively runs a call unless one for the same bucket ID is running; then
// the reconcile starts again when that one has ended.
func (r *Reconciler) exclusively(w *work, bucketID string, call func() error) (step.Verdict, error) {
	return r.Take(&w.Turn, inflight.Call{About: []string{inflight.BucketID(bucketID)}}, "bucket ID "+bucketID, call)
}

// attempt is Attempt for the calls that make or verify the bucket. While none
// may be made, what the last one found stays true of a Bucket that is bound
// meanwhile: its conditions say so.
func (r *Reconciler) attempt(ctx context.Context, w *work) (step.Verdict, error) {
	due := r.Due(&w.Turn)
	if due.Goes() {
		return r.Reread(ctx, &w.Turn)
	}
	_, err := r.Store.PatchStatus(ctx, w.bucket, func() { confirm(w.bucket) })
	return due, err
}

// provisioningFailed is failed for the calls that make or verify the bucket. A
// Bucket that is provisioned stays so.
func (r *Reconciler) provisioningFailed(ctx context.Context, w *work, err error) (step.Verdict, error) {
	return r.Failed(ctx, &w.Turn, err, func(f *driver.Failure) {
		b := w.bucket
		conditions.Set(&b.Status.Conditions, validated(b, w.Info))
		turn.ProvisionFailed(&b.Status.Conditions, f, b.Generation)
	}, func(note string) { r.warn(w.bucket, events.FailedCreateBucket, "CreateBucket", note) })
}

// warn emits an Event on the Bucket and repeats it on its claim, where its
// user sees it.
func (r *Reconciler) warn(b *cosiapi.Bucket, reason events.Reason, action, note string) {
	r.Events.Warn(b, reason, action, note)
	ref := b.Spec.BucketClaimRef
	claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, Namespace: ref.Namespace, UID: ref.UID}}
	r.Events.Warn(claim, reason, action, fmt.Sprintf("Bucket %s: %s", b.Name, note))
}
