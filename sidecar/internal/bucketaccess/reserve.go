// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"errors"
	"fmt"

	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/step"
)

// reserve establishes that all Secrets of the access exist and belong to it,
// before the driver is called for the first time: what is granted must have a
// place to go. A name that somebody else has is left alone.
func (r *Reconciler) reserve(ctx context.Context, w *work) (step.Verdict, error) {
	w.secrets = w.secrets[:0]
	for _, claim := range w.access.Spec.BucketClaims {
		secret, err := r.Secrets.Reserve(ctx, w.access, claim)
		if err != nil {
			return r.blocked(ctx, w, err)
		}
		w.secrets = append(w.secrets, secret)
		r.Driver.Conceal(w.access.Status.AccountID, secretkeys.Secrets(secret.Data))
	}
	return step.Next(), nil
}

// blocked reports that a Secret cannot be written to and looks again later,
// since the sidecar may not watch Secrets.
func (r *Reconciler) blocked(ctx context.Context, w *work, err error) (step.Verdict, error) {
	p := secretProblem(err)
	if p == nil {
		return step.Verdict{}, err
	}
	r.Events.Warn(w.access, events.FailedGrantAccess, "ReserveSecret", p.message)
	return step.WaitAtMost(r.SecretPoll, p.message), r.tell(ctx, w, p)
}

// secretProblem is the problem behind an error of the SecretStore; nil if the
// error may pass by itself.
func secretProblem(err error) *problem {
	taken, isTaken := errors.AsType[*TakenError](err)
	seal, isSealed := errors.AsType[*SealedError](err)
	switch {
	case isTaken && taken.Held:
		return &problem{reason: conditions.SecretTaken, message: taken.Error() + ". COSI makes it anew once it is gone."}
	case isTaken:
		return &problem{
			reason:  conditions.SecretTaken,
			message: taken.Error() + ". COSI does not touch it. Delete that Secret, or create a new BucketAccess with another accessSecretName.",
		}
	case isSealed:
		return &problem{
			reason:  conditions.SecretNotWritable,
			message: fmt.Sprintf("Secret %q is immutable, so that COSI cannot write the access to it. Delete it: COSI makes it anew.", seal.Name),
		}
	case refused(err):
		return &problem{reason: conditions.SecretNotWritable, message: fmt.Sprintf("The Kubernetes API refuses an access Secret: %v", err)}
	default:
		return nil
	}
}
