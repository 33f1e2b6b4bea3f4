// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"time"
)

// waitInterval is the poll interval of Until.
const waitInterval = 100 * time.Millisecond

// Until calls check until it returns nil. If ctx ends first, it returns the last error of check, which should
// describe the observed state.
func Until(ctx context.Context, check func(context.Context) error) error {
	return UntilEvery(ctx, waitInterval, check)
}

// UntilEvery is Until with the given poll interval, for expensive checks.
func UntilEvery(ctx context.Context, interval time.Duration, check func(context.Context) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var seen error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		// A check that the end of ctx interrupted is less informative than the previous one.
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
