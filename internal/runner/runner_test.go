// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kevents "k8s.io/client-go/tools/events"
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
	return []step.Step[int]{step.Func[int]{StepName: "only", Do: func(context.Context, int) (step.Verdict, error) { return verdict, err }}}
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
