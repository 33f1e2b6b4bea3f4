// SPDX-License-Identifier: Apache-2.0

// Package bucketaccess reconciles the BucketAccesses that the Controller handed off to the sidecar of one driver. It
// implements the sidecar's part of KEP-1979, "Generating Bucket Access Credentials" and "Deleting a BucketAccess". A
// reconcile is a list of steps. The decisions are functions without side effects in rules.go and due.go.
//
// The package does not read BucketClaims or classes. It writes no Secrets except those of its own accesses.
package bucketaccess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

// Reconciler reconciles BucketAccesses. All fields are required.
type Reconciler struct {
	scheduling.Caller

	// Secrets writes the access Secrets.
	Secrets Secrets
	// Driver grants and revokes access.
	Driver *driver.Driver
	// Memory holds data about each access that the API does not store.
	Memory *Memory
	// SecretPoll is the interval at which a reconcile that waits for a Secret checks it again.
	SecretPoll time.Duration
	// Regranted counts a repeated grant, by one of the Regrant constants of package metrics.
	Regranted func(reason string)
	// WatchSecrets reports that the cache has the metadata of access Secrets.
	WatchSecrets bool
}

// work is the state of one reconcile.
type work struct {
	scheduling.Attempt

	access *cosiapi.BucketAccess
	// order is the request to the driver.
	order order
	// secrets are the reserved Secrets, in the order of spec.bucketClaims.
	secrets []*corev1.Secret
	// warning is a problem of an access that keeps working.
	warning *conditions.Problem
	// regrant is the reason for a repeated grant; empty for the first grant.
	regrant string
	// keys is the result of rendering the added keys.
	keys keysResult
	// response is the driver's response to the grant.
	response *cosi.DriverGrantBucketAccessResponse
}

// Reconcile implements reconcile.Reconciler. It cleans up orphaned accesses of the name first, because their Secrets
// may block the current access.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	orphanAfter, orphanErr := r.reconcileOrphans(ctx, req)
	result, err := r.reconcilePresent(ctx, req)
	result.RequeueAfter = sooner(result.RequeueAfter, orphanAfter)
	return result, errors.Join(orphanErr, err)
}

// sooner returns the shorter of two times until the next reconcile. Zero means never.
func sooner(a, b time.Duration) time.Duration { return cmp.Or(min(a, b), max(a, b)) }

