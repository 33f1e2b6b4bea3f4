// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A deleted object that failed never succeeds, and must not be kept forever.
func TestLimiterForgetsDeletedObjects(t *testing.T) {
	t.Parallel()
	l := NewLimiter(BackoffOptions{Base: time.Second, Max: time.Minute})
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
			t.Fatalf("minute %d: a persistent failure waits %v", minute, wait)
		}
	}
	if n := len(l.failed); n > 30 {
		t.Errorf("a failure each minute for %d hours: %d are remembered", hours, n)
	}
	if n := l.NumRequeues(named("failing")); n != hours*60 {
		t.Errorf("failures in a row: want %d, got %d", hours*60, n)
	}
}

// Any number of failing objects is retried three times a second in the long run, and a few objects as often as the
// bounds allow.
func TestCrowdIsTriedSlowly(t *testing.T) {
	t.Parallel()
	for _, objects := range []int{1, 100, 5000} {
		t.Run(fmt.Sprint(objects), func(t *testing.T) {
			t.Parallel()
			l := NewLimiter(BackoffOptions{})
			began := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			const hours = 4
			var due [hours * 3600][]int // one list per second
			for i := range objects {
				due[0] = append(due[0], i)
			}
			tries, inMinute := 0, map[int]int{}
			for second := range due {
				now := began.Add(time.Duration(second) * time.Second)
				l.now = func() time.Time { return now }
				for _, i := range due[second] {
					next := second + 1 + int(l.When(reconcile.Request{NamespacedName: types.NamespacedName{Name: fmt.Sprint(i)}})/time.Second)
					if next < len(due) {
						due[next] = append(due[next], i)
					}
					if second >= (hours-1)*3600 {
						tries++
						inMinute[second/60]++
					}
				}
			}
			most, least := 3600*triesPerSecond, objects*3600/2/int(l.longest(MaxBackoff)/time.Second)
			if tries > most || tries < least {
				t.Errorf("tries in the last hour: want %d to %d, got %d", least, most, tries)
			}
			if got := slices.Max(append(slices.Collect(maps.Values(inMinute)), 0)); got > 60*triesPerSecond*3/2 {
				t.Errorf("tries in a minute of it: want at most %d, got %d", 60*triesPerSecond*3/2, got)
			}
			together := max(time.Minute, time.Duration(objects/triesPerSecond)*time.Second)
			from, to := together, together*5/4
			if together > time.Minute { // retries are far apart
				from, to = together*3/5, together*8/5
			}
			if got := l.Pace(time.Minute); got < from || got > to {
				t.Errorf("the time until one comes back: want %v to %v, got %v", from, to, got)
			}
			item := reconcile.Request{NamespacedName: types.NamespacedName{Name: "another"}}
			if first := l.Poll(item, time.Minute); first > time.Minute*6/5 {
				t.Errorf("one that begins to fail waits %v for the others", first)
			}
			for range 10 {
				l.Poll(item, time.Minute)
			}
			if got := l.Poll(item, time.Minute); got < from || got > to {
				t.Errorf("the time between two looks: want %v to %v, got %v", from, to, got)
			}
		})
	}
}
