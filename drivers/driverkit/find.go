// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"time"
)

// Pauses are those between the reads of Find; nil means half a second and a second.
type Pauses []time.Duration

// Find reads again what a read did not find, as often as there are pauses: reads of clouds lag behind their writes, so
// that "missing" is final only when it repeats (ADR 0033). It is for where a call would end at "missing", such as a
// revoke, and not for where something is made then: making it finds out whether it is there.
func Find[T any](ctx context.Context, pauses Pauses, read func(context.Context) (T, bool, error)) (found T, exists bool, err error) {
	if pauses == nil {
		pauses = Pauses{time.Second / 2, time.Second}
	}
	for _, pause := range pauses {
		if found, exists, err = read(ctx); exists || err != nil {
			return found, exists, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return found, false, ctx.Err()
		}
	}
	return read(ctx)
}

// Reread is Find for a read that says by its error what is missing; if it stays so, that is the error.
func Reread[T any](ctx context.Context, pauses Pauses, missing func(error) bool, read func(context.Context) (T, error)) (T, error) {
	var last error
	found, _, err := Find(ctx, pauses, func(ctx context.Context) (found T, exists bool, err error) {
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
