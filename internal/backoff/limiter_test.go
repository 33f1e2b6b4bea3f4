// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// An object that failed and is gone never succeeds, and must not be remembered for ever.
func TestLimiterForgetsWhatIsGone(t *testing.T) {
	t.Parallel()
	l := newLimiter(Options{Base: time.Second, Max: time.Minute})
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	l.now = func() time.Time { return now }
	named := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
	}
	const hours = 24
	for minute := range hours * 60 {
		now = now.Add(time.Minute)
		l.When(named(fmt.Sprint(minute)))
		if wait := l.When(named("failing")); minute > 10 && wait < time.Minute {
			t.Fatalf("minute %d: what goes on to fail waits %v", minute, wait)
		}
	}
	if n := len(l.failed); n > 30 {
		t.Errorf("a failure each minute for %d hours: %d are remembered", hours, n)
	}
	if n := l.NumRequeues(named("failing")); n != hours*60 {
		t.Errorf("failures in a row: want %d, got %d", hours*60, n)
	}
}
