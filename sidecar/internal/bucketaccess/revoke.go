// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

// ByAccount is the index of the accesses in the cache by status.accountID.
const ByAccount = "accountID"

// deleteSecrets deletes the Secrets of the access before the backend stops accepting their credential. It reports a
// Secret that another component's finalizer keeps or whose deletion is refused. An orphaned access does not wait for
// the former.
func (r *Reconciler) deleteSecrets(ctx context.Context, w *work) (reconciler.Verdict, error) {
	a := w.access
	for _, claim := range a.Spec.BucketClaims {
		err := r.Secrets.Delete(ctx, a, claim.AccessSecretName)
		if w.Gone {
			err = ignoreTaken(err)
		}
		if _, taken := errors.AsType[*TakenError](err); taken || refused(err) && !w.Gone {
			message := err.Error() + ". This BucketAccess is revoked after the Secret is deleted."
			r.Events.Warn(a, reconciler.FailedRevokeAccess, "DeleteSecret", message)
			_, err := r.PatchStatus(ctx, a, func() {
				conditions.Set(&a.Status.Conditions, conditions.Change{
					Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionTrue,
					Reason: conditions.SecretNotWritable, Message: message, Generation: a.Generation,
				})
			})
			return reconciler.WaitAtMost(r.History.Poll(w.Req, r.SecretPoll), message), err
		}
		if err != nil {
			return reconciler.Verdict{}, err
		}
	}
	return reconciler.Next(), nil
}

// checkUnshared waits while another access uses the account that is about to be revoked. The cache is sufficient: no
// account ID is stored for a second access, and a revoked account can be granted again.
func (r *Reconciler) checkUnshared(ctx context.Context, w *work) (reconciler.Verdict, error) {
	a := w.access
	found, err := r.withAccount(ctx, a.Status.AccountID)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	for i := range found {
		other := &found[i]
		if !needsAccount(other, a) {
			continue
		}
		shared := sharedAccount(a) // without the name of the other access, which may be in another namespace
		isNew, err := r.PatchStatus(ctx, a, func() { conditions.Set(&a.Status.Conditions, shared) })
		if err != nil {
			return reconciler.Verdict{}, err
		}
		if isNew {
			r.Events.Warn(a, reconciler.FailedRevokeAccess, "RevokeAccess", shared.Message)
		}
		return reconciler.Wait("the deletion of " + conditions.Names("BucketAccess", other.Namespace+"/"+other.Name)), nil
	}
	return reconciler.Next(), nil
}

// withAccount returns the accesses in the cache that have an account ID.
func (r *Reconciler) withAccount(ctx context.Context, id string) ([]cosiapi.BucketAccess, error) {
	if id == "" {
		return nil, nil
	}
	list := &cosiapi.BucketAccessList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{ByAccount: id}, reconciler.ReadOnly); err != nil {
		return nil, fmt.Errorf("look up BucketAccesses with account ID %q in the cache: %w", id, err)
	}
	return list.Items, nil
}

// checkKnown waits while the ID of the account is unknown. Without the report, the account would be orphaned.
func (r *Reconciler) checkKnown(ctx context.Context, w *work) (reconciler.Verdict, error) {
	a, unknown := w.access, unknownAccount(w.access)
	if unknown == nil {
		return reconciler.Next(), nil
	}
	isNew, err := r.PatchStatus(ctx, a, func() { conditions.Set(&a.Status.Conditions, *unknown) })
	if err == nil && isNew {
		r.Events.Warn(a, reconciler.FailedRevokeAccess, "RevokeAccess", unknown.Message)
	}
	return reconciler.Wait("an administrator who finds the account"), err
}

// revoke revokes the account. Without an account ID there was no grant, and no call is made. With one, the account may
// exist even if no grant succeeded.
func (r *Reconciler) revoke(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.access.Status.AccountID == "" {
		return reconciler.Next(), nil
	}
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	if err := r.Driver.RevokeAccess(ctx, revokeRequest(w.access)); err != nil {
		return r.callFailed(ctx, w, err)
	}
	return reconciler.Next(), nil
}

// finishCleanup returns the access to the Controller: first in the status, which users cannot write, then with the
// annotation. Both writes are conflicts if the access's request to the driver has changed, so an account ID that was
// stored in the meantime is revoked.
func (r *Reconciler) finishCleanup(ctx context.Context, w *work) (reconciler.Verdict, error) {
	a := w.access
	err := r.RecordStatus(ctx, a, sameOrder, func() {
		if a.Status.Cleanup == cosiapi.CleanupPending {
			a.Status.Cleanup = cosiapi.CleanupFinished
		}
		scheduling.Deprovisioned(&a.Status.Conditions, "This BucketAccess is revoked and its Secrets are deleted.", a.Generation)
	})
	if err != nil {
		return reconciler.Verdict{}, err
	}
	r.Memory.setGranted(w.Req)
	err = r.Record(ctx, a, sameOrder, func() { cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "") })
	r.History.Succeeded(w.Req)
	return reconciler.Done(), err
}
