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
// takes no time. It does so while this one puts the finalizer on, so that a
// reconcile that has just done that need not wait for the cache: handOff finds
// the mark in the API server, or waits.
func (r *Reconciler) marked(_ context.Context, w *work) (step.Verdict, error) {
	if w.protected {
		return step.Next(), nil
	}
	return awaitMarks(w), nil
}

func awaitMarks(w *work) step.Verdict {
	if name := unmarkedClaim(w.access, w.facts); name != "" {
		return step.Wait(fmt.Sprintf("the mark on BucketClaim %q", name))
	}
	return step.Next()
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
