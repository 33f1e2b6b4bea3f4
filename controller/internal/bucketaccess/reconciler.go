// SPDX-License-Identifier: Apache-2.0

// Package bucketaccess reconciles BucketAccesses (KEP-1979, "Generating Bucket Access Credentials", "Deleting a
// BucketAccess"). It checks each access against its class and claims, adds the UID of the access to the claims, and
// hands the access off to the sidecar of the driver. After the sidecar's cleanup of a deleted access, it removes the
// UID from the claims and the finalizer from the access.
//
// Each reconcile runs one of the lists of steps below. While an access is handed off, this package writes only the
// finalizer, the condition ResourcesValidated (shared with the sidecar), a missing UID on a claim, and
// status.disallowedBucketAccessModes if an earlier version omitted it. It makes no RPC.
package bucketaccess

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// A Reconciler reconciles BucketAccesses.
type Reconciler struct {
	reconciler.Base

	// Patience is how long an access may wait for its claims before its conditions report it.
	Patience time.Duration
	// DeletionPatience is how long a terminating claim may be in use before the conditions of its accesses report it.
	DeletionPatience time.Duration
}

// provisioning returns the steps for an access that is not handed off yet.
func (r *Reconciler) provisioning() []reconciler.Step[*work] {
	return []reconciler.Step[*work]{
		reconciler.SharedStep[*work]("seen", r.Seen),             // does the cache hold our last write?
		reconciler.NewStep("gather", r.gather),                   // look up class, claims and Buckets
		reconciler.NewStep("checkClass", r.checkClass),           // does the class allow the access?
		reconciler.NewStep("checkClaims", r.checkClaims),         // do the claims exist, and is none being deleted?
		reconciler.NewStep("protect", r.protect),                 // add the finalizer to the access
		reconciler.NewStep("checkBuckets", r.checkBuckets),       // are the Buckets provisioned and suitable?
		reconciler.NewStep("confirmClass", r.confirmClass),       // read the class from the API server
		reconciler.NewStep("referenceClaims", r.referenceClaims), // add the UID to each claim
		reconciler.NewStep("handOff", r.handOff),                 // give all to the sidecar, in one write
	}
}

// handedOff returns the steps for an access that its sidecar serves.
func (r *Reconciler) handedOff() []reconciler.Step[*work] {
	return []reconciler.Step[*work]{
		reconciler.SharedStep[*work]("seen", r.Seen),                 // does the cache hold our last write?
		reconciler.NewStep("protect", r.protect),                     // add the finalizer, if it was removed
		reconciler.NewStep("gather", r.gather),                       // look up claims and Buckets
		reconciler.NewStep("restoreLimits", r.restoreLimits),         // add the disallowed modes, if they are missing
		reconciler.NewStep("reportClaims", r.reportClaims),           // are the claims as they were at the hand-off?
		reconciler.NewStep("restoreReferences", r.restoreReferences), // the UID, if a claim does not have it
	}
}

// deprovisioning returns the steps for an access that is being deleted.
func (r *Reconciler) deprovisioning() []reconciler.Step[*work] {
	return []reconciler.Step[*work]{
		reconciler.SharedStep[*work]("seen", r.Seen),               // does the cache hold our last write?
		reconciler.NewStep("awaitCleanup", r.awaitCleanup),         // wait for the sidecar, if the access was handed off
		reconciler.NewStep("removeReferences", r.removeReferences), // remove the UID from each claim
		reconciler.NewStep("removeFinalizer", r.removeFinalizer),   // remove the finalizer from the access
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.Options.Scope.Includes(req.Namespace) {
		return reconcile.Result{}, nil
	}
	access := &cosiapi.BucketAccess{}
	w := &work{Request: reconciler.Request{Req: req, Object: access}, access: access}
	err := r.Client.Get(ctx, req.NamespacedName, access)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read access from the cache: %w", err)
	}
	steps := r.provisioning()
	switch {
	case !access.DeletionTimestamp.IsZero():
		steps = r.deprovisioning()
	case access.Status.DriverName != "":
		steps = r.handedOff()
	}
	return reconciler.Run(ctx, r.Base, steps, w)
}

// work is the state of one reconcile.
type work struct {
	reconciler.Request

	// access is the access as last read or written.
	access *cosiapi.BucketAccess
	// facts are the objects that the access refers to.
	facts facts
	// protected reports that this reconcile added the finalizer.
	protected bool
	// class is the class from the API server, or nil if protect did not read it.
	class *cosiapi.BucketAccessClass
}

// DriverName implements reconciler.Work.
func (w *work) DriverName() string {
	if w.access.Status.DriverName == "" && w.facts.class != nil {
		return w.facts.class.Spec.DriverName
	}
	return w.access.Status.DriverName
}

// merge changes a condition of the access in memory, unless the sidecar reports something more severe in it.
func (w *work) merge(conditionType string, status metav1.ConditionStatus, reason conditions.Reason, message string) {
	conditions.Merge(&w.access.Status.Conditions, conditions.Change{
		Type: conditionType, Status: status, Reason: reason, Message: message, Generation: w.access.Generation,
	})
}
