// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/calls"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
)

// callFailed reports that a call failed, and waits until it may be repeated. A
// Bucket that is provisioned stays so.
func (r *Reconciler) callFailed(ctx context.Context, w *work, err error) (step.Verdict, error) {
	failure, ok := driver.AsFailure(err)
	if !ok {
		return step.Verdict{}, err
	}
	b, asked := w.bucket, w.State()
	say, reason, action := calls.ProvisionFailed, events.FailedCreateBucket, "CreateBucket"
	if planOf(b) != provision {
		say, reason, action = calls.DeprovisionFailed, events.FailedDeleteBucket, "DeleteBucket"
	}
	err = r.RecordStatus(ctx, b, sameOrder, func() {
		conditions.Set(&b.Status.Conditions, validated(b, w.Info)) // nothing holds it any more
		say(&b.Status.Conditions, failure, b.Generation)
	})
	if err != nil {
		return step.Verdict{}, err
	}
	r.warn(b, reason, action, failure.Message())
	return r.Failed(&w.Turn, asked, failure), nil
}

// begin begins a call unless one for the same bucket ID is running.
func (r *Reconciler) begin(w *work) (end func(), wait step.Verdict) {
	id := cmp.Or(w.bucket.Status.BucketID, w.bucket.Name)
	return r.Begin(&w.Turn, inflight.Call{About: []string{inflight.BucketID(id)}}, "bucket ID "+id)
}

// warn emits an Event on the Bucket and repeats it on its claim, where its
// user sees it.
func (r *Reconciler) warn(b *cosiapi.Bucket, reason events.Reason, action, note string) {
	r.Events.Warn(b, reason, action, note)
	ref := b.Spec.BucketClaimRef
	claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, Namespace: ref.Namespace, UID: ref.UID}}
	r.Events.Warn(claim, reason, action, fmt.Sprintf("Bucket %q: %s", b.Name, note))
}
