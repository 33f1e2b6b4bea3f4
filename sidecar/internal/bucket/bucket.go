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
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/runner"
	"github.com/cooper-cosi/cooper/internal/scope"
	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/attempts"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
	"github.com/cooper-cosi/cooper/sidecar/internal/objects"
	"github.com/cooper-cosi/cooper/sidecar/internal/wake"
)

// Provisioner is the part of a driver that makes and removes buckets. Its
// errors are *driver.Failure.
type Provisioner interface {
	GenerateBucketID(ctx context.Context, request *cosi.DriverGenerateBucketIdRequest) (string, error)
	CreateBucket(ctx context.Context, request *cosi.DriverCreateBucketRequest) (*cosi.ObjectProtocolAndBucketInfo, error)
	GetBucket(ctx context.Context, request *cosi.DriverGetBucketRequest) (*cosi.ObjectProtocolAndBucketInfo, error)
	DeleteBucket(ctx context.Context, request *cosi.DriverDeleteBucketRequest) error
}

// Reconciler reconciles Buckets. All fields are required.
type Reconciler struct {
	// Cache reads Buckets from the sidecar's cache.
	Cache client.Reader
	// Buckets writes them, and reads them past the cache.
	Buckets objects.Store
	// Driver makes and removes the backend buckets; Info is its latest answer
	// to DriverGetInfo.
	Driver Provisioner
	Info   func() driver.Info
	// Scope limits the work to the claims of some namespaces.
	Scope scope.Scope
	// InFlight holds the IDs that calls are running for.
	InFlight *inflight.Keys
	// Attempts holds the calls that failed.
	Attempts *attempts.Ledger
	// Bell starts a reconcile when an ID becomes free.
	Bell *wake.Bell
	// Runner runs the steps.
	Runner *runner.Runner
	// Events and Metrics get what happened.
	Events  events.Recorder
	Metrics *metrics.Controller
	// Now is the clock.
	Now func() time.Time
	// StepLimit bounds a step; it must be longer than the deadline of a call.
	StepLimit time.Duration
}

// work is the state of one reconcile.
type work struct {
	req    reconcile.Request
	bucket *cosiapi.Bucket
	info   driver.Info
	// fresh says that the API accepted a write of this very copy.
	fresh bool
	// answer is what the driver said of the provisioned bucket.
	answer *cosi.ObjectProtocolAndBucketInfo
}

func (w *work) state() attempts.State {
	return attempts.State{Object: attempts.Fingerprint(w.bucket), Driver: w.info.Epoch}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	b := &cosiapi.Bucket{}
	if err := r.Cache.Get(ctx, req.NamespacedName, b); err != nil {
		if apierrors.IsNotFound(err) {
			r.Attempts.Clear(req)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("read Bucket %s: %w", req.Name, err)
	}
	w := &work{req: req, bucket: b, info: r.Info()}
	if b.Spec.DriverName != w.info.Name || !r.Scope.Includes(b.Spec.BucketClaimRef.Namespace) {
		return reconcile.Result{}, nil
	}
	steps := r.provisioning(b)
	if fateOf(b) != provision {
		steps = r.deprovisioning()
	}
	return runner.Run(ctx, r.Runner, req, b, steps, w)
}

// provisioning are the steps for a Bucket that is wanted: its bucket is created,
// or verified if an administrator imports it. Nothing that does not begin any
// more when the sidecar stops may stand between that call and its report.
func (r *Reconciler) provisioning(b *cosiapi.Bucket) []step.Step[*work] {
	obtain := named("create", r.create)
	if b.Spec.ExistingBucketID != "" {
		obtain = named("verify", r.verify)
	}
	return step.Uninterrupted(r.StepLimit,
		named("seen", r.seen),
		named("validate", r.validate),
		named("protect", r.protect),
		named("attempt", r.attempt),
		step.BeforeStop(named("identify", r.identify)),
		step.BeforeStop(obtain),
		named("report", r.report),
	)
}

// deprovisioning are the steps for a Bucket whose claim is gone, or which is
// being deleted.
func (r *Reconciler) deprovisioning() []step.Step[*work] {
	return step.Uninterrupted(r.StepLimit,
		named("seen", r.seen),
		named("reread", r.reread),
		named("hold", r.hold),
		named("attempt", r.attempt),
		step.BeforeStop(named("delete", r.delete)),
		named("unprotect", r.unprotect),
	)
}

// seen waits until the cache holds what we wrote last.
func (r *Reconciler) seen(_ context.Context, w *work) (step.Verdict, error) {
	if r.Buckets.Written.Seen(w.bucket) {
		return step.Next(), nil
	}
	return step.Wait("the cache, which is behind our own write"), nil
}

func named(name string, do func(context.Context, *work) (step.Verdict, error)) step.Step[*work] {
	return step.Func[*work]{StepName: name, Do: do}
}
