// SPDX-License-Identifier: Apache-2.0

// Package bucket reconciles the Buckets of one driver (KEP-1979, "Creating a
// Bucket", "Accessing an Existing OSP Bucket" and "Deleting a Bucket", the
// sidecar's part). A reconcile is a list of steps, one in each file; what they
// decide stands in rules.go.
//
// It must not read BucketClaims or classes, and never deletes a Bucket object.
package bucket

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/kit"
	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/calls"
)

// Provisioner is the part of a driver that makes and removes buckets. Its
// errors are *driver.Failure.
type Provisioner interface {
	GenerateBucketID(ctx context.Context, request *cosi.DriverGenerateBucketIdRequest) (string, error)
	CreateBucket(ctx context.Context, request *cosi.DriverCreateBucketRequest) (string, *cosi.ObjectProtocolAndBucketInfo, error)
	GetBucket(ctx context.Context, request *cosi.DriverGetBucketRequest) (*cosi.ObjectProtocolAndBucketInfo, error)
	DeleteBucket(ctx context.Context, request *cosi.DriverDeleteBucketRequest) error
}

// Reconciler reconciles Buckets. All fields are required.
type Reconciler struct {
	calls.Kit

	// Driver makes and removes the backend buckets.
	Driver Provisioner
}

// work is the state of one reconcile.
type work struct {
	calls.Turn

	bucket *cosiapi.Bucket
	// response is what the driver said of the provisioned bucket.
	response *cosi.ObjectProtocolAndBucketInfo
	// none says that the driver was asked for the bucket, and has none.
	none bool
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	b := &cosiapi.Bucket{}
	if err := r.Client.Get(ctx, req.NamespacedName, b); err != nil {
		if apierrors.IsNotFound(err) {
			r.Failures.Forget(req)
			r.Given.Forget(req)
			r.Shares.Leave(req)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("read Bucket %q from the cache: %w", req.Name, err)
	}
	w := &work{Turn: calls.Turn{Turn: kit.Turn{Req: req, Object: b}, Asks: another(b), Info: r.Info()}, bucket: b}
	defer r.Leave(&w.Turn)
	if b.Spec.DriverName != w.Info.Name || !r.Options.Scope.Includes(b.Spec.BucketClaimRef.Namespace) {
		return reconcile.Result{}, nil
	}
	var steps []step.Step[*work]
	switch planOf(b) {
	case provision:
		steps = r.provisioning(b)
	case retain: // until somebody deletes it, which a watch tells
	default:
		steps = r.deprovisioning()
	}
	return kit.Run(ctx, r.Kit.Kit, steps, w)
}

// provisioning are the steps for a Bucket that is wanted: its bucket is created,
// or verified if an administrator imports it or others made it. No step wrapped in BeforeStop may
// stand between that call and its report.
func (r *Reconciler) provisioning(b *cosiapi.Bucket) []step.Step[*work] {
	obtain := step.Named("create", r.create)
	if b.Spec.ExistingBucketID != "" || adopted(b) {
		obtain = step.Named("verify", r.verify)
	}
	return step.Uninterrupted(r.StepLimit,
		kit.Shared[*work]("seen", r.Seen),
		step.Named("validate", r.validate),
		step.Named("protect", r.protect),
		step.Named("due", r.due),
		step.Named("share", r.share),
		step.Named("reread", r.reread),
		step.BeforeStop(step.Named("identify", r.identify)),
		step.BeforeStop(obtain),
		step.Named("report", r.report),
	)
}

// deprovisioning are the steps for a Bucket that is being deleted.
func (r *Reconciler) deprovisioning() []step.Step[*work] {
	return step.Uninterrupted(r.StepLimit,
		kit.Shared[*work]("seen", r.Seen),
		calls.Shared[*work]("due", r.Due),
		step.Named("share", r.share),
		kit.Shared[*work]("reread", r.Reread),
		step.Named("hold", r.hold),
		step.BeforeStop(step.Named("know", r.know)),
		step.Named("alone", r.alone),
		step.BeforeStop(step.Named("delete", r.delete)),
		step.Named("unprotect", r.unprotect),
	)
}
