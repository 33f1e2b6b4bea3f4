// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"time"
)

// A Step is one named part of a reconcile over work of type T. T is usually a
// pointer to the state of one reconcile: the object and what was looked up for
// it so far.
type Step[T any] interface {
	// Name is the name of the step in logs, metrics and tests. It is constant,
	// short and unique among the steps of a reconcile.
	Name() string
	// Run establishes the step's fact. It is called only when all steps before
	// it returned Next, and must be safe to repeat. An error is retried with
	// backoff and means that nothing can be said of the fact.
	Run(ctx context.Context, work T) (Verdict, error)
}

// NewStep returns the step of that name that calls do.
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

// kind is the way a reconcile goes on after a step.
type kind int

const (
	kindNext kind = iota
	kindDone
	kindWait
)

// A Verdict says how a reconcile goes on after a step. The zero value is Next.
type Verdict struct {
	kind   kind
	after  time.Duration
	reason string
}

// Next lets the next step run.
func Next() Verdict { return Verdict{} }

// Done ends the reconcile: nothing is left to do until the object changes.
func Done() Verdict { return Verdict{kind: kindDone} }

// Wait ends the reconcile until a watch reports a change of what reason names.
// The reason is for people: it names the object that is waited for.
func Wait(reason string) Verdict { return Verdict{kind: kindWait, reason: reason} }

// WaitAtMost is Wait for facts that no watch reports, such as a Secret that
// the component may not list: the reconcile runs again after d at the latest.
func WaitAtMost(d time.Duration, reason string) Verdict {
	return Verdict{kind: kindWait, after: d, reason: reason}
}

// Goes reports whether the next step may run.
func (v Verdict) Goes() bool { return v.kind == kindNext }

// Waits reports whether the reconcile waits for somebody else.
func (v Verdict) Waits() bool { return v.kind == kindWait }

// After returns the longest time until the reconcile must run again; zero means
// that only a watch or the resync starts it.
func (v Verdict) After() time.Duration { return v.after }

// Reason returns what is waited for; it is empty for Next and Done.
func (v Verdict) Reason() string { return v.reason }

// String returns the verdict as logs and metrics show it.
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
