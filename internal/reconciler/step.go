// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"time"
)

// A Step is one named part of a reconcile over work of type T. T is usually a pointer to the state of one reconcile:
// the object and the data read for it so far.
type Step[T any] interface {
	// Name returns the name of the step in logs, metrics and tests. It is constant, short and unique among the steps
	// of a reconcile.
	Name() string
	// Run establishes the step's fact. It is called only if all steps before it returned Next, and must be idempotent.
	// After an error the state of the fact is unknown, and the reconcile is retried with backoff.
	Run(ctx context.Context, work T) (Verdict, error)
}

// NewStep returns a step with the given name that calls the function do.
func NewStep[T any](name string, do func(ctx context.Context, work T) (Verdict, error)) Step[T] {
	return named[T]{name: name, do: do}
}

type named[T any] struct {
	name string
	do   func(ctx context.Context, work T) (Verdict, error)
}

// Name implements Step.
func (n named[T]) Name() string { return n.name }

// Run implements Step.
func (n named[T]) Run(ctx context.Context, work T) (Verdict, error) { return n.do(ctx, work) }

// kind is the kind of a Verdict.
type kind int

const (
	kindNext kind = iota
	kindDone
	kindWait
)

// A Verdict determines how a reconcile continues after a step. The zero value is Next.
type Verdict struct {
	kind   kind
	after  time.Duration
	reason string
}

// Next continues with the next step.
func Next() Verdict { return Verdict{} }

// Done ends the reconcile. Nothing is left to do until the object changes.
func Done() Verdict { return Verdict{kind: kindDone} }

// Wait ends the reconcile until a watch reports a change of the object that reason names. The reason is for humans.
func Wait(reason string) Verdict { return Verdict{kind: kindWait, reason: reason} }

// WaitAtMost is like Wait, for facts that no watch reports, such as a Secret that the component may not list. The
// reconcile runs again after d at the latest.
func WaitAtMost(d time.Duration, reason string) Verdict {
	return Verdict{kind: kindWait, after: d, reason: reason}
}

// Goes reports whether the next step may run.
func (v Verdict) Goes() bool { return v.kind == kindNext }

// Waits reports whether the reconcile waits for another component.
func (v Verdict) Waits() bool { return v.kind == kindWait }

// After returns the maximum time until the next reconcile. Zero means that only a watch event or the resync starts it.
func (v Verdict) After() time.Duration { return v.after }

// Reason returns the reason of a wait. It is empty for Next and Done.
func (v Verdict) Reason() string { return v.reason }

// String returns the verdict as shown in logs and metrics.
func (v Verdict) String() string {
	switch v.kind {
	case kindNext:
		return "next"
	case kindDone:
		return "done"
	case kindWait:
		return "wait"
	default:
		return fmt.Sprintf("kind(%d)", int(v.kind))
	}
}
