// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// TestFind has a read that finds something, or fails, at the read with that number.
func TestFind(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	for name, test := range map[string]struct {
		lag                     time.Duration
		foundAt, failsAt, reads int
		exists                  bool
		err                     error
	}{
		"an existing object is read once":         {1, 1, 0, 1, true, nil},
		"an object that appears later is found":   {1, 3, 0, 3, true, nil},
		"an object that never appears is missing": {1, 4, 0, 3, false, nil},
		"a failure is not read again":             {1, 3, 2, 2, false, failure},
		"without a lag it is read once":           {0, 2, 0, 1, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reads := 0
			read, exists, err := driverkit.Find(t.Context(), test.lag, func(context.Context) (int, bool, error) {
				if reads++; reads == test.failsAt {
					return 0, false, failure
				}
				return reads, reads == test.foundAt, nil
			})
			if reads != test.reads || exists != test.exists || !errors.Is(err, test.err) || exists && read != test.foundAt {
				t.Errorf("after %d reads %d, %v, %v; want %+v", reads, read, exists, err, test)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, exists, err := driverkit.Find(ctx, time.Hour, func(context.Context) (int, bool, error) {
		cancel()
		return 0, false, nil
	})
	if exists || !errors.Is(err, context.Canceled) {
		t.Errorf("when the call ends in the meantime: %v, %v", exists, err)
	}
	missing := errors.New("missing")
	if _, err := driverkit.Reread(t.Context(), 1, func(err error) bool { return errors.Is(err, missing) }, func(context.Context) (int, error) {
		return 0, missing
	}); !errors.Is(err, missing) {
		t.Errorf("what stays missing: %v", err)
	}
}
