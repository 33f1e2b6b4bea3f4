// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// A disturbance is a fault at a point. strike starts it and returns a function that reports whether the fault
// has occurred, and one that removes it.
type disturbance struct {
	point

	what   string
	strike func(*world) (struck func() bool, remove func())
}

// disturbances returns all faults at all points, sorted.
func (w *world) disturbances(points []point) []disturbance {
	var all []disturbance
	for _, p := range points {
		if p.After {
			continue
		}
		strikes := w.strikes(p)
		for _, what := range slices.Sorted(maps.Keys(strikes)) {
			all = append(all, disturbance{p, what, strikes[what]})
		}
	}
	return all
}

// TestFaults replays flows with faults at some of their writes and calls. The soak tries all faults at all of
// them.
func TestFaults(t *testing.T) {
	t.Parallel()
	eachFlow(t, fulltest.Pick(t, flowNames(), fulltest.Tiers{Short: []string{"an access that leaves"}, Full: []string{"a claim", "a rotation"}}), func(t *testing.T, f flow) {
		w := start(t, setup{backoff: patient(), deadline: 2 * time.Second, poll: patient().Max})
		w.newClass("fast")
		w.newAccessClass("keys", multiBucket)
		for _, d := range fulltest.Spread(w.disturbances(w.pointsOf(f)), 5) {
			if !t.Run(fmt.Sprintf("%s at %s no. %d", d.what, d.request, d.Skip+1), func(t *testing.T) { w.with(t).disturbed(f, d) }) {
				return
			}
		}
	})
}

// disturbed runs a flow with a fault. If the flow does not reach the point, it is run again a few times. The test
// fails if a run reaches the point but the fault strikes in no run.
func (w *world) disturbed(f flow, d disturbance) {
	w.t.Helper()
	reached := false
	for range tries {
		s := f.prepare(w, fmt.Sprintf("s%d", w.next()))
		w.settled()
		struck, remove := d.strike(w)
		mark := w.tape.mark()
		f.act(w, s)
		f.reached(w, s)
		w.settled()
		run := w.tape.after(mark)
		came := struck()
		remove()
		w.consistent()
		w.clear(s)
		if came {
			return
		}
		w.t.Log("the fault did not strike")
		if d.Perhaps {
			return
		}
		reached = reached || d.in(run)
	}
	if reached {
		w.t.Fatal("the fault never struck")
	}
}

// strikes returns the possible faults at a point by name.
func (w *world) strikes(p point) map[string]func(*world) (func() bool, func()) {
	if isCall(p.What) {
		return callStrikes(p)
	}
	found := map[string]func(*world) (func() bool, func()){}
	for what, f := range map[string]fault{
		"a conflict":                 {Status: http.StatusConflict},
		"too many requests":          {Status: http.StatusTooManyRequests},
		"an internal error":          {Status: http.StatusInternalServerError},
		"a response that is lost":    {After: true},
		"a request that is lost":     {},
		"an error after the effect":  {After: true, Status: http.StatusInternalServerError},
		"a timeout after the effect": {After: true, Status: http.StatusGatewayTimeout},
	} {
		f.Who, f.What, f.Skip = p.Who, p.What, p.Skip
		found[what] = func(w *world) (func() bool, func()) {
			hits := make(chan struct{}, 1)
			one := f
			one.Hit = func() { hits <- struct{}{} }
			return func() bool { return len(hits) == 1 }, w.tape.strike(&one)
		}
	}
	return found
}

