// SPDX-License-Identifier: Apache-2.0

// Package bucketaccess reconciles the BucketAccesses that the Controller handed
// to the sidecar of one driver (KEP-1979, "Generating Bucket Access
// Credentials" and "Deleting a BucketAccess", the sidecar's part). A reconcile
// is a list of steps, one in each file; what they decide stands in rules.go and
// regrant.go.
//
// It must not read BucketClaims or classes, and writes no Secret that does not
// belong to its access.
package bucketaccess

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/kit"
	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/calls"
)

// Provisioner is the part of a driver that makes and removes accesses. Its
// errors are *driver.Failure.
type Provisioner interface {
	GenerateAccountID(ctx context.Context, request *cosi.DriverGenerateBucketAccessIdRequest) (string, error)
	GrantAccess(
		ctx context.Context, request *cosi.DriverGrantBucketAccessRequest, known *cosi.ObjectProtocolAndBucketInfo,
	) (id string, response *cosi.DriverGrantBucketAccessResponse, err error)
	RevokeAccess(ctx context.Context, request *cosi.DriverRevokeBucketAccessRequest) error
	// Redact takes secrets of an account out of what the driver says from now
	// on: genuine ones, which the driver gave, out of all, others out of what it
	// says about the account.
	Redact(account string, secrets []string, genuine bool)
}

// SecretStore keeps the access Secrets; Secrets is the one in the Kubernetes
// API. Reserve is called before the first call to the driver, Write after each
// grant, Genuine about what it wrote, Release when the access is deleted, Look when a Secret was perhaps left
// by an access that is gone.
type SecretStore interface {
	Reserve(ctx context.Context, a *cosiapi.BucketAccess, claim cosiapi.BucketClaimAccess) (*corev1.Secret, error)
	Write(ctx context.Context, a *cosiapi.BucketAccess, secret *corev1.Secret, content Content) error
	Genuine(ctx context.Context, secret *corev1.Secret) (bool, error)
	Release(ctx context.Context, a *cosiapi.BucketAccess, name string) error
	Look(ctx context.Context, key types.NamespacedName) error
}

// Reconciler reconciles BucketAccesses. All fields are required.
type Reconciler struct {
	calls.Kit

	// Secrets keeps the access Secrets.
	Secrets SecretStore
	// Driver makes and removes accesses.
	Driver Provisioner
	// Schedule says when accesses are granted again although nothing changed.
	Schedule *Schedule
	// SecretPoll is how often a reconcile that waits for a Secret looks again.
	SecretPoll time.Duration
	// Departed holds the accesses that went without us.
	Departed *Departed
	// Expiries hold when credentials end, for the metrics.
	Expiries *Expiries
	// Regranted counts a grant of an access that was granted before, with one of the Regrant constants of
	// package metrics.
	Regranted func(reason string)
	// InOrder holds the accesses that need no look at their Secrets.
	InOrder *InOrder
	// WatchSecrets says that the cache has the metadata of access Secrets.
	WatchSecrets bool

	// unrecorded says that the API server drops status.cleanup.
	unrecorded atomic.Bool
}

// work is the state of one reconcile.
type work struct {
	calls.Turn

	access *cosiapi.BucketAccess
	// asked is what the driver is asked for, and order is that for the account
	// once it has an ID.
	asked *cosi.DriverGenerateBucketAccessIdRequest
	order order
	// secrets are the reserved Secrets, in the order of spec.bucketClaims.
	secrets []*corev1.Secret
	// warning is what is wrong with an access that goes on to work all the same.
	warning *conditions.Problem
	// again is why an access that was granted before is granted again; empty is the first time.
	again string
	// wish says that a user may have brought the grant about.
	wish bool
	// response is what the driver granted.
	response *cosi.DriverGrantBucketAccessResponse
}

// Reconcile implements reconcile.Reconciler. What accesses of that name left comes
// before the one that is there: it may be in its way, and what was under way for
// it has ended.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	left, leftErr := r.leftovers(ctx, req)
	result, err := r.present(ctx, req)
	if left > 0 && (result.RequeueAfter == 0 || left < result.RequeueAfter) {
		result.RequeueAfter = left
	}
	return result, errors.Join(leftErr, err)
}

// present reconciles the access that is there.
func (r *Reconciler) present(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	a := &cosiapi.BucketAccess{}
	if err := r.Client.Get(ctx, req.NamespacedName, a); err != nil {
		if apierrors.IsNotFound(err) {
			r.Failures.Forget(req)
			r.Given.Forget(req)
			r.Schedule.Forget(req)
			r.Expiries.Forget(req)
			r.InOrder.Forget(req)
			r.Shares.Leave(req)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("read BucketAccess %q from the cache: %w", req, err)
	}
	if a.Status.AccountID != "" {
		r.Departed.NotGranting(a)
	}
	w := &work{Turn: calls.Turn{Turn: kit.Turn{Req: req, Object: a}, Asks: a.Spec, Info: r.Info()}, access: a}
	defer r.Leave(&w.Turn)
	if !r.concerns(w) {
		return reconcile.Result{}, nil
	}
	steps := r.deprovisioning()
	if a.DeletionTimestamp == nil {
		w.asked = idRequest(a)
		if id := a.Status.AccountID; id != "" {
			w.order = orderOf(w.asked, id, w.Info)
		}
		steps = r.provisioning()
	}
	return kit.Run(ctx, r.Kit.Kit, steps, w)
}

// concerns reports whether there is anything to do for the access here: the
// Controller handed it to our driver, and we have not returned it.
func (r *Reconciler) concerns(w *work) bool {
	a := w.access
	return a.Status.DriverName == w.Info.Name && r.Options.Scope.Includes(a.Namespace) && !a.CleanedUp()
}

// provisioning are the steps for an access that is wanted.
func (r *Reconciler) provisioning() []step.Step[*work] {
	return step.Uninterrupted(r.StepLimit,
		kit.Shared[*work]("seen", r.Seen),
		step.Named("validate", r.validate),
		step.Named("protect", r.protect),
		step.Named("buckets", r.buckets),
		step.Named("known", r.known),
		calls.Shared[*work]("due", r.Due),
		step.Named("share", r.share),
		step.Named("reserve", r.reserve),
		step.Named("settle", r.settle),
		step.Named("reread", r.reread),
		step.BeforeStop(step.Named("identify", r.identify)),
		step.BeforeStop(step.Named("grant", r.grant)),
		step.Named("deliver", r.deliver),
		step.Named("report", r.report),
	)
}

// deprovisioning are the steps for an access that is being deleted.
func (r *Reconciler) deprovisioning() []step.Step[*work] {
	return step.Uninterrupted(r.StepLimit,
		kit.Shared[*work]("seen", r.Seen),
		calls.Shared[*work]("due", r.Due),
		kit.Shared[*work]("reread", r.Reread),
		step.Named("release", r.release),
		step.Named("share", r.share),
		step.BeforeStop(step.Named("know", r.know)),
		step.Named("alone", r.alone),
		step.BeforeStop(step.Named("revoke", r.revoke)),
		step.Named("finish", r.markCleanupFinished),
	)
}
