// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

// reserveSecrets ensures that all Secrets of the access exist and belong to it before the first call to the driver.
// Otherwise there could be a credential without a place to store it.
func (r *Reconciler) reserveSecrets(ctx context.Context, w *work) (reconciler.Verdict, error) {
	w.secrets = w.secrets[:0]
	for _, claim := range w.access.Spec.BucketClaims {
		secret, err := r.Secrets.Reserve(ctx, w.access, claim)
		if err != nil {
			return r.secretBlocked(ctx, w, err)
		}
		w.secrets = append(w.secrets, secret)
		r.redact(w, secret.Data)
	}
	return reconciler.Next(), nil
}

// writeSecrets writes the result of the grant to every Secret: the bucket of its claim, and the credential that all
// Secrets of the access share.
func (r *Reconciler) writeSecrets(ctx context.Context, w *work) (reconciler.Verdict, error) {
	a := w.access
	r.History.Succeeded(w.Req)
	infos := map[string]*cosi.ObjectProtocolAndBucketInfo{}
	for _, granted := range w.response.GetBuckets() {
		infos[granted.GetBucketId()] = granted.GetBucketInfo()
	}
	ids := bucketIDsByClaim(a)
	var granted []map[string][]byte
	for _, claim := range a.Spec.BucketClaims {
		granted = append(granted, secretkeys.Data(a.Spec.Protocol, infos[ids[claim.BucketClaimName]], w.response.GetCredentials()))
	}
	added := r.addKeys(w, granted)
	r.warnOfKeys(w)
	for i, data := range added {
		annotations := deliveryAnnotations(w.order, data, r.Now())
		if err := r.Secrets.Write(ctx, a, w.secrets[i], data, annotations); err != nil {
			return r.secretBlocked(ctx, w, err)
		}
	}
	r.Memory.setExpiry(w.Req, w.secrets, r.Now())
	r.Memory.granted(w.Req, r.Now())
	return reconciler.Next(), nil
}

// secretBlocked reports that a Secret cannot be written and checks again later, since the sidecar may not watch Secrets. In
// a namespace that is being deleted, Secrets can disappear before their access; the access is about to be deleted, too.
func (r *Reconciler) secretBlocked(ctx context.Context, w *work, err error) (reconciler.Verdict, error) {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return reconciler.Wait("the deletion of the access, as its namespace is being deleted"), nil
	}
	p := secretProblem(err)
	if p == nil {
		return reconciler.Verdict{}, err
	}
	if _, taken := errors.AsType[*TakenError](err); taken { // only the owner can repair it, so an expiry in it must not raise an alert
		r.Memory.setExpiry(w.Req, nil, r.Now())
	}
	r.Events.Warn(w.access, reconciler.FailedGrantAccess, "ReserveSecret", p.Message)
	return reconciler.WaitAtMost(r.History.Poll(w.Req, r.SecretPoll), p.Message), r.reportProblem(ctx, w, p)
}

// secretProblem returns the problem that caused an error of Secrets, or nil if the error may be temporary.
func secretProblem(err error) *conditions.Problem {
	taken, isTaken := errors.AsType[*TakenError](err)
	switch {
	case isTaken && taken.Held:
		return conditions.Block(conditions.SecretTaken, "%v. COSI creates the Secret again after the deletion.", taken)
	case isTaken && taken.Immutable:
		return conditions.Block(conditions.SecretNotWritable, "%v, so COSI cannot write the credential to it. Delete that Secret; COSI then creates it again.", taken)
	case isTaken:
		return conditions.Block(conditions.SecretTaken,
			"%v. COSI does not change it. Delete that Secret, or delete this BucketAccess and create it again with another accessSecretName.", taken)
	case refused(err):
		return conditions.Block(conditions.SecretNotWritable, "The API server rejects an access Secret: %v.", err)
	default:
		return nil
	}
}

// reportStatus writes the conditions of a provisioned access.
func (r *Reconciler) reportStatus(ctx context.Context, w *work) (reconciler.Verdict, error) {
	a := w.access
	first := !provisioned(a)
	err := r.RecordStatus(ctx, a, sameOrder, func() {
		conditions.Merge(&a.Status.Conditions, w.validated())
		scheduling.Provisioned(&a.Status.Conditions, grantedMessage(w.response), a.Generation)
		w.keys.report(a)
		a.Status.Cleanup = cosiapi.CleanupPending // also for an access that an early version granted
	})
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if first {
		r.Finished(a.Status.DriverName, metrics.OperationCreate, a.CreationTimestamp)
	}
	verdict, err := r.checkGrant(ctx, w)
	if err != nil || !verdict.Goes() {
		return verdict, err
	}
	return waitUntilDue(r.Now(), r.Now()), nil // a grant is due again already
}

func grantedMessage(response *cosi.DriverGrantBucketAccessResponse) string {
	const message = "This BucketAccess is granted and its Secrets are written."
	if response.GetSharedCredential() {
		return message + " Its credential is shared with other users, and still works after this BucketAccess is deleted."
	}
	return message
}
