// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"time"
)

// waitInterval is how often Until looks again: often enough that nobody notices, seldom enough for two cores.
const waitInterval = 100 * time.Millisecond

// Until calls check until it returns nil, and returns its last error when ctx ends first. check says in its error
// what it saw instead of what was waited for.
func Until(ctx context.Context, check func(context.Context) error) error {
	return UntilEvery(ctx, waitInterval, check)
}

// UntilEvery is Until with a time between two checks, for those that cost more.
func UntilEvery(ctx context.Context, interval time.Duration, check func(context.Context) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var seen error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		// A check that the end of ctx cut short saw less than the one before.
		if ctx.Err() == nil || seen == nil {
			seen = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", seen, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
