// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unused holds a claim that is being deleted until no access uses it, and then
// takes the mark of its accesses off. The annotation is not trusted: only the list of accesses in the API server shows
// one that was created a moment ago.
func (r *Reconciler) unused(ctx context.Context, w *work) (step.Verdict, error) {
	for _, list := range []func(context.Context, *work) ([]cosiapi.BucketAccess, error){r.cachedAccesses, r.liveAccesses} {
		accesses, err := list(ctx, w)
		if err != nil {
			return step.Verdict{}, err
		}
		if blockers := inuse.Blockers(accesses, w.key.Name); len(blockers) > 0 {
			r.tellInUse(w, blockers)
			return step.Wait("BucketAccess " + blockers[0].Name), nil
		}
	}
	if cosiapi.RemoveAnnotation(w.claim, cosiapi.HasBucketAccessReferencesAnnotation) {
		// A write of its own: the last access goes as soon as it sees this,
		// whatever becomes of the Bucket.
		if err := r.saveMeta(ctx, w); err != nil {
			return step.Verdict{}, err
		}
	}
	if !cosiapi.HasProtection(w.claim) {
		return step.Done(), nil
	}
	return step.Next(), nil
}

// tellInUse tells the user which access to delete, unless they have.
func (r *Reconciler) tellInUse(w *work, blockers []*cosiapi.BucketAccess) {
	for _, access := range blockers {
		if access.DeletionTimestamp.IsZero() {
			r.Events.Warn(w.claim, events.FailedDeleteBucket, "DeleteBucket", fmt.Sprintf(
				"BucketAccess %q uses this claim (%d in all). The claim is deleted when they are", access.Name, len(blockers)))
			return
		}
	}
}
