// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
)

// A Request is one reconcile of an object.
type Request struct {
	Req reconcile.Request
	// Object is the copy of the object on which the reconcile acts.
	Object client.Object
	// Fresh reports that the API server returned or confirmed this copy.
	Fresh bool
	// Gone reports that the object no longer exists.
	Gone bool
}

func (r *Request) request() *Request { return r }

// SharedStep returns a step that the reconcilers of all kinds share. Their state, W, embeds a Request.
func SharedStep[W interface{ request() *Request }](name string, do func(context.Context, *Request) (Verdict, error)) Step[W] {
	return NewStep(name, func(ctx context.Context, w W) (Verdict, error) { return do(ctx, w.request()) })
}

// Work is the state of a reconcile. It embeds a Request.
type Work interface {
	request() *Request
	// DriverName returns the name of the object's driver, or an empty string if it is not known yet.
	DriverName() string
}

// Run runs the steps of one reconcile and counts a failure.
func Run[W Work](ctx context.Context, b Base, steps []Step[W], w W) (reconcile.Result, error) {
	r, run := w.request(), b.Runner
	if r.Gone {
		run = run.Once()
	}
	result, err := RunSteps(ctx, run, r.Req, r.Object, steps, w)
	if err != nil {
		b.CountFailure(w.DriverName(), r)
	}
	return result, err
}

// CountFailure counts a failed reconcile. The outcome of its operation is then unknown (KEP-1979, "SLIs").
func (b Base) CountFailure(driver string, r *Request) {
	o := metrics.Operation{Driver: driver, Kind: b.Kind, Name: metrics.OperationCreate}
	if r.Gone || r.Object.GetDeletionTimestamp() != nil {
		o.Name = metrics.OperationDelete
	}
	b.Metrics.Reconciled(o, metrics.StatusUnknown)
}

// Seen ensures that the cache contains our last write.
func (b Base) Seen(_ context.Context, r *Request) (Verdict, error) {
	return b.Store.Seen(r.Object), nil
}

// Reread ensures that the cached object is current. If it has changed, a watch event will follow.
func (b Base) Reread(ctx context.Context, r *Request) (Verdict, error) {
	if r.Fresh {
		return Next(), nil
	}
	current, err := b.Current(ctx, r.Object)
	if err != nil || current {
		r.Fresh = current
		return Next(), err
	}
	return Wait("the cache to catch up with the API server"), nil
}

// Finished records the success of an operation that started at the time began.
func (b Base) Finished(driver, operation string, began metav1.Time) {
	o := metrics.Operation{Driver: driver, Kind: b.Kind, Name: operation}
	b.Metrics.Finished(o, b.Now().Sub(began.Time))
	b.Metrics.Reconciled(o, metrics.StatusSucceeded)
}

// Deleted records the success of a deletion that started at the time began. If the object was never provisioned, its
// creation is recorded as canceled.
func (b Base) Deleted(driver string, began metav1.Time, of []metav1.Condition) {
	b.Finished(driver, metrics.OperationDelete, began)
	if !conditions.Is(of, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		b.Metrics.Reconciled(metrics.Operation{Driver: driver, Kind: b.Kind, Name: metrics.OperationCreate}, metrics.StatusCanceled)
	}
}
