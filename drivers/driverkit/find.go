// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"time"
)

// Find reads a resource. If read does not find it, Find reads again after a third of the lag and at its end, because
// reads of cloud APIs can be stale (ADR 0033). Use Find if a missing resource ends the call, as in a revoke. It is not
// needed before a create, which detects an existing resource anyway. Also use Find before you skip a write because the
// resource seems up to date: let read report an up-to-date resource as missing, so that Find reads it again. With a lag
// of 0, Find reads once.
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

// Reread is Find for a read that reports a missing resource by its error. If the resource is still missing, Reread
// returns that error.
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

// Repeat makes a call. If passes reports that the error may be transient, Repeat makes the call again, up to twice
// within the lag. An example is a deletion that conflicts with something that was not listed yet.
func Repeat(ctx context.Context, lag time.Duration, passes func(error) bool, call func(context.Context) error) error {
	_, err := Reread(ctx, lag, passes, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}
