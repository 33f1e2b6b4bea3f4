// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/index"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/internal/step"
)

// references keeps the annotation that says whether accesses use the claim.
// A mark is set on what the cache says, because a mark too many does no harm;
// it is taken off only when the API server agrees that nobody needs it.
func (r *Reconciler) references(ctx context.Context, w *work) (step.Verdict, error) {
	accesses, err := r.cachedAccesses(ctx, w)
	if err != nil {
		return step.Verdict{}, err
	}
	held := len(inuse.Holders(accesses, w.Req.Name)) > 0
	marked := cosiapi.HasAnnotation(w.claim, cosiapi.HasBucketAccessReferencesAnnotation)
	switch {
	case held == marked:
		return step.Next(), nil
	case held:
		return step.Next(), r.write(ctx, w, func() { cosiapi.SetAnnotation(w.claim, cosiapi.HasBucketAccessReferencesAnnotation, "true") })
	}
	if unused, err := r.unusedBy(ctx, w, accesses, func(s inuse.State) bool { return s.Holds }); err != nil || !unused {
		return step.Next(), err
	}
	return step.Next(), r.write(ctx, w, func() { cosiapi.RemoveAnnotation(w.claim, cosiapi.HasBucketAccessReferencesAnnotation) })
}

// cachedAccesses lists the accesses that ask for the claim, from the cache.
func (r *Reconciler) cachedAccesses(ctx context.Context, w *work) ([]cosiapi.BucketAccess, error) {
	list := &cosiapi.BucketAccessList{}
	err := r.Client.List(ctx, list, client.InNamespace(w.Req.Namespace), client.MatchingFields{index.AccessByClaim: w.Req.Name}, objects.ReadOnly)
	if err != nil {
		return nil, fmt.Errorf("list BucketAccesses of BucketClaim %q from the cache: %w", w.Req, err)
	}
	return list.Items, nil
}
