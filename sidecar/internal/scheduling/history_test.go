// SPDX-License-Identifier: Apache-2.0

package scheduling_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	before := scheduling.State{Object: "o1", Driver: 1}
	retryable := &driver.Failure{}
	terminal := &driver.Failure{Outcome: cosi.Outcome{Disposition: cosi.Terminal}}
	untilReconnect := &driver.Failure{Outcome: cosi.Outcome{Disposition: cosi.Terminal, UntilReconnect: true}}
	for name, tc := range map[string]struct {
		failure  *driver.Failure
		now      scheduling.State
		min, max time.Duration
	}{
		"a retryable failure waits for its backoff":            {retryable, before, 59 * time.Minute, 72 * time.Minute},
		"a terminal failure waits for the resync":              {terminal, before, 119 * time.Minute, 144 * time.Minute},
		"an unimplemented call waits for a change only":        {untilReconnect, before, scheduling.Forever, scheduling.Forever},
		"a change of the object allows the call":               {untilReconnect, scheduling.State{Object: "o2", Driver: 1}, 0, 0},
		"a driver that reconnected allows the call":            {untilReconnect, scheduling.State{Object: "o1", Driver: 2}, 0, 0},
		"a rotation does not end a backoff":                    {retryable, scheduling.State{Object: "o1", Driver: 1, Rotation: "r"}, 59 * time.Minute, 72 * time.Minute},
		"a rotation after a refusal waits as after a failure":  {terminal, scheduling.State{Object: "o1", Driver: 1, Rotation: "r"}, 59 * time.Minute, 72 * time.Minute},
		"a change allows the call after a retryable one, also": {retryable, scheduling.State{Object: "o1", Driver: 2}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history := scheduling.NewHistory(reconciler.BackoffOptions{Base: time.Hour, Max: time.Hour}, 2*time.Hour)
			history.NoteFailure(request("a"), before, tc.failure)
			if got := history.Wait(request("a"), tc.now); got < tc.min || got > tc.max {
				t.Errorf("wait: want between %v and %v, got %v", tc.min, tc.max, got)
			}
			if got := history.Wait(request("b"), before); got != 0 {
				t.Errorf("another object waits: %v", got)
			}
		})
	}
}

func TestForgottenFailureStartsBackoffAgain(t *testing.T) {
	t.Parallel()
	history := scheduling.NewHistory(reconciler.BackoffOptions{Base: time.Hour, Max: 100 * time.Hour}, 0)
	state := scheduling.State{Object: "o"}
	for range 5 {
		history.NoteFailure(request("a"), state, &driver.Failure{})
	}
	history.Succeeded(request("a"))
	if got := history.Wait(request("a"), state); got != 0 {
		t.Errorf("an object without a failure waits: %v", got)
	}
	if got := history.NoteFailure(request("a"), state, &driver.Failure{}); got > 2*time.Hour {
		t.Errorf("the first wait after a success: want at most 2h, got %v", got)
	}
}

func TestReserveID(t *testing.T) {
	t.Parallel()
	first, second := request("first"), request("second")
	for name, tc := range map[string]struct {
		before func(*scheduling.History)
		want   bool
	}{
		"no object has the ID":                {func(*scheduling.History) {}, true},
		"another object has it":               {func(h *scheduling.History) { h.ReserveID(first, "x") }, false},
		"the object has it already":           {func(h *scheduling.History) { h.ReserveID(second, "x") }, true},
		"the object that had it was deleted":  {func(h *scheduling.History) { h.ReserveID(first, "x"); h.Forget(first) }, true},
		"a call for the owner succeeded":      {func(h *scheduling.History) { h.ReserveID(first, "x"); h.Succeeded(first) }, false},
		"the object that had it has another":  {func(h *scheduling.History) { h.ReserveID(first, "x"); h.ReserveID(first, "y") }, true},
		"an object without an ID was deleted": {func(h *scheduling.History) { h.ReserveID(first, "x"); h.Forget(second) }, false},
		"the ID was refused for the object":   {func(h *scheduling.History) { h.ReserveID(first, "x"); h.ReserveID(second, "x") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history := scheduling.NewHistory(reconciler.BackoffOptions{}, 0)
			tc.before(history)
			if got := history.ReserveID(second, "x"); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	object := func(change func(*cosiapi.Bucket)) string {
		b := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1, Annotations: map[string]string{"a": "1"}}}
		change(b)
		return scheduling.Fingerprint(b, b.Spec)
	}
	same := object(func(*cosiapi.Bucket) {})
	for name, tc := range map[string]struct {
		change func(*cosiapi.Bucket)
		differ bool
	}{
		"the status does not count":       {func(b *cosiapi.Bucket) { b.Status.BucketID = "id"; b.ResourceVersion = "7" }, false},
		"a finalizer does not count":      {func(b *cosiapi.Bucket) { b.Finalizers = []string{"f"} }, false},
		"a label does not count":          {func(b *cosiapi.Bucket) { b.Labels = map[string]string{"a": "2"} }, false},
		"another spec counts":             {func(b *cosiapi.Bucket) { b.Spec.DriverName = "other" }, true},
		"fields that are not sent do not": {func(b *cosiapi.Bucket) { b.Generation = 2 }, false},
		"an annotation does not count":    {func(b *cosiapi.Bucket) { b.Annotations["a"] = "2" }, false},
		"a deletion counts":               {func(b *cosiapi.Bucket) { b.DeletionTimestamp = &metav1.Time{} }, true},
		"an object of equal name counts":  {func(b *cosiapi.Bucket) { b.UID = "v" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := object(tc.change) != same; got != tc.differ {
				t.Errorf("differs: want %v, got %v", tc.differ, got)
			}
		})
	}
}
