// SPDX-License-Identifier: Apache-2.0

package reconciler_test

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
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

const resync = 10 * time.Minute

func steps(verdict reconciler.Verdict, err error) []reconciler.Step[int] {
	return []reconciler.Step[int]{reconciler.NewStep("only", func(context.Context, int) (reconciler.Verdict, error) { return verdict, err })}
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
		verdict  reconciler.Verdict
		err      error
		min, max time.Duration // of RequeueAfter
		failed   bool
	}{
		"done comes back at the resync, spread":             {reconciler.Done(), nil, resync, resync * 6 / 5, false},
		"so does a wait":                                    {reconciler.Wait("Bucket"), nil, resync, resync * 6 / 5, false},
		"a wait without a watch is shorter than the resync": {reconciler.WaitAtMost(time.Second, "Secret"), nil, time.Second, time.Second, false},
		"a wait longer than the resync is cut":              {reconciler.WaitAtMost(time.Hour, "Secret"), nil, resync, resync * 6 / 5, false},
		"a conflict is repeated soon and silently":          {reconciler.Verdict{}, conflict(), time.Millisecond, 2 * time.Millisecond, false},
		"a failure is left to the backoff":                  {reconciler.Verdict{}, errors.New("broken"), 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reconciler.NewRunner(reconciler.RunnerOptions{Component: "controller", Kind: metrics.KindBucketClaim, Resync: resync, Backoff: reconciler.BackoffOptions{Base: time.Millisecond, Max: time.Second}})
			got, err := reconciler.RunSteps(t.Context(), r, request(), &cosiapi.BucketClaim{}, steps(tc.verdict, tc.err), 0)
			if (err != nil) != tc.failed {
				t.Errorf("error: %v", err)
			}
			if tc.failed && !strings.Contains(err.Error(), `BucketClaim "team/photos": only: broken`) {
				t.Errorf("the error must name kind, object and step: %v", err)
			}
			// A conflict is not a retry: another writer was just faster.
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
	r := reconciler.NewRunner(reconciler.RunnerOptions{Kind: metrics.KindBucketClaim, Resync: resync, Backoff: reconciler.BackoffOptions{Base: time.Millisecond, Max: time.Second}})
	for name, tc := range map[string]struct {
		verdict reconciler.Verdict
		err     error
		again   bool
	}{
		"a finished object is not reconciled again": {reconciler.Done(), nil, false},
		"a conflict is repeated":                    {reconciler.Verdict{}, conflict(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := reconciler.RunSteps(t.Context(), r.Once(), request(), &cosiapi.BucketClaim{}, steps(tc.verdict, tc.err), 0)
			if err != nil || (got.RequeueAfter > 0) != tc.again {
				t.Errorf("again %v, got %+v, %v", tc.again, got, err)
			}
		})
	}
}

// Conflicts of the steps for orphans are counted, regardless of the other steps for the same request.
func TestSeparateCountsItsOwnConflicts(t *testing.T) {
	t.Parallel()
	recorder := kevents.NewFakeRecorder(10)
	r := reconciler.NewRunner(reconciler.RunnerOptions{Kind: metrics.KindBucketClaim, Events: reconciler.EventRecorder{Events: recorder}})
	separate := r.Separate()
	for range 8 {
		for run, s := range map[*reconciler.Runner][]reconciler.Step[int]{r: steps(reconciler.Done(), nil), separate: steps(reconciler.Verdict{}, conflict())} {
			if _, err := reconciler.RunSteps(t.Context(), run, request(), &cosiapi.BucketClaim{}, s, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := len(recorder.Events); got != 1 {
		t.Errorf("Events about 8 conflicts in a row: want 1, got %d", got)
	}
}

// A persistent API problem causes one Event. Other problems cause none.
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
			r := reconciler.NewRunner(reconciler.RunnerOptions{Kind: metrics.KindBucketClaim, Events: reconciler.EventRecorder{Events: recorder}})
			fail := func() {
				for range 8 {
					if _, err := reconciler.RunSteps(t.Context(), r, request(), &cosiapi.BucketClaim{}, steps(reconciler.Verdict{}, tc.err), 0); err != nil {
						r.Limiter().When(request()) // the queue does this for an error
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
	r := reconciler.NewRunner(reconciler.RunnerOptions{Kind: metrics.KindBucketClaim, Events: reconciler.EventRecorder{Events: recorder}})
	for range 5 {
		for _, s := range [][]reconciler.Step[int]{steps(reconciler.Verdict{}, conflict()), steps(reconciler.Verdict{}, conflict()), steps(reconciler.Done(), nil)} {
			if _, err := reconciler.RunSteps(t.Context(), r, request(), &cosiapi.BucketClaim{}, s, 0); err != nil {
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
		first reconciler.Verdict
		err   error
		ran   []string
		label string // of the metric of the first step
	}{
		"each returns Next":              {reconciler.Next(), nil, []string{"a", "b"}, "next"},
		"a wait ends it":                 {reconciler.Wait("Bucket x"), nil, []string{"a"}, "wait"},
		"done ends it":                   {reconciler.Done(), nil, []string{"a"}, "done"},
		"a failure ends it":              {reconciler.Next(), errBackend, []string{"a"}, "error"},
		"a failure of the API does, too": {reconciler.Next(), conflict(), []string{"a"}, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewPedanticRegistry()
			durations, err := metrics.NewSteps(registry)
			if err != nil {
				t.Fatal(err)
			}
			var ran []string
			named := func(name string, verdict reconciler.Verdict, err error) reconciler.Step[int] {
				return reconciler.NewStep(name, func(context.Context, int) (reconciler.Verdict, error) {
					ran = append(ran, name)
					return verdict, err
				})
			}
			r := reconciler.NewRunner(reconciler.RunnerOptions{Component: "controller", Kind: metrics.KindBucketClaim, Steps: durations})
			_, err = reconciler.RunSteps(t.Context(), r, request(), &cosiapi.BucketClaim{}, []reconciler.Step[int]{named("a", tc.first, tc.err), named("b", reconciler.Next(), nil)}, 0)
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

// observed returns the labels of the measured steps, in order.
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
