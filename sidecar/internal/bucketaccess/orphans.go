// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

// reconcileOrphans cleans up after the accesses of one name that were deleted without cleanup while this sidecar ran,
// because their finalizer was removed manually. It returns the maximum time until it must run again. Zero means never.
func (r *Reconciler) reconcileOrphans(ctx context.Context, req reconcile.Request) (time.Duration, error) {
	var errs []error
	var soonest time.Duration
	for _, a := range r.Memory.orphans(req) {
		log.FromContext(ctx).Info("Cleaning up an orphaned BucketAccess", "uid", a.UID, "account", a.Status.AccountID)
		w := newWork(reconciler.Request{Req: req, Object: a, Gone: true}, a, r.Info())
		result, err := reconciler.Run(ctx, r.Base, r.orphanSteps(), w)
		r.Leave(&w.Attempt)
		errs = append(errs, err)
		soonest = sooner(soonest, result.RequeueAfter)
	}
	return soonest, errors.Join(errs...)
}

func (r *Reconciler) orphanSteps() []reconciler.Step[*work] {
	return reconciler.Uninterrupted(r.StepLimit,
		reconciler.NewStep("confirmGone", r.confirmGone),                    // the API server does not have the access
		scheduling.Shared[*work]("awaitRetry", r.AwaitRetry),                // the backoff of the last failed call has passed
		reconciler.NewStep("awaitShare", r.awaitShare),                      // a worker is free for this class
		reconciler.NewStep("keepUsedAccount", r.keepUsedAccount),            // an account that another access has is not revoked
		reconciler.BeforeStop(reconciler.NewStep("revokeOrphan", r.revoke)), // the account is gone
		reconciler.NewStep("deleteOrphanSecrets", r.deleteSecrets),          // our finalizer holds none of its Secrets
		reconciler.NewStep("forgetOrphan", r.forgetOrphan),                  // nothing of it is left
	)
}

// confirmGone checks that the API server does not have the access.
func (r *Reconciler) confirmGone(ctx context.Context, w *work) (reconciler.Verdict, error) {
	now := &cosiapi.BucketAccess{}
	err := r.Live.Get(ctx, w.Req.NamespacedName, now)
	switch {
	case err == nil && now.UID == w.access.UID:
		return r.forgetOrphan(ctx, w)
	case client.IgnoreNotFound(err) != nil:
		return reconciler.Verdict{}, fmt.Errorf("read BucketAccess %q: %w", w.Req, err)
	default:
		return reconciler.Next(), nil
	}
}

// forgetOrphan ends the cleanup of an orphaned access.
func (r *Reconciler) forgetOrphan(_ context.Context, w *work) (reconciler.Verdict, error) {
	r.Forget(w.Key())
	r.Memory.forgetOrphan(w.access)
	return reconciler.Done(), nil
}

// keepUsedAccount drops the account ID of an orphaned access if another access now has the account. A sidecar that may
// not list the accesses of all namespaces checks those in its cache.
func (r *Reconciler) keepUsedAccount(ctx context.Context, w *work) (reconciler.Verdict, error) {
	a := w.access
	if a.Status.AccountID == "" {
		return reconciler.Next(), nil
	}
	list := &cosiapi.BucketAccessList{}
	err := r.Live.List(ctx, list, client.MatchingFields{"status.driverName": a.Status.DriverName})
	if apierrors.IsForbidden(err) {
		list.Items, err = r.withAccount(ctx, a.Status.AccountID)
	}
	if err != nil {
		return reconciler.Verdict{}, fmt.Errorf("list the BucketAccesses of driver %q: %w", a.Status.DriverName, err)
	}
	for i := range list.Items {
		if other := &list.Items[i]; other.UID != a.UID && other.Status.AccountID == a.Status.AccountID {
			log.FromContext(ctx).Info("Not revoking the account of an orphaned BucketAccess, because another BucketAccess uses it",
				"account", a.Status.AccountID, "user", other.Namespace+"/"+other.Name)
			a.Status.AccountID = ""
			break
		}
	}
	return reconciler.Next(), nil
}
