// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
)

// release establishes that the Secrets of the access are gone, before the
// backend stops honouring what they held.
func (r *Reconciler) release(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	r.Expiries.Forget(w.Req) // nobody renews it
	for _, claim := range a.Spec.BucketClaims {
		err := r.Secrets.Release(ctx, a, claim.AccessSecretName)
		if taken, ok := errors.AsType[*TakenError](err); ok {
			message := taken.Error() + ". This BucketAccess is revoked once it is gone."
			r.Events.Warn(a, events.FailedRevokeAccess, "DeleteSecret", message)
			_, err := r.PatchStatus(ctx, a, func() {
				conditions.Set(&a.Status.Conditions, conditions.Change{
					Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionTrue,
					Reason: conditions.SecretNotWritable, Message: message, Generation: a.Generation,
				})
			})
			return step.WaitAtMost(r.Failures.Poll(w.Req, r.SecretPoll), message), err
		}
		if err != nil {
			return step.Verdict{}, err
		}
	}
	return step.Next(), nil
}
