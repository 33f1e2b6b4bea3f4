// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// marked waits until all claims are marked as in use. The claim's reconciler
// does that when it sees the access; nothing is said to the user, since it
// takes no time.
func (r *Reconciler) marked(_ context.Context, w *work) (step.Verdict, error) {
	if name := unmarkedClaim(w.access, w.facts); name != "" {
		return step.Wait(fmt.Sprintf("the mark on BucketClaim %q", name)), nil
	}
	return step.Next(), nil
}

// unmarkedClaim is the name of a claim that is not marked as in use, or "".
func unmarkedClaim(access *cosiapi.BucketAccess, f facts) string {
	for _, c := range access.Spec.BucketClaims {
		claim := f.claims[c.BucketClaimName]
		if claim == nil || !cosiapi.HasAnnotation(claim, cosiapi.HasBucketAccessReferencesAnnotation) {
			return c.BucketClaimName
		}
	}
	return ""
}
