// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/backoff"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/runner"
	"github.com/cooper-cosi/cooper/internal/step"
)

const resync = 10 * time.Minute

func steps(verdict step.Verdict, err error) []step.Step[int] {
	return []step.Step[int]{step.Named("only", func(context.Context, int) (step.Verdict, error) { return verdict, err })}
}

func request() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "photos"}}
}

func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Group: cosiapi.GroupName, Resource: "bucketclaims"}, "photos", errors.New("changed"))
}

func TestRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		verdict  step.Verdict
		err      error
		min, max time.Duration // of RequeueAfter
		failed   bool
	}{
		"done comes back at the resync, spread":      {step.Done(), nil, resync, resync * 6 / 5, false},
		"so does a wait":                             {step.Wait("Bucket"), nil, resync, resync * 6 / 5, false},
		"a wait for what no watch sees comes sooner": {step.WaitAtMost(time.Second, "Secret"), nil, time.Second, time.Second, false},
		"a wait longer than the resync is cut":       {step.WaitAtMost(time.Hour, "Secret"), nil, resync, resync * 6 / 5, false},
		"a conflict is repeated soon and silently":   {step.Verdict{}, conflict(), time.Millisecond, 2 * time.Millisecond, false},
		"a failure is left to the backoff":           {step.Verdict{}, errors.New("broken"), 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runner.New(runner.Options{Component: "controller", Kind: metrics.KindBucketClaim, Resync: resync, Backoff: backoff.Options{Base: time.Millisecond, Max: time.Second}})
			got, err := runner.Run(t.Context(), r, request(), &cosiapi.BucketClaim{}, steps(tc.verdict, tc.err), 0)
			if (err != nil) != tc.failed {
				t.Errorf("error: %v", err)
			}
			if tc.failed && !strings.Contains(err.Error(), `BucketClaim "team/photos": only: broken`) {
				t.Errorf("the error must name kind, object and step: %v", err)
			}
			// A conflict is no retry: somebody else was merely faster.
			if late := got.Priority != nil && *got.Priority == handler.LowPriority; late == apierrors.IsConflict(tc.err) {
				t.Errorf("comes after all that has changed: got %v", late)
			}
			if got.RequeueAfter < tc.min || got.RequeueAfter > tc.max {
				t.Errorf("RequeueAfter: want %v to %v, got %v", tc.min, tc.max, got.RequeueAfter)
			}
		})
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	r := runner.New(runner.Options{Kind: metrics.KindBucketClaim, Resync: resync, Backoff: backoff.Options{Base: time.Millisecond, Max: time.Second}})
	for name, tc := range map[string]struct {
		verdict step.Verdict
		err     error
		again   bool
	}{
		"what is in order is not looked at again": {step.Done(), nil, false},
		"a conflict is repeated":                  {step.Verdict{}, conflict(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := runner.Run(t.Context(), r.Once(), request(), &cosiapi.BucketClaim{}, steps(tc.verdict, tc.err), 0)
			if err != nil || (got.RequeueAfter > 0) != tc.again {
				t.Errorf("again %v, got %+v, %v", tc.again, got, err)
			}
		})
	}
}

