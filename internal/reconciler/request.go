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
	// Object is the copy that the reconcile decides by.
	Object client.Object
	// Fresh says that the API accepted a write of this very copy, or has it.
	Fresh bool
	// Gone says that the object does not exist any more.
	Gone bool
}

func (r *Request) request() *Request { return r }

// SharedStep returns a step that the reconcilers of all kinds share: the state of
// each, which is W, embeds a Request.
func SharedStep[W interface{ request() *Request }](name string, do func(context.Context, *Request) (Verdict, error)) Step[W] {
	return NewStep(name, func(ctx context.Context, w W) (Verdict, error) { return do(ctx, w.request()) })
}

// Work is the state of a reconcile; it embeds a Request.
type Work interface {
	request() *Request
	// DriverName is the name of the object's driver, empty as long as that is not known.
	DriverName() string
}

// Run runs the steps of one reconcile, and counts it if it fails.
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

// CountFailure counts a reconcile that failed, so that nothing is known of how
// its operation will end (KEP-1979, "SLIs").
func (b Base) CountFailure(driver string, r *Request) {
	o := metrics.Operation{Driver: driver, Kind: b.Kind, Name: metrics.OperationCreate}
	if r.Gone || r.Object.GetDeletionTimestamp() != nil {
		o.Name = metrics.OperationDelete
	}
	b.Metrics.Reconciled(o, metrics.StatusUnknown)
}

// Seen establishes that the cache holds what we wrote last.
func (b Base) Seen(_ context.Context, r *Request) (Verdict, error) {
	return b.Store.Seen(r.Object), nil
}

// Reread establishes that the object is still what the cache says. If it has
// changed, a watch event is on its way.
func (b Base) Reread(ctx context.Context, r *Request) (Verdict, error) {
	if r.Fresh {
		return Next(), nil
	}
	current, err := b.Current(ctx, r.Object)
	if err != nil || current {
		r.Fresh = current
		return Next(), err
	}
	return Wait("the cache, which is behind the API server"), nil
}

// Finished reports that an operation, which began at that time, succeeded.
func (b Base) Finished(driver, operation string, began metav1.Time) {
	o := metrics.Operation{Driver: driver, Kind: b.Kind, Name: operation}
	b.Metrics.Finished(o, b.Now().Sub(began.Time))
	b.Metrics.Reconciled(o, metrics.StatusSucceeded)
}

// Deleted reports that a deletion, which began at that time, succeeded. An
// object that was never provisioned takes its creation with it.
func (b Base) Deleted(driver string, began metav1.Time, of []metav1.Condition) {
	b.Finished(driver, metrics.OperationDelete, began)
	if !conditions.Is(of, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		b.Metrics.Reconciled(metrics.Operation{Driver: driver, Kind: b.Kind, Name: metrics.OperationCreate}, metrics.StatusCanceled)
	}
}
