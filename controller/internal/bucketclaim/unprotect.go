// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unprotect takes off a claim what the Controller put on it.
func unprotect(claim *cosiapi.BucketClaim) {
	cosiapi.RemoveAnnotation(claim, cosiapi.HasBucketAccessReferencesAnnotation)
	cosiapi.RemoveProtection(claim)
}

// unprotect takes finalizer and mark off the claim, in one write: no access waits for the mark
// of a claim that is being deleted.
func (r *Reconciler) unprotect(ctx context.Context, w *work) (step.Verdict, error) {
	if !cosiapi.HasProtection(w.claim) {
		return step.Done(), nil
	}
	if err := r.findClass(ctx, w); err != nil {
		return step.Verdict{}, err
	}
	deleted := *w.claim.DeletionTimestamp
	err := r.write(ctx, w, func() { unprotect(w.claim) })
	if client.IgnoreNotFound(err) != nil {
		return step.Verdict{}, err
	}
	r.Deleted(w.DriverName(), deleted, w.claim.Status.Conditions)
	return step.Done(), nil
}

// findClass looks up the class of a claim that has no Bucket (any more), which
// says what driver its operations are counted for.
func (r *Reconciler) findClass(ctx context.Context, w *work) error {
	if w.bucket != nil || w.claim.Spec.BucketClassName == "" {
		return nil
	}
	class := &cosiapi.BucketClass{}
	err := r.Client.Get(ctx, types.NamespacedName{Name: w.claim.Spec.BucketClassName}, class)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read BucketClass %q from the cache: %w", w.claim.Spec.BucketClassName, err)
	}
	if err == nil {
		w.class = class
	}
	return nil
}