// Conflicts of the steps for orphans are counted, whatever becomes of the other steps for the same request.
func TestSeparateCountsItsOwnConflicts(t *testing.T) {
	t.Parallel()
	recorder := kevents.NewFakeRecorder(10)
	r := runner.New(runner.Options{Kind: metrics.KindBucketClaim, Events: events.Recorder{Events: recorder}})
	separate := r.Separate()
	for range 8 {
		for run, s := range map[*runner.Runner][]step.Step[int]{r: steps(step.Done(), nil), separate: steps(step.Verdict{}, conflict())} {
			if _, err := runner.Run(t.Context(), run, request(), &cosiapi.BucketClaim{}, s, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := len(recorder.Events); got != 1 {
		t.Errorf("Events about 8 conflicts in a row: want 1, got %d", got)
	}
}

// A persistent API problem is one Event, and no other problem is.
func TestPersistentAPIProblemIsReportedOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"conflict":                        {conflict(), 1},
		"too many requests":               {apierrors.NewTooManyRequests("slow down", 1), 1},
		"internal error":                  {apierrors.NewInternalError(errors.New("etcd")), 1},
		"a failure that is not the API's": {errors.New("driver"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := kevents.NewFakeRecorder(10)
			r := runner.New(runner.Options{Kind: metrics.KindBucketClaim, Events: events.Recorder{Events: recorder}})
			fail := func() {
				for range 8 {
					if _, err := runner.Run(t.Context(), r, request(), &cosiapi.BucketClaim{}, steps(step.Verdict{}, tc.err), 0); err != nil {
						r.Limiter().When(request()) // as the queue does for an error
					}
				}
			}
			fail()
			if got := len(recorder.Events); got != tc.want {
				t.Errorf("Events: want %d, got %d", tc.want, got)
			}
		})
	}
}

func TestSuccessStartsCountAgain(t *testing.T) {
	t.Parallel()
	recorder := kevents.NewFakeRecorder(10)
	r := runner.New(runner.Options{Kind: metrics.KindBucketClaim, Events: events.Recorder{Events: recorder}})
	for range 5 {
		for _, s := range [][]step.Step[int]{steps(step.Verdict{}, conflict()), steps(step.Verdict{}, conflict()), steps(step.Done(), nil)} {
			if _, err := runner.Run(t.Context(), r, request(), &cosiapi.BucketClaim{}, s, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := len(recorder.Events); got != 0 {
		t.Errorf("Events: want none, got %d", got)
	}
}

func TestStepsRunInOrderUntilOneEndsTheReconcile(t *testing.T) {
	t.Parallel()
	errBackend := errors.New("backend is down")
	for name, tc := range map[string]struct {
		first step.Verdict
		err   error
		ran   []string
		label string // of the metric of the first step
	}{
		"each returns Next":              {step.Next(), nil, []string{"a", "b"}, "next"},
		"a wait ends it":                 {step.Wait("Bucket x"), nil, []string{"a"}, "wait"},
		"done ends it":                   {step.Done(), nil, []string{"a"}, "done"},
		"a failure ends it":              {step.Next(), errBackend, []string{"a"}, "error"},
		"a failure of the API does, too": {step.Next(), conflict(), []string{"a"}, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewPedanticRegistry()
			durations, err := metrics.NewSteps(registry)
			if err != nil {
				t.Fatal(err)
			}
			var ran []string
			named := func(name string, verdict step.Verdict, err error) step.Step[int] {
				return step.Named(name, func(context.Context, int) (step.Verdict, error) {
					ran = append(ran, name)
					return verdict, err
				})
			}
			r := runner.New(runner.Options{Component: "controller", Kind: metrics.KindBucketClaim, Steps: durations})
			_, err = runner.Run(t.Context(), r, request(), &cosiapi.BucketClaim{}, []step.Step[int]{named("a", tc.first, tc.err), named("b", step.Next(), nil)}, 0)
			if errors.Is(tc.err, errBackend) != errors.Is(err, errBackend) {
				t.Errorf("the cause is lost: %v", err)
			}
			if diff := cmp.Diff(tc.ran, ran); diff != "" {
				t.Errorf("steps that ran (-want, +got):\n%s", diff)
			}
			want := "controller BucketClaim a " + tc.label
			if got := observed(t, registry); len(got) != len(tc.ran) || got[0] != want {
				t.Errorf("observed: want %q first of %d, got %q", want, len(tc.ran), got)
			}
		})
	}
}

// observed returns the labels of the steps that were measured, in order.
func observed(t *testing.T, registry *prometheus.Registry) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, m := range families[0].GetMetric() {
		label := map[string]string{}
		for _, l := range m.GetLabel() {
			label[l.GetName()] = l.GetValue()
		}
		steps = append(steps, strings.Join([]string{label["component"], label["resource_kind"], label["step"], label["verdict"]}, " "))
	}
	return steps
}
