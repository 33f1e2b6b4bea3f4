// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"time"
)

// Uninterrupted returns steps that run to their end once started, even if the context is cancelled, for at most limit
// each. A component that shuts down can therefore record all outcomes for its successor. Steps wrapped with BeforeStop
// are not started after the cancellation.
func Uninterrupted[T any](limit time.Duration, steps ...Step[T]) []Step[T] {
	wrapped := make([]Step[T], len(steps))
	for i, s := range steps {
		wrapped[i] = uninterrupted[T]{Step: s, limit: limit}
	}
	return wrapped
}

// BeforeStop returns a step that does not start once the component shuts down. Use it for steps that start a long
// operation, such as an RPC. It has an effect only within Uninterrupted.
func BeforeStop[T any](s Step[T]) Step[T] { return beforeStop[T]{Step: s} }

type beforeStop[T any] struct{ Step[T] }

type uninterrupted[T any] struct {
	Step[T]

	limit time.Duration
}

// Run implements Step.
func (u uninterrupted[T]) Run(ctx context.Context, work T) (Verdict, error) {
	if _, long := u.Step.(beforeStop[T]); long && ctx.Err() != nil {
		return Wait("the next leader, because this process is stopping"), nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), u.limit)
	defer cancel()
	return u.Step.Run(ctx, work)
}
