// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// requests returns the Sidecar's requests to the API server, without watches, Events and Leases.
func (s *system) requests() []string {
	s.t.Helper()
	var all []string
	for _, e := range s.Audit(controlplane.AuditFilter{User: s.user}) {
		if e.Verb != "watch" && e.Resource != "events" && e.Resource != "leases" {
			all = append(all, e.Verb+" "+e.Resource)
		}
	}
	return all
}

// TestRetryMakesFewRequests counts the requests of a retry that fails like the attempt before. Failing objects have
// three retries a second (reconciler.Limiter), which cause fewer than 20 requests a second in total.
func TestRetryMakesFewRequests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rpc      memdriver.RPC
		prepare  func(*system)
		requests int // of a retry to the API server, without Events
		events   int
		lists    int // a second, whatever the number of retries
	}{
		"a creation": {memdriver.CreateBucket, func(s *system) { s.Create(s.bucket()) }, 1, 2, 0},
		"a deletion": {memdriver.DeleteBucket, func(s *system) { s.leave(s.readyBucket()) }, 3, 2, 1}, // lists what other drivers import
		"a grant": {memdriver.GrantAccess, func(s *system) {
			b := s.readyBucket()
			s.handOff(s.access(b), b)
		}, 2, 1, 0},
		"a revocation": {memdriver.RevokeAccess, func(s *system) { s.Delete(s.readyAccess(s.readyBucket())) }, 2, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if all := 3*(tc.requests+1+tc.events) + tc.lists; all >= 20 {
				t.Errorf("requests a second of objects that fail: want fewer than 20, got %d", all)
			}
			s := newSystem(t, memdriver.Options{})
			s.options.Backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 10 * time.Millisecond}
			s.run()
			s.driver.Script(memdriver.Fault{RPC: tc.rpc, Code: codes.Unavailable, Times: memdriver.Always})
			tc.prepare(s)
			began := len(s.await(tc.rpc, 5)) // the first report is written by then
			since := time.Now()
			before := len(s.requests())
			s.await(tc.rpc, began+20)
			more := s.requests()[before:]
			tries := len(s.driver.Calls(tc.rpc)) - began // counted last, because the retries go on
			most := tc.requests*(tries+3) + tc.lists*int(time.Since(since)/time.Second)
			if len(more) > most {
				slices.Sort(more)
				t.Errorf("requests of %d tries: want at most %d, got %d: %v", tries, most, len(more), more)
			}
		})
	}
}

// TestGrantThatChangesNothingWritesNothing has an access that is granted repeatedly: the next grant is due before the
// last one is reported, and no watch event triggers it.
func TestGrantThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.options.RegrantInterval, s.options.RegrantRate = time.Nanosecond, 1000
	s.run()
	s.readyAccess(s.readyBucket())
	s.await(memdriver.GrantAccess, 3)
	before := len(s.requests())
	s.await(memdriver.GrantAccess, 6)
	more := s.requests()[before:]
	if len(more) == 0 {
		t.Fatal("the check is blind: no grant read anything")
	}
	for _, request := range more {
		if request != "get secrets" && request != "get bucketaccesses" {
			t.Errorf("a grant that changes nothing makes a request to %s", request)
		}
	}
}

// TestTooManyRequests has an API server that returns this status once.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	busy := &interference{write: 3} // the report of the result; nothing is repeated after a failure
	s.wrap = func(config *rest.Config) *rest.Config {
		if config.QPS >= 0 {
			t.Errorf("requests are throttled by the client, to %v a second", config.QPS)
		}
		return busy.wrap(config)
	}
	s.run()
	s.readyBucket()
	if n := len(s.driver.Calls(memdriver.CreateBucket)); n != 1 || len(busy.struck) != 1 {
		t.Errorf("want 1 call and 1 request refused, got %d and %v", n, busy.struck)
	}
}
