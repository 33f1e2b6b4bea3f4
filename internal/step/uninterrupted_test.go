// SPDX-License-Identifier: Apache-2.0

package step_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/step"
)

func TestUninterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var ran []string
	cancels := step.Func[*[]string]{StepName: "cancels", Do: func(ctx context.Context, ran *[]string) (step.Verdict, error) {
		cancel()
		*ran = append(*ran, "cancels")
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the step has no limit")
		}
		return step.Next(), ctx.Err()
	}}
	steps := step.Uninterrupted(time.Minute,
		step.BeforeStop(step.Step[*[]string](cancels)), named("records", step.Next(), nil), step.BeforeStop(named("calls", step.Next(), nil)))
	outcome, err := step.Runner[*[]string]{Steps: steps}.Run(ctx, &ran)
	if err != nil {
		t.Errorf("the step that had begun was interrupted: %v", err)
	}
	if diff := cmp.Diff([]string{"cancels", "records"}, ran); diff != "" {
		t.Errorf("steps that ran (-want, +got):\n%s", diff)
	}
	if !outcome.Verdict.Waits() {
		t.Errorf("verdict: want wait, got %v", outcome.Verdict)
	}
}
