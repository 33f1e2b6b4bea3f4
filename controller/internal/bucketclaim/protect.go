// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"sync"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
	"github.com/cooper-cosi/cooper/internal/step"
)

// protect puts the protection finalizer on the claim, before anything exists
// that must be cleaned up behind it, and keeps the annotation that says whether
// accesses use the claim. In one write, since those that are created together with
// the claim are often there by now. The mark is set on what the cache says, because
// a mark too many does no harm; it is taken off only when the API server agrees that
// nobody needs it.
//
// Beside the finalizer of a new claim its class is read, which create needs next; if
// that fails, create reads it again.
func (r *Reconciler) protect(ctx context.Context, w *work) (step.Verdict, error) {
	accesses, err := r.cachedAccesses(ctx, w)
	if err != nil {
		return step.Verdict{}, err
	}
	used := len(inuse.Blockers(accesses, w.Req.Name)) > 0
	marked := cosiapi.HasAnnotation(w.claim, cosiapi.HasBucketAccessReferencesAnnotation)
	var beside sync.WaitGroup
	if class := w.claim.Spec.BucketClassName; class != "" && !cosiapi.HasProtection(w.claim) {
		beside.Go(func() { w.class, _ = r.liveClass(ctx, class) })
	}
	err = r.write(ctx, w, func() {
		cosiapi.AddProtection(w.claim)
		if used {
			cosiapi.SetAnnotation(w.claim, cosiapi.HasBucketAccessReferencesAnnotation, "true")
		}
	})
	beside.Wait()
	if err == nil && used && !marked && w.claim.Status.BoundBucketName != "" { // nobody can wait for a claim without a Bucket alone
		r.Marks.Add(w.claim.DeepCopy())
	}
	if err != nil || used || !marked {
		return step.Next(), err
	}
	if unused, err := r.unusedBy(ctx, w, accesses); err != nil || !unused {
		return step.Next(), err
	}
	return step.Next(), r.write(ctx, w, func() { cosiapi.RemoveAnnotation(w.claim, cosiapi.HasBucketAccessReferencesAnnotation) })
}