func (r *Reconciler) reconcilePresent(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	a := &cosiapi.BucketAccess{}
	if err := r.Client.Get(ctx, req.NamespacedName, a); err != nil {
		if apierrors.IsNotFound(err) {
			r.Forget(req)
			if r.Memory.Forget(req) {
				r.Trigger.Enqueue(req)
			}
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("read BucketAccess %q from the cache: %w", req, err)
	}
	if a.Status.AccountID != "" {
		r.Memory.setGranted(req)
	}
	w := newWork(reconciler.Request{Req: req, Object: a}, a, r.Info())
	defer r.Leave(&w.Attempt)
	if !r.responsible(w) {
		return reconcile.Result{}, nil
	}
	steps := r.provisioningSteps()
	if a.DeletionTimestamp != nil {
		r.Memory.setExpiry(req, nil, r.Now()) // its credential is no longer renewed
		steps = r.deletionSteps()
	}
	return reconciler.Run(ctx, r.Base, steps, w)
}

func newWork(request reconciler.Request, a *cosiapi.BucketAccess, info driver.Info) *work {
	attempt := scheduling.Attempt{Request: request, Asks: a.Spec, Rotation: a.Annotations[cosiapi.RotateAnnotation], Info: info}
	return &work{Attempt: attempt, access: a, order: orderOf(a, info)}
}

// countsAgainstBudget reports whether a user may have caused the grant.
func (w *work) countsAgainstBudget() bool { return w.regrant != metrics.RegrantInterval }

// responsible reports whether the Controller handed the access to this driver and its cleanup is not finished.
func (r *Reconciler) responsible(w *work) bool {
	a := w.access
	return a.Status.DriverName == w.Info.Name && r.Options.Scope.Includes(a.Namespace) && !a.CleanedUp()
}

func (r *Reconciler) provisioningSteps() []reconciler.Step[*work] {
	return reconciler.Uninterrupted(r.StepLimit,
		reconciler.SharedStep[*work]("seen", r.Seen),                                        // the cache has this sidecar's last write
		reconciler.NewStep("checkDriver", r.checkDriver),                                    // the driver can serve what was handed off
		reconciler.NewStep("protect", r.protect),                                            // the access has the finalizer
		reconciler.NewStep("checkBuckets", r.checkBuckets),                                  // its Buckets are provisioned and its own
		reconciler.NewStep("skipUnchanged", r.skipUnchanged),                                // ends if nothing changed since the last check
		scheduling.Shared[*work]("awaitRetry", r.AwaitRetry),                                // the backoff of the last failed call has passed
		reconciler.NewStep("awaitShare", r.awaitShare),                                      // a worker is free for this class
		reconciler.NewStep("reserveSecrets", r.reserveSecrets),                              // the Secrets exist and belong to the access
		reconciler.NewStep("checkGrant", r.checkGrant),                                      // ends if the grant is current
		reconciler.NewStep("reread", r.reread),                                              // the API server still has this version
		reconciler.BeforeStop(reconciler.NewStep("generateAccountID", r.generateAccountID)), // phase 1; the ID is stored
		reconciler.BeforeStop(reconciler.NewStep("grant", r.grant)),                         // phase 2
		reconciler.NewStep("writeSecrets", r.writeSecrets),                                  // the Secrets hold the credential
		reconciler.NewStep("reportStatus", r.reportStatus),                                  // the conditions say that it is provisioned
	)
}

func (r *Reconciler) deletionSteps() []reconciler.Step[*work] {
	return reconciler.Uninterrupted(r.StepLimit,
		reconciler.SharedStep[*work]("seen", r.Seen),                  // the cache has this sidecar's last write
		scheduling.Shared[*work]("awaitRetry", r.AwaitRetry),          // the backoff of the last failed call has passed
		reconciler.SharedStep[*work]("reread", r.Reread),              // the API server still has this version
		reconciler.NewStep("deleteSecrets", r.deleteSecrets),          // the Secrets are gone
		reconciler.NewStep("awaitShare", r.awaitShare),                // a worker is free for this class
		reconciler.NewStep("checkKnown", r.checkKnown),                // the account ID is known, if there may be an account
		reconciler.NewStep("checkUnshared", r.checkUnshared),          // no other access uses the account
		reconciler.BeforeStop(reconciler.NewStep("revoke", r.revoke)), // the account is gone
		reconciler.NewStep("finishCleanup", r.finishCleanup),          // the Controller may remove its finalizer
	)
}

// checkDriver ends the reconcile if the hand-off is inconsistent or the driver cannot serve the access.
func (r *Reconciler) checkDriver(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if p := inconsistency(w.access, w.Info); p != nil {
		return reconciler.Wait("a change of the BucketAccess or the driver"), r.reportProblem(ctx, w, p)
	}
	return reconciler.Next(), nil
}

// reportProblem writes a problem to the conditions of the access.
func (r *Reconciler) reportProblem(ctx context.Context, w *work, p *conditions.Problem) error {
	a := w.access
	_, err := r.PatchStatus(ctx, a, func() { p.Report(&a.Status.Conditions, a.Generation) })
	return err
}

// protect adds the finalizer, which the Controller usually has added already, and removes the annotation for a
// finished cleanup. Otherwise an access that was restored from a backup of its deletion would be released without a
// cleanup of its Secrets and account.
func (r *Reconciler) protect(ctx context.Context, w *work) (reconciler.Verdict, error) {
	changed, err := r.Patch(ctx, w.access, func() {
		cosiapi.AddProtection(w.access)
		cosiapi.RemoveAnnotation(w.access, cosiapi.SidecarCleanupFinishedAnnotation)
	})
	w.Fresh = w.Fresh || changed
	return reconciler.Next(), err
}

// checkBuckets checks that every Bucket of the access exists, belongs to its claim and driver, is provisioned and is not
// being deleted. A problem that the cache shows before the first grant is confirmed with the API server. Access to a
// Bucket that only waits for the deletion of its claim is maintained until then.
func (r *Reconciler) checkBuckets(ctx context.Context, w *work) (reconciler.Verdict, error) {
	a := w.access
	for _, accessed := range a.Status.AccessedBuckets {
		p, err := checkBucket(ctx, r.Client, a, accessed)
		if p != nil && err == nil && !provisioned(a) {
			p, err = checkBucket(ctx, r.Live, a, accessed)
		}
		if err != nil {
			return reconciler.Verdict{}, err
		}
		if p == nil {
			continue
		}
		if p.Policy == conditions.Waits {
			r.Events.Inform(a, reconciler.WaitingForBucket, "GrantAccess", p.Message)
		} else {
			r.Events.Warn(a, reconciler.FailedGrantAccess, "GrantAccess", p.Message)
		}
		if p.Policy == conditions.Degrades {
			w.warning = p
			continue
		}
		return reconciler.Wait(fmt.Sprintf("a change of Bucket %q", accessed.BucketName)), r.reportProblem(ctx, w, p)
	}
	return reconciler.Next(), nil
}

// checkBucket returns the problem of one Bucket of an access; nil means that it can be used.
func checkBucket(ctx context.Context, reader client.Reader, a *cosiapi.BucketAccess, accessed cosiapi.AccessedBucket) (*conditions.Problem, error) {
	b := &cosiapi.Bucket{}
	err := reader.Get(ctx, client.ObjectKey{Name: accessed.BucketName}, b)
	if apierrors.IsNotFound(err) {
		return missingBucket(a, accessed.BucketName), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Bucket %q: %w", accessed.BucketName, err)
	}
	return bucketProblem(a, accessed, b), nil
}
