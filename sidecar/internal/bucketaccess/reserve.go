// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
		genuine, err := r.Secrets.Genuine(ctx, secret)
		if err != nil {
			return step.Verdict{}, err
		}
		r.Driver.Redact(w.access.Status.AccountID, secretkeys.Secrets(secret.Data), genuine)
	}
	return step.Next(), nil
}

// blocked reports that a Secret cannot be written to and looks again later,
// since the sidecar may not watch Secrets. Of a namespace that is being deleted the
// Secrets may go before the accesses: nobody waits for those.
func (r *Reconciler) blocked(ctx context.Context, w *work, err error) (step.Verdict, error) {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return step.Wait("the deletion of the access, as its namespace is being deleted"), nil
	}
	p := secretProblem(err)
	if p == nil {
		return step.Verdict{}, err
	}
	if owned(err) {
		r.Expiries.Forget(w.Req)
	}
	r.Events.Warn(w.access, events.FailedGrantAccess, "ReserveSecret", p.Message)
	return step.WaitAtMost(r.Failures.Poll(w.Req, r.SecretPoll), p.Message), r.reportProblem(ctx, w, p)
}

// owned reports whether only the owner of a Secret can mend an error: that a credential in it expires is nobody else's to know.
func owned(err error) bool {
	_, taken := errors.AsType[*TakenError](err)
	_, sealed := errors.AsType[*SealedError](err)
	return taken || sealed
}

// secretProblem returns the problem behind an error of the SecretStore; nil if the
// error may pass by itself.
func secretProblem(err error) *conditions.Problem {
	taken, isTaken := errors.AsType[*TakenError](err)
	seal, isSealed := errors.AsType[*SealedError](err)
	switch {
	case isTaken && taken.Held:
		return conditions.Block(conditions.SecretTaken, "%v. COSI creates it again once it is gone.", taken)
	case isTaken:
		return conditions.Block(conditions.SecretTaken,
			"%v. COSI does not touch it. Delete that Secret, or delete this BucketAccess and create it again with another accessSecretName.", taken)
	case isSealed:
		return conditions.Block(conditions.SecretNotWritable,
			"Secret %q is immutable, so that COSI cannot write the credential to it. Delete that Secret, and COSI creates it again.", seal.Name)
	case refused(err):
		return conditions.Block(conditions.SecretNotWritable, "The Kubernetes API refuses an access Secret: %v.", err)
	default:
		return nil
	}
}
