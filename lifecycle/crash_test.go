// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/controller"
	"github.com/cooper-cosi/cooper/sidecar"
)

// A point is where a process crashes: just before or just after one of its
// requests.
type point struct {
	request

	// Skip is how many requests of that kind pass first.
	Skip int
	// After is true if the request still has its effect.
	After bool
}

func (p point) String() string {
	when := "before"
	if p.After {
		when = "after"
	}
	return fmt.Sprintf("%s %s no. %d", when, p.request, p.Skip+1)
}

// pointsOf are the points of a run that was not disturbed.
func pointsOf(entries []entry) []point {
	var points []point
	seen := map[string]int{}
	for _, e := range entries {
		key := e.request.String()
		for _, after := range []bool{false, true} {
			points = append(points, point{request: request{Who: e.Who, What: e.What}, Skip: seen[key], After: after})
		}
		seen[key]++
	}
	return points
}

// A tally counts what was tried, for all flows.
type tally struct {
	mu                   sync.Mutex
	writes, calls, flows int
	crashes              int
	recorded, replayed   map[string]bool
}

func (c *tally) add(clean []entry, crashes int, replayed []entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flows++
	c.crashes += crashes
	for _, e := range clean {
		if isCall(e.What) {
			c.calls++
		} else {
			c.writes++
		}
		c.recorded[e.request.String()] = true
	}
	for _, e := range replayed {
		c.replayed[request{Who: e.Who, What: e.What}.String()] = true
	}
}

func isCall(what string) bool { return len(what) > 6 && what[:6] == "Driver" }

// TestCrash replays each flow with a crash before and after each of its writes
// and calls, or a sample of them.
func TestCrash(t *testing.T) { //nolint:tparallel // the flows run in parallel, and their sum is judged when all have ended
	t.Parallel()
	onlySoak(t, "a complete run under the race detector was not seen; the sidecar's own crash points run always")
	count := &tally{recorded: map[string]bool{}, replayed: map[string]bool{}}
	t.Run("flows", func(t *testing.T) {
		for name, f := range flows() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				replay(t, f, count)
			})
		}
	})
	t.Logf("%d writes and %d calls of %d flows: %d crashes", count.writes, count.calls, count.flows, count.crashes)
	if t.Failed() || count.flows < len(flows()) {
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(count.replayed)) {
		if !count.recorded[kind] {
			t.Errorf("%q is not a request of any undisturbed flow: no crash was tried at it", kind)
		}
	}
}

// replay records a flow and runs it again with each crash.
func replay(t *testing.T, f flow, count *tally) {
	t.Helper()
	w := start(t, setup{leases: true, backoff: patient()})
	w.newClass("fast")
	w.newAccessClass("keys", multiBucket)
	clean := w.undisturbed(f)
	points := sample(t, pointsOf(clean), sampledCrashes)
	mark := w.tape.mark()
	for _, p := range points {
		ok := t.Run(p.String(), func(t *testing.T) { w.with(t).crash(f, p) })
		if !ok {
			return // what is left over would spoil the rest
		}
	}
	var replayed []entry
	for _, e := range w.tape.all() {
		if e.Began > mark {
			replayed = append(replayed, e)
		}
	}
	count.add(clean, len(points), replayed)
}

// with is the same world in a subtest.
func (w *world) with(t *testing.T) *world {
	t.Helper()
	sub := *w
	sub.t = t
	return &sub
}

// undisturbed runs a flow and returns its requests.
func (w *world) undisturbed(f flow) []entry {
	w.t.Helper()
	s := f.prepare(w, fmt.Sprintf("s%d", w.next()))
	w.settled()
	mark := w.tape.mark()
	f.act(w, s)
	f.reached(w, s)
	var clean []entry
	for _, e := range w.tape.all() {
		if e.Began > mark && e.OK {
			clean = append(clean, e)
		}
	}
	if len(clean) == 0 {
		w.t.Fatal("the flow made no request")
	}
	w.consistent()
	w.clear(s)
	return clean
}

// crash runs a flow, kills a process at a point and starts its successor.
func (w *world) crash(f flow, p point) {
	w.t.Helper()
	s := f.prepare(w, fmt.Sprintf("s%d", w.next()))
	w.settled()
	dying := w.process(p.Who)
	died := make(chan struct{})
	var once sync.Once
	remove := w.tape.strike(&fault{Who: p.Who, What: p.What, Skip: p.Skip, After: p.After, Hit: func() {
		dying.die()
		once.Do(func() { close(died) })
	}})
	defer remove()
	f.act(w, s)
	if !w.comesTo(p, died) {
		remove()
		w.t.Logf("the %s needed fewer such requests this time", p.Who)
		f.reached(w, s)
		w.consistent()
		w.clear(s)
		return
	}
	dying.bury()
	if n := dying.leaked.Load(); n > 0 {
		w.t.Errorf("%d requests left the dead %s", n, p.Who)
	}
	w.known()
	w.expireLease(p.Who)
	if p.Who == theController {
		w.runController()
	} else {
		w.runSidecar()
	}
	f.reached(w, s)
	w.consistent()
	w.clear(s)
}

// comesTo waits until a process is at a point. The first request of a kind must
// come. How many follow depends on what one reconcile sees at once.
func (w *world) comesTo(p point, died <-chan struct{}) bool {
	w.t.Helper()
	wait := patience()
	if p.Skip > 0 {
		wait /= 3
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), wait)
	defer cancel()
	select {
	case <-died:
		return true
	case <-ctx.Done():
	}
	if p.Skip == 0 {
		w.t.Fatalf("the %s never came to this point", p.Who)
	}
	return false
}

// expireLease asserts that the dead process still holds its Lease, and lets the
// rest of its time pass.
func (w *world) expireLease(who string) {
	w.t.Helper()
	name := controller.LeaseName
	if who == theSidecar {
		name = sidecar.LeaseName(w.driver.Name())
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	change(w, lease, func(l *coordinationv1.Lease) {
		if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
			w.t.Errorf("the dead %s gave its Lease up", who)
		}
		l.Spec.LeaseDurationSeconds = new(int32(1))
	})
}

// known fails the test if the backend has what Kubernetes does not know, or if
// a Secret holds what does not work any more. It holds at any moment.
func (w *world) known() {
	w.t.Helper()
	if err := w.findUnknown(w.t.Context()); err != nil {
		w.t.Errorf("right after the crash: %v", err)
	}
}

// consistent waits until backend and Kubernetes agree.
func (w *world) consistent() {
	w.t.Helper()
	w.eventually("backend and Kubernetes agree", func(ctx context.Context) error {
		return errors.Join(w.findUnknown(ctx), w.findMissing(ctx))
	})
}
