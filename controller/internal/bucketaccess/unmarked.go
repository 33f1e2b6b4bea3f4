// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/index"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unmarked waits until the claims that no other access uses have lost the mark
// of being in use, so that a claim that stays is never seen marked by nobody. One that is
// being deleted loses it together with its finalizer. The wait ends with a change of the claim,
// or with another access that takes hold of it and thereby keeps the mark where it is.
func (r *Reconciler) unmarked(ctx context.Context, w *work) (step.Verdict, error) {
	for _, c := range w.access.Spec.BucketClaims {
		claim := &cosiapi.BucketClaim{}
		found, err := get(ctx, r.Client, types.NamespacedName{Namespace: w.Req.Namespace, Name: c.BucketClaimName}, claim)
		if err != nil {
			return step.Verdict{}, err
		}
		if !found || !claim.DeletionTimestamp.IsZero() || !cosiapi.HasAnnotation(claim, cosiapi.HasBucketAccessReferencesAnnotation) {
			continue
		}
		accesses := &cosiapi.BucketAccessList{}
		err = r.Client.List(ctx, accesses, client.InNamespace(w.Req.Namespace), client.MatchingFields{index.AccessByClaim: claim.Name}, objects.ReadOnly)
		if err != nil {
			return step.Verdict{}, fmt.Errorf("list BucketAccesses of BucketClaim %q from the cache: %w", claim.Name, err)
		}
		if len(inuse.Blockers(accesses.Items, claim.Name)) > 0 {
			continue
		}
		return step.Wait(objects.Name(claim)), nil
	}
	return step.Next(), nil
}
