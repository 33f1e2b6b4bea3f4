// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// limit hands over what the class disallows for an access that was handed over
// by a controller that did not do so yet. Nothing is granted again because of it:
// the driver hears it when the access is granted the next time.
func (r *Reconciler) limit(ctx context.Context, w *work) (step.Verdict, error) {
	if !lacksLimits(w.access) {
		return step.Next(), nil
	}
	class := &cosiapi.BucketAccessClass{}
	found, err := get(ctx, r.Client, types.NamespacedName{Name: w.access.Spec.BucketAccessClassName}, class)
	if err != nil || !found || !handedOffFrom(w.access, class) {
		return step.Next(), err
	}
	_, err = r.PatchStatus(ctx, w.access, func() {
		w.access.Status.DisallowedBucketAccessModes = class.Spec.DisallowedBucketAccessModes
	})
	return step.Next(), err
}

// lacksLimits reports whether nothing is disallowed for an access whose sidecar
// keeps the fields that the KEP does not have. Another one may drop them
// whenever it writes, and there would be no end to it.
func lacksLimits(a *cosiapi.BucketAccess) bool {
	return a.Status.Cleanup == cosiapi.CleanupPending &&
		equality.Semantic.DeepEqual(a.Status.DisallowedBucketAccessModes, cosiapi.DisallowedBucketAccessModes{})
}

// handedOffFrom reports whether a class must be the one that an access was handed
// over from, and says what it said then: it is older than the access, and its
// spec is immutable. One that is younger may have replaced another of its name.
func handedOffFrom(a *cosiapi.BucketAccess, class *cosiapi.BucketAccessClass) bool {
	return !class.CreationTimestamp.After(a.CreationTimestamp.Time)
}
