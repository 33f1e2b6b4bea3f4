// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"time"
)

// Find reads again, twice within the lag, what a read did not find: reads of clouds lag behind their writes, so that
// "missing" is final only when it repeats (ADR 0033). It is for where a call would end at "missing", such as a revoke,
// and not for where something is made then: making it finds out whether it is there. In the same way it is for where a
// write would be left out, since all is said to be as it should be: read then returns whether something is to be written.
// Without a lag it reads once.
func Find[T any](ctx context.Context, lag time.Duration, read func(context.Context) (T, bool, error)) (found T, exists bool, err error) {
	found, exists, err = read(ctx)
	for _, pause := range []time.Duration{lag / 3, lag - lag/3} {
		if exists || err != nil || lag == 0 {
			break
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return found, false, ctx.Err()
		}
		found, exists, err = read(ctx)
	}
	return found, exists, err
}

// Reread is Find for a read that says by its error what is missing; if it stays so, that is the error.
func Reread[T any](ctx context.Context, lag time.Duration, missing func(error) bool, read func(context.Context) (T, error)) (T, error) {
	var last error
	found, _, err := Find(ctx, lag, func(ctx context.Context) (found T, exists bool, err error) {
		if found, last = read(ctx); missing(last) {
			return found, false, nil
		}
		return found, true, last
	})
	if err != nil {
		return found, err
	}
	return found, last
}

// Repeat calls again, twice within the lag, what passes may pass over: a deletion, for example, that meets what was not
// listed.
func Repeat(ctx context.Context, lag time.Duration, passes func(error) bool, call func(context.Context) error) error {
	_, err := Reread(ctx, lag, passes, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}
