// SPDX-License-Identifier: Apache-2.0

// Package bucketclaim reconciles BucketClaims: it gets each claim a Bucket, a
// new one or one that an administrator imported, mirrors what becomes of it,
// and releases it when the claim is deleted (KEP-1979, "Creating a Bucket",
// "Accessing an Existing OSP Bucket", "Deleting a Bucket").
//
// A reconcile is one of the lists of steps below; each step has a file of its
// own. This package is the only writer of BucketClaims. It never makes an RPC
// and never writes the status of a Bucket, which is the sidecar's.
package bucketclaim

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/waits"
	"github.com/cooper-cosi/cooper/internal/kit"
	"github.com/cooper-cosi/cooper/internal/runner"
	"github.com/cooper-cosi/cooper/internal/step"
)

// A Reconciler reconciles BucketClaims.
type Reconciler struct {
	kit.Kit

	// Waits says what took too long.
	Waits waits.Waits
}

// living are the steps for a claim that exists and is not being deleted.
func (r *Reconciler) living() []step.Step[*work] {
	return []step.Step[*work]{
		step.Func[*work]{StepName: "seen", Do: r.seen},             // does the cache hold what we wrote last?
		step.Func[*work]{StepName: "orphans", Do: r.orphans},       // free Buckets of a claim that is gone without a trace
		step.Func[*work]{StepName: "protect", Do: r.protect},       // finalizer on the claim
		step.Func[*work]{StepName: "references", Do: r.references}, // mark the claim while accesses use it
		step.Func[*work]{StepName: "find", Do: r.find},             // look up the Bucket
		step.Func[*work]{StepName: "create", Do: r.create},         // create it, for a claim of a class
		step.Func[*work]{StepName: "match", Do: r.match},           // is it this claim's Bucket?
		step.Func[*work]{StepName: "take", Do: r.take},             // put the claim's UID on an imported Bucket
		step.Func[*work]{StepName: "bind", Do: r.bind},             // put the Bucket's name on the claim
		step.Func[*work]{StepName: "mirror", Do: r.mirror},         // copy what became of the Bucket
	}
}

// terminating are the steps for a claim that is being deleted.
func (r *Reconciler) terminating() []step.Step[*work] {
	return []step.Step[*work]{
		step.Func[*work]{StepName: "seen", Do: r.seen},
		step.Func[*work]{StepName: "orphans", Do: r.orphans},
		step.Func[*work]{StepName: "unused", Do: r.unused},       // wait until no access uses the claim
		step.Func[*work]{StepName: "release", Do: r.release},     // mark the Bucket, delete it if its policy says so
		step.Func[*work]{StepName: "unprotect", Do: r.unprotect}, // finalizer off the claim
	}
}

// absent are the steps for a claim that does not exist.
func (r *Reconciler) absent() []step.Step[*work] {
	return []step.Step[*work]{step.Func[*work]{StepName: "orphans", Do: r.orphans}}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.Options.Scope.Includes(req.Namespace) {
		return reconcile.Result{}, nil
	}
	w := &work{key: req.NamespacedName, claim: &cosiapi.BucketClaim{}}
	err := r.Client.Get(ctx, req.NamespacedName, w.claim)
	if apierrors.IsNotFound(err) {
		w.claim = &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
		return runner.Run(ctx, r.Runner.Once(), req, w.claim, r.absent(), w)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read claim from the cache: %w", err)
	}
	steps := r.living()
	if !w.claim.DeletionTimestamp.IsZero() {
		steps = r.terminating()
	}
	return runner.Run(ctx, r.Runner, req, w.claim, steps, w)
}

// seen waits until the cache holds what we wrote last.
func (r *Reconciler) seen(_ context.Context, w *work) (step.Verdict, error) {
	return r.Seen(w.claim), nil
}
