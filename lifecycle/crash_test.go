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
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/controller"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sidecar"
)

// A point is a moment at which a process crashes: immediately before or after one of its requests.
type point struct {
	request

	// Skip is how many requests of that kind to skip.
	Skip int
	// After is true if the request still takes effect.
	After bool
	// Perhaps is true if not every undisturbed run reaches the point. The number of requests of a kind
	// depends on what one reconcile sees at once.
	Perhaps bool
}

func (p point) String() string {
	when := "before"
	if p.After {
		when = "after"
	}
	return fmt.Sprintf("%s %s no. %d", when, p.request, p.Skip+1)
}

// cleanRuns is how often a flow is recorded without disturbance, and tries is how often it is run to reach a
// point.
const cleanRuns, tries = 3, 4

// pointsOf returns the points of undisturbed runs.
func pointsOf(runs [][]entry) []point {
	var points []point
	for _, run := range runs {
		seen := map[string]int{}
		for _, e := range run {
			p := point{request: request{Who: e.Who, What: e.What}, Skip: seen[e.request.String()]}
			p.Perhaps = slices.ContainsFunc(runs, func(run []entry) bool { return !p.in(run) })
			seen[e.request.String()]++
			if slices.Contains(points, p) {
				continue
			}
			after := p
			after.After = true
			points = append(points, p, after)
		}
	}
	return points
}

// pointsOf returns the points of a flow. The first call runs the flow without leader election and polling,
// which do not affect undisturbed runs.
func (w *world) pointsOf(f flow) []point {
	w.t.Helper()
	f.recording.Do(func() { f.recording.points = pointsOf(w.undisturbed(f)) })
	if len(f.recording.points) == 0 {
		w.t.Fatal("another test failed to record the flow")
	}
	return f.recording.points
}

// beforeThenAfter orders points so that Spread selects as many crashes before a request as after one.
func beforeThenAfter(points []point) []point {
	return slices.SortedStableFunc(slices.Values(points), func(a, b point) int {
		switch {
		case a.After == b.After:
			return 0
		case b.After:
			return -1
		default:
			return 1
		}
	})
}

// in reports whether a run reaches the point. Failed requests count, as they do for faults.
func (p point) in(run []entry) bool {
	n := 0
	for _, e := range run {
		if e.request.String() == p.request.String() {
			n++
		}
	}
	return n > p.Skip
}

// A tally counts what was tried, for all flows.
type tally struct {
	mu                   sync.Mutex
	writes, calls, flows int
	crashes              int
	recorded, replayed   map[string]bool
}

// add adds a flow with its points, the number of crashes that were tried, and the requests of its replays.
func (c *tally) add(all []point, crashes int, replayed []entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flows++
	c.crashes += crashes
	for _, p := range all {
		switch {
		case p.After: // already counted
		case isCall(p.What):
			c.calls++
		default:
			c.writes++
		}
		c.recorded[p.request.String()] = true
	}
	for _, e := range replayed {
		c.replayed[e.request.String()] = true
	}
}

func isCall(what string) bool { return len(what) > 6 && what[:6] == "Driver" }

