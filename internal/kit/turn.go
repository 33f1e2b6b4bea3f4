// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/runner"
	"github.com/cooper-cosi/cooper/internal/step"
)

// A Turn is one reconcile of an object.
type Turn struct {
	Req reconcile.Request
	// Object is the copy that the reconcile decides by.
	Object client.Object
	// Fresh says that the API accepted a write of this very copy, or has it.
	Fresh bool
	// Gone says that the object does not exist any more.
	Gone bool
}

func (t *Turn) turn() *Turn { return t }

// Shared returns a step that the reconcilers of all kinds share: the state of
// each, which is W, embeds a Turn.
func Shared[W interface{ turn() *Turn }](name string, do func(context.Context, *Turn) (step.Verdict, error)) step.Step[W] {
	return step.Named(name, func(ctx context.Context, w W) (step.Verdict, error) { return do(ctx, w.turn()) })
}

// Work is the state of a reconcile; it embeds a Turn.
type Work interface {
	turn() *Turn
	// DriverName is the name of the object's driver, empty as long as that is not known.
	DriverName() string
}

// Run runs the steps of one reconcile, and counts it if it fails.
func Run[W Work](ctx context.Context, k Kit, steps []step.Step[W], w W) (reconcile.Result, error) {
	t, run := w.turn(), k.Runner
	if t.Gone {
		run = run.Once()
	}
	result, err := runner.Run(ctx, run, t.Req, t.Object, steps, w)
	if err != nil {
		k.CountFailure(w.DriverName(), t)
	}
	return result, err
}

// CountFailure counts a reconcile that failed, so that nothing is known of how
// its operation will end (KEP-1979, "SLIs").
func (k Kit) CountFailure(driver string, t *Turn) {
	o := metrics.Operation{Driver: driver, Kind: k.Kind, Name: metrics.OperationCreate}
	if t.Gone || t.Object.GetDeletionTimestamp() != nil {
		o.Name = metrics.OperationDelete
	}
	k.Metrics.Reconciled(o, metrics.StatusUnknown)
}

// Seen establishes that the cache holds what we wrote last.
func (k Kit) Seen(_ context.Context, t *Turn) (step.Verdict, error) {
	return k.Store.Seen(t.Object), nil
}

// Reread establishes that the object is still what the cache says. If it has
// changed, a watch event is on its way.
func (k Kit) Reread(ctx context.Context, t *Turn) (step.Verdict, error) {
	if t.Fresh {
		return step.Next(), nil
	}
	current, err := k.Current(ctx, t.Object)
	if err != nil || current {
		t.Fresh = current
		return step.Next(), err
	}
	return step.Wait("the cache, which is behind the API server"), nil
}

// Finished reports that an operation, which began at that time, succeeded.
func (k Kit) Finished(driver, operation string, began metav1.Time) {
	o := metrics.Operation{Driver: driver, Kind: k.Kind, Name: operation}
	k.Metrics.Finished(o, k.Now().Sub(began.Time))
	k.Metrics.Reconciled(o, metrics.StatusSucceeded)
}

// Deleted reports that a deletion, which began at that time, succeeded. An
// object that was never provisioned takes its creation with it.
func (k Kit) Deleted(driver string, began metav1.Time, of []metav1.Condition) {
	k.Finished(driver, metrics.OperationDelete, began)
	if !conditions.Is(of, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		k.Metrics.Reconciled(metrics.Operation{Driver: driver, Kind: k.Kind, Name: metrics.OperationCreate}, metrics.StatusCanceled)
	}
}
