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
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/kit"
	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/calls"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// A farewell is the state of one reconcile of an access that is gone.
type farewell struct {
	work

	departed departed
	// own is the Turn for the failures and the share of the very access, and not of
	// its successor.
	own calls.Turn
}

// leftovers cleans up behind the accesses of one name that went without us, and
// returns after what time it must look again at the latest; zero means that it
// need not.
func (r *Reconciler) leftovers(ctx context.Context, req reconcile.Request) (time.Duration, error) {
	var errs []error
	for _, secret := range r.Departed.suspected(req) {
		if err := r.Secrets.Look(ctx, secret); err != nil {
			r.Departed.Suspect(req, secret)
			errs = append(errs, err)
		}
	}
	var soonest time.Duration
	for _, one := range r.Departed.of(req) {
		a := one.access
		if a.Status.AccountID != "" {
			log.FromContext(ctx).Info("Cleaning up behind an access that was removed by hand", "uid", a.UID, "account", a.Status.AccountID)
		}
		f := &farewell{work: work{Turn: calls.Turn{Turn: kit.Turn{Req: req, Object: a, Gone: true}, Asks: a.Spec, Info: r.Info()}, access: a}, departed: one}
		f.own = f.Turn
		f.own.Req.Name += "/" + string(a.UID)
		result, err := kit.Run(ctx, r.Kit.Kit, r.departing(), f)
		r.Leave(&f.own)
		errs = append(errs, err)
		if after := result.RequeueAfter; after > 0 && (soonest == 0 || after < soonest) {
			soonest = after
		}
	}
	return soonest, errors.Join(errs...)
}

// departing are the steps for an access that is gone. Its Secrets go last: until
// then they tell a sidecar that starts what is to be revoked.
func (r *Reconciler) departing() []step.Step[*farewell] {
	return step.Uninterrupted(r.StepLimit,
		step.Named("gone", r.gone),
		step.Named("overdue", r.overdue),
		step.BeforeStop(step.Named("forsake", r.forsake)),
		step.Named("forget", r.forget),
	)
}

// gone establishes that the API server does not have the access.
func (r *Reconciler) gone(ctx context.Context, f *farewell) (step.Verdict, error) {
	now := &cosiapi.BucketAccess{}
	err := r.Live.Get(ctx, f.Req.NamespacedName, now)
	switch {
	case err == nil && now.UID == f.access.UID:
		r.Failures.Forget(f.own.Req)
		r.Departed.drop(f.departed)
		return step.Done(), nil
	case err != nil && !apierrors.IsNotFound(err):
		return step.Verdict{}, fmt.Errorf("read BucketAccess %q: %w", f.Req, err)
	default:
		return step.Next(), nil
	}
}

// overdue is Due and Share for an access that is gone.
func (r *Reconciler) overdue(ctx context.Context, f *farewell) (step.Verdict, error) {
	due, err := r.Due(ctx, &f.own)
	if err != nil || !due.Goes() || f.access.Status.AccountID == "" && !askedFor(f.access) {
		return due, err
	}
	return r.shareFor(ctx, &f.own, f.access)
}

// forsake establishes that the backend has no such account, unless that belongs
// to another access by now.
func (r *Reconciler) forsake(ctx context.Context, f *farewell) (step.Verdict, error) {
	a := f.access
	if a.Status.AccountID == "" && !askedFor(a) {
		return step.Next(), nil
	}
	end, wait := r.begin(&f.work)
	if end == nil {
		return wait, nil
	}
	defer end()
	if a.Status.AccountID == "" {
		id, err := r.account(ctx, &f.work)
		if err != nil {
			return r.notForsaken(f, err)
		}
		if id == "" {
			return step.Next(), nil
		}
		a.Status.AccountID = id
	}
	if heir, err := r.heir(ctx, f.departed); err != nil || heir != "" {
		log.FromContext(ctx).Info("The account of an access that is gone is not revoked", "account", a.Status.AccountID, "reason", heir)
		return step.Next(), err
	}
	if err := r.Driver.RevokeAccess(ctx, revokeRequest(a)); err != nil {
		return r.notForsaken(f, err)
	}
	return step.Next(), nil
}

// notForsaken waits until a call that failed may be repeated.
func (r *Reconciler) notForsaken(f *farewell, err error) (step.Verdict, error) {
	failure, ok := driver.AsFailure(err)
	if !ok {
		return step.Verdict{}, err
	}
	r.Events.Warn(f.access, events.FailedRevokeAccess, "RevokeAccess", failure.Message())
	return r.Failed(&f.own, f.State(), failure), nil
}

// heir says why the account of an access that is gone must stay: another access
// of our driver has it. It is empty if no namespace has one. Where not all may be
// looked at, it is enough that ours have none if we saw the access ourselves; what
// only a Secret says is then left alone.
func (r *Reconciler) heir(ctx context.Context, one departed) (string, error) {
	a, list := one.access, &cosiapi.BucketAccessList{}
	ofDriver := client.MatchingFields{"status.driverName": a.Status.DriverName}
	err := r.Live.List(ctx, list, ofDriver)
	if apierrors.IsForbidden(err) {
		if one.recorded {
			r.Events.Warn(a, events.FailedRevokeAccess, "RevokeAccess", fmt.Sprintf(
				"This BucketAccess was removed by hand, and its account %q is not revoked: the sidecar may not list the BucketAccesses of all "+
					"namespaces, one of which may have it by now. An administrator must revoke it in the backend.", a.Status.AccountID))
			return "BucketAccesses of all namespaces may not be listed: revoke it in the backend", nil
		}
		err = r.listScope(ctx, list, ofDriver)
	}
	if err != nil {
		return "", fmt.Errorf("list the BucketAccesses of driver %q: %w", a.Status.DriverName, err)
	}
	for i := range list.Items {
		if other := &list.Items[i]; other.Status.AccountID == a.Status.AccountID {
			return fmt.Sprintf("it belongs to BucketAccess %q", other.Namespace+"/"+other.Name), nil
		}
	}
	return "", nil
}

// listScope lists the accesses in the namespaces that we serve.
func (r *Reconciler) listScope(ctx context.Context, list *cosiapi.BucketAccessList, by client.ListOption) error {
	for _, namespace := range r.Options.Scope.Namespaces {
		some := &cosiapi.BucketAccessList{}
		if err := r.Live.List(ctx, some, by, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("in namespace %q: %w", namespace, err)
		}
		list.Items = append(list.Items, some.Items...)
	}
	return nil
}

// forget establishes that our finalizer holds no Secret of the access. One that
// others hold with theirs is theirs.
func (r *Reconciler) forget(ctx context.Context, f *farewell) (step.Verdict, error) {
	for _, claim := range f.access.Spec.BucketClaims {
		err := r.Secrets.Release(ctx, f.access, claim.AccessSecretName)
		if _, held := errors.AsType[*TakenError](err); err != nil && !held {
			return step.Verdict{}, err
		}
	}
	r.Failures.Forget(f.own.Req)
	r.Departed.drop(f.departed)
	return step.Done(), nil
}
