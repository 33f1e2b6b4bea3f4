// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unprotect takes the finalizer off the claim.
func (r *Reconciler) unprotect(ctx context.Context, w *work) (step.Verdict, error) {
	if !cosiapi.RemoveProtection(w.claim) {
		return step.Done(), nil
	}
	err := r.saveMeta(ctx, w)
	if err != nil && !apierrors.IsNotFound(err) {
		return step.Verdict{}, err
	}
	if !conditions.Is(w.stored.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		r.Metrics.Reconciled(metrics.Operation{Kind: metrics.KindBucketClaim, Name: metrics.OperationCreate}, metrics.StatusCanceled)
	}
	r.finished(w, metrics.OperationDelete, *w.claim.DeletionTimestamp)
	return step.Done(), nil
}