// callStrikes returns the possible faults of a driver call: each gRPC code, and a response that is lost,
// violates the contract or is missing.
func callStrikes(p point) map[string]func(*world) (func() bool, func()) {
	rpc := memdriver.RPC(p.What)
	faults := map[string]memdriver.Fault{
		"a response that is lost": {Code: codes.Unavailable, AfterEffect: true},
		"a driver that hangs":     {Hold: make(chan struct{})},
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		faults["the code "+code.String()] = memdriver.Fault{Code: code}
	}
	if empty := emptyResponse(rpc); empty != nil {
		faults["a response without content"] = memdriver.Fault{Answer: empty}
	}
	found := map[string]func(*world) (func() bool, func()){}
	for what, f := range faults {
		f.RPC, f.Skip = rpc, p.Skip
		terminal := f.Answer != nil || cosi.DispositionOf("", f.Code) == cosi.Terminal
		found[what] = func(w *world) (func() bool, func()) {
			before := len(w.driver.Calls(rpc))
			remove := w.driver.Script(f)
			stop := func() {}
			if terminal {
				stop = w.reconfigureAfter(rpc, before+p.Skip+1)
			}
			return func() bool { return len(w.driver.Calls(rpc)) > before+p.Skip+1 }, func() { stop(); remove() }
		}
	}
	return found
}

// emptyResponse returns a response without the mandatory fields of a call, or nil if it has none.
func emptyResponse(rpc memdriver.RPC) proto.Message {
	switch rpc {
	case memdriver.GenerateBucketID:
		return &cosi.DriverGenerateBucketIdResponse{}
	case memdriver.CreateBucket:
		return &cosi.DriverCreateBucketResponse{}
	case memdriver.GetBucket:
		return &cosi.DriverGetBucketResponse{}
	case memdriver.GenerateAccessID:
		return &cosi.DriverGenerateBucketAccessIdResponse{}
	case memdriver.GrantAccess:
		return &cosi.DriverGrantBucketAccessResponse{}
	default:
		return nil
	}
}

// reconfigureAfter changes the driver's configuration once the given number of calls have ended, as an
// administrator does after an error.
func (w *world) reconfigureAfter(rpc memdriver.RPC, calls int) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := w.driver.Await(ctx, memdriver.Finished(calls), rpc); err == nil {
			w.reconfigure()
		}
	}()
	return func() { cancel(); <-done }
}

// TestLag replays flows while a component does not see changes to one kind of object, or a sidecar to any,
// and constantly resyncs with its stale cache.
func TestLag(t *testing.T) {
	t.Parallel()
	lags := []struct {
		who   string
		kinds []string
	}{
		{theController, []string{"buckets"}},
		{theController, []string{"bucketclaims"}},
		{theController, []string{"bucketaccesses"}},
		{theSidecar, []string{"buckets"}},
		{theSidecar, []string{"bucketaccesses"}},
		{theSidecar, []string{"buckets", "bucketaccesses"}},
	}
	eachFlow(t, fulltest.Pick(t, flowNames(), fulltest.Tiers{Short: []string{"a claim that leaves"}, Full: []string{"an access", "an import"}}), func(t *testing.T, f flow) {
		w := start(t, setup{backoff: patient(), poll: patient().Max, resync: patient().Max})
		w.newClass("fast")
		w.newAccessClass("keys", multiBucket)
		for _, lag := range fulltest.Spread(lags, 2) {
			ok := t.Run(lag.who+" and "+strings.Join(lag.kinds, ", "), func(t *testing.T) {
				w := w.with(t)
				s := f.prepare(w, fmt.Sprintf("s%d", w.next()))
				w.settled()
				var releases []func()
				for _, kind := range lag.kinds {
					release := w.lags.lag(lag.who, kind)
					t.Cleanup(release)
					releases = append(releases, release)
				}
				f.act(w, s)
				w.quiet()
				for _, release := range releases {
					release()
				}
				f.reached(w, s)
				w.consistent()
				w.clear(s)
			})
			if !ok {
				return
			}
		}
		if n := w.driver.MaxConcurrency(""); n > 1 {
			t.Errorf("%d calls for one ID ran at once", n)
		}
	})
}

// quiet waits until no requests have been made in several consecutive checks.
func (w *world) quiet() {
	w.t.Helper()
	const looks = 5
	last, same := -1, 0
	w.eventually("there are no requests", func(context.Context) error {
		if now := w.tape.mark(); now != last {
			last, same = now, 0
		}
		if same++; same < looks {
			return errNot
		}
		return nil
	})
}
