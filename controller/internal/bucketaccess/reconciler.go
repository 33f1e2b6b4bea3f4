// SPDX-License-Identifier: Apache-2.0

// Package bucketaccess reconciles BucketAccesses: it checks what a user asks
// for against the class and the claims, hands the access over to the sidecar
// of the driver in one write, and finishes its deletion after the sidecar
// (KEP-1979, "Generating Bucket Access Credentials", "Deleting a
// BucketAccess").
//
// A reconcile is one of the lists of steps below; each step has a file of its
// own. Once an access is handed over, this package writes nothing to it but
// its finalizer, the condition ResourcesValidated, which it shares with the
// sidecar, and what it waits for while no sidecar has said anything. It never
// makes an RPC, and it never writes to a claim: the claim's own reconciler marks
// the claim as in use.
package bucketaccess

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/waits"
	"github.com/cooper-cosi/cooper/internal/kit"
	"github.com/cooper-cosi/cooper/internal/runner"
	"github.com/cooper-cosi/cooper/internal/step"
)

// A Reconciler reconciles BucketAccesses.
type Reconciler struct {
	kit.Kit

	// Waits says what took too long.
	Waits waits.Waits
}

// requested are the steps for an access that no sidecar knows of yet.
func (r *Reconciler) requested() []step.Step[*work] {
	return []step.Step[*work]{
		step.Func[*work]{StepName: "seen", Do: r.seen},       // does the cache hold what we wrote last?
		step.Func[*work]{StepName: "gather", Do: r.gather},   // look up class, claims and Buckets
		step.Func[*work]{StepName: "class", Do: r.class},     // does the class allow what is asked for?
		step.Func[*work]{StepName: "claims", Do: r.claims},   // are the claims there, and there to stay?
		step.Func[*work]{StepName: "protect", Do: r.protect}, // finalizer on the access
		step.Func[*work]{StepName: "marked", Do: r.marked},   // wait until the claims are marked as in use
		step.Func[*work]{StepName: "ready", Do: r.ready},     // do the Buckets offer what is asked for?
		step.Func[*work]{StepName: "handoff", Do: r.handOff}, // all over to the sidecar, in one write
	}
}

// handedOff are the steps for an access that its sidecar serves.
func (r *Reconciler) handedOff() []step.Step[*work] {
	return []step.Step[*work]{
		step.Func[*work]{StepName: "seen", Do: r.seen},
		step.Func[*work]{StepName: "protect", Do: r.protect},
		step.Func[*work]{StepName: "gather", Do: r.gather},
		step.Func[*work]{StepName: "degraded", Do: r.degraded}, // are the claims still what they were?
		step.Func[*work]{StepName: "unserved", Do: r.unserved}, // is there a sidecar to serve it?
	}
}

// terminating are the steps for an access that is being deleted.
func (r *Reconciler) terminating() []step.Step[*work] {
	return []step.Step[*work]{
		step.Func[*work]{StepName: "seen", Do: r.seen},
		step.Func[*work]{StepName: "cleaned", Do: r.cleaned},     // wait for the sidecar, if it ever had the access
		step.Func[*work]{StepName: "unmarked", Do: r.unmarked},   // wait until claims that nobody else uses are unmarked
		step.Func[*work]{StepName: "unprotect", Do: r.unprotect}, // finalizer off the access
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.Options.Scope.Includes(req.Namespace) {
		return reconcile.Result{}, nil
	}
	w := &work{key: req.NamespacedName, access: &cosiapi.BucketAccess{}}
	err := r.Client.Get(ctx, req.NamespacedName, w.access)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read access from the cache: %w", err)
	}
	steps := r.requested()
	switch {
	case !w.access.DeletionTimestamp.IsZero():
		steps = r.terminating()
	case w.access.Status.DriverName != "":
		steps = r.handedOff()
	}
	return runner.Run(ctx, r.Runner, req, w.access, steps, w)
}

// seen waits until the cache holds what we wrote last.
func (r *Reconciler) seen(_ context.Context, w *work) (step.Verdict, error) {
	return r.Seen(w.access), nil
}
