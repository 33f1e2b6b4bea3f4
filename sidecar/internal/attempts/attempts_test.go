// SPDX-License-Identifier: Apache-2.0

package attempts_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/backoff"
	"github.com/cooper-cosi/cooper/sidecar/internal/attempts"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	before := attempts.State{Object: "o1", Driver: 1}
	for name, tc := range map[string]struct {
		failure  attempts.Failure
		now      attempts.State
		min, max time.Duration
	}{
		"a retryable failure waits for its backoff":            {attempts.Failure{}, before, 59 * time.Minute, 72 * time.Minute},
		"a terminal failure waits for the resync":              {attempts.Failure{Terminal: true}, before, 119 * time.Minute, 144 * time.Minute},
		"an unimplemented call waits for a change only":        {attempts.Failure{Terminal: true, UntilReconnect: true}, before, attempts.Forever, attempts.Forever},
		"a change of the object allows the call":               {attempts.Failure{Terminal: true, UntilReconnect: true}, attempts.State{Object: "o2", Driver: 1}, 0, 0},
		"a driver that reconnected allows the call":            {attempts.Failure{Terminal: true, UntilReconnect: true}, attempts.State{Object: "o1", Driver: 2}, 0, 0},
		"a change allows the call after a retryable one, also": {attempts.Failure{}, attempts.State{Object: "o1", Driver: 2}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger := attempts.NewLedger(attempts.Options{Resync: 2 * time.Hour, Backoff: backoff.Options{Base: time.Hour, Max: time.Hour}})
			ledger.Failed(request("a"), before, tc.failure)
			if got := ledger.Wait(request("a"), tc.now); got < tc.min || got > tc.max {
				t.Errorf("wait: want between %v and %v, got %v", tc.min, tc.max, got)
			}
			if got := ledger.Wait(request("b"), before); got != 0 {
				t.Errorf("another object waits: %v", got)
			}
		})
	}
}

func TestLedger_Clear_starts_the_backoff_anew(t *testing.T) {
	t.Parallel()
	ledger := attempts.NewLedger(attempts.Options{Backoff: backoff.Options{Base: time.Hour, Max: 100 * time.Hour}})
	state := attempts.State{Object: "o"}
	for range 5 {
		ledger.Failed(request("a"), state, attempts.Failure{})
	}
	ledger.Clear(request("a"))
	if got := ledger.Wait(request("a"), state); got != 0 {
		t.Errorf("a cleared object waits: %v", got)
	}
	if got := ledger.Failed(request("a"), state, attempts.Failure{}); got > 2*time.Hour {
		t.Errorf("the first wait after a success: want at most 2h, got %v", got)
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	object := func(change func(*cosiapi.Bucket)) string {
		b := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1, Annotations: map[string]string{"a": "1"}}}
		change(b)
		return attempts.Fingerprint(b, b.Spec)
	}
	same := object(func(*cosiapi.Bucket) {})
	for name, tc := range map[string]struct {
		change func(*cosiapi.Bucket)
		differ bool
	}{
		"the status does not count":      {func(b *cosiapi.Bucket) { b.Status.BucketID = "id"; b.ResourceVersion = "7" }, false},
		"a finalizer does not count":     {func(b *cosiapi.Bucket) { b.Finalizers = []string{"f"} }, false},
		"another spec counts":            {func(b *cosiapi.Bucket) { b.Spec.DriverName = "other" }, true},
		"what is not asked does not":     {func(b *cosiapi.Bucket) { b.Generation = 2 }, false},
		"an annotation counts":           {func(b *cosiapi.Bucket) { b.Annotations["a"] = "2" }, true},
		"a deletion counts":              {func(b *cosiapi.Bucket) { b.DeletionTimestamp = &metav1.Time{} }, true},
		"an object of equal name counts": {func(b *cosiapi.Bucket) { b.UID = "v" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := object(tc.change) != same; got != tc.differ {
				t.Errorf("differs: want %v, got %v", tc.differ, got)
			}
		})
	}
}
