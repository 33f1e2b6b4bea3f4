// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/internal/metrics"
)

// persistent is the number of consecutive failures after which an API problem is reported as an Event.
const persistent = 5

// RunnerOptions configure the reconciles of one kind.
type RunnerOptions struct {
	// Component is "controller" or "sidecar", for the step metric.
	Component string
	// Kind is one of the Kind constants of package metrics.
	Kind string
	// Resync is the maximum time between two reconciles of an object, before jitter of up to a fifth.
	Resync time.Duration
	// Backoff limits the delay after a failure.
	Backoff BackoffOptions
	// Steps records the duration of each step. Nil disables it.
	Steps *metrics.Steps
	// Events emits Events for persistent API problems.
	Events EventRecorder
	// TracerProvider creates a span for each reconcile and, within it, for each step. Nil means OpenTelemetry's global
	// provider.
	TracerProvider trace.TracerProvider
}

// A Runner keeps the state that outlives a single reconcile: the number of consecutive failures of each object.
type Runner struct {
	options   RunnerOptions
	tracer    trace.Tracer
	failures  workqueue.TypedRateLimiter[reconcile.Request]
	conflicts workqueue.TypedRateLimiter[reconcile.Request]
}

// NewRunner returns a Runner for one kind.
func NewRunner(o RunnerOptions) *Runner {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	tracer := o.TracerProvider.Tracer("github.com/cooper-cosi/cooper/internal/reconciler")
	return &Runner{options: o, tracer: tracer, failures: NewLimiter(o.Backoff), conflicts: NewLimiter(o.Backoff)}
}

// Limiter returns the rate limiter that the controller of this kind must use. The Runner and the controller then count
// the same failures.
func (r *Runner) Limiter() workqueue.TypedRateLimiter[reconcile.Request] { return r.failures }

// Once returns the Runner for an object that does not exist. It does not resync the object, but retries failures and
// conflicts.
func (r *Runner) Once() *Runner {
	once := *r
	once.options.Resync = 0
	return &once
}

// Separate returns a Runner with its own count of conflicts. Use it for steps that run in addition to other steps for
// the same request, so that a success of the other steps does not reset the count.
func (r *Runner) Separate() *Runner {
	separate := *r
	separate.conflicts = NewLimiter(r.options.Backoff)
	return &separate
}

// RunSteps runs the steps for one request. Events refer to obj.
//
// A wait ends the reconcile until a watch event, the resync, or the time limit of the verdict. Conflicts are retried
// without an error in the log, because they only mean that another client wrote first. Every other error is returned,
// to be logged and retried with backoff. Resyncs and retries have a lower priority than changes.
func RunSteps[W any](ctx context.Context, r *Runner, req reconcile.Request, obj client.Object, steps []Step[W], work W) (reconcile.Result, error) {
	ctx, span := r.tracer.Start(ctx, "reconcile "+r.options.Kind, trace.WithAttributes(
		attribute.String("cosi.component", r.options.Component),
		attribute.String("k8s.namespace.name", req.Namespace), attribute.String("cosi.object.name", req.Name)))
	defer span.End()
	last := outcome{verdict: Done()}
	for _, s := range steps {
		if last = run(ctx, r, s, work); last.err != nil || !last.verdict.Goes() {
			break
		}
	}
	last.describe(span)
	logger := log.FromContext(ctx).WithValues("step", last.step)
	switch err := last.err; {
	case err == nil:
		r.conflicts.Forget(req)
		logger.V(1).Info("Reconciled", "verdict", last.verdict.String(), "waitingFor", last.verdict.Reason())
		return reconcile.Result{RequeueAfter: r.next(last.verdict), Priority: ptr.To(handler.LowPriority)}, nil
	case apierrors.IsConflict(err):
		wait := r.conflicts.When(req)
		logger.V(1).Info("Object changed during the reconcile, retrying", "after", wait.String())
		r.report(obj, r.conflicts.NumRequeues(req), err)
		return reconcile.Result{RequeueAfter: wait}, nil
	default:
		r.report(obj, r.failures.NumRequeues(req)+1, err)
		return reconcile.Result{Priority: ptr.To(handler.LowPriority)}, fmt.Errorf("reconcile %s %q: %w", r.options.Kind, strings.TrimPrefix(req.String(), "/"), err)
	}
}

// next returns the time after which the object is reconciled again even if nothing changes.
func (r *Runner) next(v Verdict) time.Duration {
	resync := Jitter(r.options.Resync)
	if after := v.After(); after > 0 && (resync == 0 || after < resync) {
		return after
	}
	return resync
}

// report emits one Event when an API problem turns out to be persistent.
func (r *Runner) report(obj client.Object, failures int, err error) {
	if failures != persistent || apierrors.ReasonForError(err) == "" {
		return
	}
	r.options.Events.Warn(obj, FailedAPICall, "Reconcile",
		fmt.Sprintf("The Kubernetes API refused requests of COSI %d times in a row. COSI retries with backoff. Last error: %v.", failures, err))
}

// An outcome is the result of one step.
type outcome struct {
	step    string
	verdict Verdict
	// err contains the name of the step.
	err error
}

// run runs one step in its own span.
func run[W any](ctx context.Context, r *Runner, s Step[W], work W) outcome {
	ctx, span := r.tracer.Start(ctx, s.Name())
	defer span.End()
	began := time.Now()
	verdict, err := s.Run(ctx, work)
	took, label := time.Since(began), verdict.String()
	if err != nil {
		err, label = fmt.Errorf("%s: %w", s.Name(), err), "error"
	}
	if r.options.Steps != nil {
		r.options.Steps.Ran(r.options.Component, r.options.Kind, s.Name(), label, took)
	}
	o := outcome{step: s.Name(), verdict: verdict, err: err}
	o.describe(span)
	return o
}

// describe records the outcome in a span.
func (o outcome) describe(span trace.Span) {
	span.SetAttributes(attribute.String("cosi.step", o.step), attribute.String("cosi.verdict", o.verdict.String()))
	if reason := o.verdict.Reason(); reason != "" {
		span.SetAttributes(attribute.String("cosi.waiting_for", reason))
	}
	if o.err != nil {
		span.SetStatus(codes.Error, o.err.Error())
	}
}
