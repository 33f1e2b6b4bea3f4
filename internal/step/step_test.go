// SPDX-License-Identifier: Apache-2.0

package step_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/step"
)

var errBackend = errors.New("backend is down")

func named(name string, verdict step.Verdict, err error) step.Step[*[]string] {
	return step.Func[*[]string]{StepName: name, Do: func(_ context.Context, ran *[]string) (step.Verdict, error) {
		*ran = append(*ran, name)
		return verdict, err
	}}
}

func TestRunner(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		steps   []step.Step[*[]string]
		ran     []string
		verdict string
		after   time.Duration
		err     string
	}{
		"a runner without steps is done": {verdict: "done"},
		"all steps run when each returns Next": {
			steps:   []step.Step[*[]string]{named("a", step.Next(), nil), named("b", step.Next(), nil)},
			ran:     []string{"a", "b"},
			verdict: "next",
		},
		"a wait ends the run without an error": {
			steps:   []step.Step[*[]string]{named("a", step.Wait("Bucket x"), nil), named("b", step.Next(), nil)},
			ran:     []string{"a"},
			verdict: "wait",
		},
		"a bounded wait says when to run again": {
			steps:   []step.Step[*[]string]{named("a", step.WaitAtMost(time.Minute, "Secret s"), nil)},
			ran:     []string{"a"},
			verdict: "wait",
			after:   time.Minute,
		},
		"done ends the run": {
			steps:   []step.Step[*[]string]{named("a", step.Done(), nil), named("b", step.Next(), nil)},
			ran:     []string{"a"},
			verdict: "done",
		},
		"an error ends the run and names its step": {
			steps:   []step.Step[*[]string]{named("a", step.Next(), nil), named("b", step.Next(), errBackend), named("c", step.Next(), nil)},
			ran:     []string{"a", "b"},
			verdict: "next",
			err:     "b: backend is down",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran, observed []string
			runner := step.Runner[*[]string]{Steps: tc.steps, Observe: func(o step.Outcome) { observed = append(observed, o.Step) }}
			outcome, err := runner.Run(t.Context(), &ran)
			if diff := cmp.Diff(tc.ran, ran); diff != "" {
				t.Errorf("steps that ran (-want, +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.ran, observed); diff != "" {
				t.Errorf("steps that were observed (-want, +got):\n%s", diff)
			}
			if got := outcome.Verdict.String(); got != tc.verdict {
				t.Errorf("verdict: want %q, got %q", tc.verdict, got)
			}
			if got := outcome.Verdict.After(); got != tc.after {
				t.Errorf("run again after: want %v, got %v", tc.after, got)
			}
			if (err == nil) != (tc.err == "") || (err != nil && err.Error() != tc.err) {
				t.Errorf("error: want %q, got %v", tc.err, err)
			}
			if err != nil && !errors.Is(err, errBackend) {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}