// TestCrash replays flows with a crash before or after some of their writes and calls. The soak tries all
// flows, writes and calls.
func TestCrash(t *testing.T) { //nolint:tparallel // the flows run in parallel, and the tally is checked when all have ended
	t.Parallel()
	count := &tally{recorded: map[string]bool{}, replayed: map[string]bool{}}
	t.Run("flows", func(t *testing.T) {
		eachFlow(t, fulltest.Pick(t, flowNames(), fulltest.Tiers{Short: []string{"an access"}}), func(t *testing.T, f flow) { replay(t, f, setup{}, count) })
	})
	t.Logf("%d writes and %d calls of %d flows, each before and after it: %d crashes tried", count.writes, count.calls, count.flows, count.crashes)
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
func replay(t *testing.T, f flow, o setup, count *tally) {
	t.Helper()
	o.leases, o.backoff = true, patient()
	w := start(t, o)
	w.newClass("fast")
	w.newAccessClass("keys", multiBucket)
	all := w.pointsOf(f)
	points := fulltest.Spread(beforeThenAfter(all), 4)
	mark := w.tape.mark()
	crashes := 0
	for _, p := range points {
		ok := t.Run(p.String(), func(t *testing.T) {
			if w.with(t).crash(f, p) {
				crashes++
			}
		})
		if !ok {
			return // leftovers would affect the other points
		}
	}
	if crashes == 0 {
		t.Errorf("no run reached any of the points %v", points)
	}
	count.add(all, crashes, w.tape.after(mark))
}

// with returns the same world for a subtest.
func (w *world) with(t *testing.T) *world {
	t.Helper()
	sub := *w
	sub.t = t
	return &sub
}

// undisturbed runs a flow several times and returns the requests of each run.
func (w *world) undisturbed(f flow) [][]entry {
	w.t.Helper()
	runs := make([][]entry, 0, cleanRuns)
	for range cleanRuns {
		s := f.prepare(w, fmt.Sprintf("s%d", w.next()))
		w.settled()
		mark := w.tape.mark()
		f.act(w, s)
		f.reached(w, s)
		w.settled()
		var clean []entry
		for _, e := range w.tape.after(mark) {
			if e.OK {
				clean = append(clean, e)
			}
		}
		if len(clean) == 0 {
			w.t.Fatal("the flow made no request")
		}
		w.consistent()
		w.clear(s)
		runs = append(runs, clean)
	}
	return runs
}

// crash runs a flow, kills a process at a point and starts its successor. If the flow does not reach the
// point, it is run again a few times. It reports whether a run reached the point.
func (w *world) crash(f flow, p point) bool {
	w.t.Helper()
	for range tries {
		if w.crashed(f, p) {
			return true
		}
		w.t.Logf("the %s needed fewer such requests this time", p.Who)
		if p.Perhaps {
			break
		}
	}
	return false
}

// crashed is one try of crash. It reports whether the process reached the point. The test fails if the process
// reached it and did not die.
func (w *world) crashed(f flow, p point) bool {
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
	mark := w.tape.mark()
	f.act(w, s)
	came := w.comesTo(died, func(w *world) { f.reached(w, s); w.settled() })
	run := w.tape.after(mark)
	remove()
	if !came && p.in(run) { // the request takes effect before the process dies
		select {
		case <-died:
			came = true
		case <-time.After(patience()):
			w.t.Fatalf("the %s reached this point but is still alive", p.Who)
		}
	}
	if came {
		w.succeed(p.Who, dying)
	}
	f.reached(w, s)
	w.consistent()
	w.clear(s)
	return came
}

// succeed checks the state that a dead process left, and starts its successor. The end of the world checks
// that the dead process made no further requests.
func (w *world) succeed(who string, dead *process) {
	w.t.Helper()
	dead.awaitEnd()
	w.known()
	w.expireLease(who)
	if who == theController {
		w.runController()
	} else {
		w.runSidecar()
	}
}

// comesTo waits until a process has died or the flow has ended, and reports whether the process died.
func (w *world) comesTo(died <-chan struct{}, end func(*world)) bool {
	w.t.Helper()
	watcher := *w
	watcher.died = died
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		end(&watcher) // exits with Goexit when the process dies
	}()
	<-ended
	select {
	case <-died:
		return true
	default:
	}
	if w.t.Failed() {
		w.t.FailNow()
	}
	return false
}

// expireLease asserts that the dead process still holds its Lease, and shortens the wait. The Lease of a
// program expires after one second, as any other would. That of a manager in this process is released at
// once, because waiting repeatedly for the same expiry would test nothing more.
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
		if !w.setup.programs {
			l.Spec.HolderIdentity = nil
		}
	})
}

// known fails the test if the backend has something that Kubernetes does not know, or if a Secret contains a
// credential that does not work. This must hold at any moment.
func (w *world) known() {
	w.t.Helper()
	if err := w.findUnknown(w.t.Context()); err != nil {
		w.t.Errorf("right after the crash: %v", err)
	}
}

// consistent waits until the backend and Kubernetes agree, and the conditions reflect this.
func (w *world) consistent() {
	w.t.Helper()
	w.eventually("backend and Kubernetes agree", func(ctx context.Context) error {
		return errors.Join(w.findUnknown(ctx), w.findMissing(ctx), w.findUnsaid(ctx))
	})
}
