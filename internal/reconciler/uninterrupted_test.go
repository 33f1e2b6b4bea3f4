// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/reconciler"
)

func TestUninterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var ran []string
	named := func(name string) reconciler.Step[int] {
		return reconciler.NewStep(name, func(ctx context.Context, _ int) (reconciler.Verdict, error) {
			cancel()
			ran = append(ran, name)
			if _, limited := ctx.Deadline(); !limited {
				t.Errorf("%s has no limit", name)
			}
			return reconciler.Next(), ctx.Err()
		})
	}
	var last reconciler.Verdict
	for _, s := range reconciler.Uninterrupted(time.Minute, reconciler.BeforeStop(named("cancels")), named("records"), reconciler.BeforeStop(named("calls"))) {
		var err error
		if last, err = s.Run(ctx, 0); err != nil {
			t.Errorf("%s, which had begun, was interrupted: %v", s.Name(), err)
		}
	}
	if diff := cmp.Diff([]string{"cancels", "records"}, ran); diff != "" {
		t.Errorf("steps that ran (-want, +got):\n%s", diff)
	}
	if !last.Waits() {
		t.Errorf("verdict: want wait, got %v", last)
	}
}
