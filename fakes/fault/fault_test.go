// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/fault"
)

func TestRulesHit(t *testing.T) {
	t.Parallel()
	put := fault.Subject{Operation: "PutObject", Resource: "docs/a", Principals: []string{"AKIA1", "alice"}}
	tests := map[string]struct {
		rule  fault.Rule
		calls []fault.Subject
		// hits are the calls that the rule hits, from 1.
		hits []int
	}{
		"without a matcher every call":        {fault.Rule{Code: "x"}, []fault.Subject{put, {}}, []int{1, 2}},
		"by operation":                        {fault.Rule{Operation: "Put*", Code: "x"}, []fault.Subject{{Operation: "GetObject"}, put}, []int{2}},
		"by resource":                         {fault.Rule{Resource: "docs/?", Code: "x"}, []fault.Subject{{Resource: "docs/ab"}, put}, []int{2}},
		"by any name of the caller":           {fault.Rule{Principal: "ali*e", Code: "x"}, []fault.Subject{{Principals: []string{"bob"}}, put}, []int{2}},
		"the third call only":                 {fault.Rule{Nth: 3, Code: "x"}, []fault.Subject{put, put, put, put}, []int{3}},
		"the second that matches":             {fault.Rule{Operation: "PutObject", Nth: 2, Code: "x"}, []fault.Subject{put, {}, put}, []int{3}},
		"all but the first two":               {fault.Rule{After: 2, Code: "x"}, []fault.Subject{put, put, put, put}, []int{3, 4}},
		"twice":                               {fault.Rule{Times: 2, Code: "x"}, []fault.Subject{put, put, put}, []int{1, 2}},
		"only reads, if it is a stale one":    {fault.Rule{Effect: fault.Stale, Lag: 1}, []fault.Subject{put, {Operation: "GetObject", Read: true}}, []int{2}},
		"twice after the first":               {fault.Rule{After: 1, Times: 2, Code: "x"}, []fault.Subject{put, put, put, put}, []int{2, 3}},
		"a pattern with a star in the middle": {fault.Rule{Operation: "Put*ct", Code: "x"}, []fault.Subject{put, {Operation: "PutObjectTagging"}}, []int{1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var i fault.Injector
			if err := i.Set(fault.Plan{Rules: []fault.Rule{tc.rule}}); err != nil {
				t.Fatal(err)
			}
			var hits []int
			for n, s := range tc.calls {
				if rule := i.Decide(s); rule != nil {
					hits = append(hits, n+1)
				}
			}
			if diff := cmp.Diff(tc.hits, hits); diff != "" {
				t.Errorf("hits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheFirstRuleThatHitsDecides(t *testing.T) {
	t.Parallel()
	var i fault.Injector
	if err := i.Add(fault.Rule{Name: "once", Times: 1, Code: "SlowDown"}, fault.Rule{Effect: fault.Drop}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for range 3 {
		names = append(names, i.Decide(fault.Subject{}).Name)
	}
	if diff := cmp.Diff([]string{"once", "rule 2", "rule 2"}, names); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	i.Clear()
	if rule := i.Decide(fault.Subject{}); rule != nil || len(i.Plan().Rules) > 0 {
		t.Errorf("after Clear: %+v, plan %+v", rule, i.Plan())
	}
}

func TestParsePlan(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		yaml string
		want []fault.Rule
		err  string
	}{
		"a whole rule":                {"rules: [{name: first, operation: 'Get*', resource: r, principal: p, nth: 2, effect: failAfter, code: SlowDown, status: 503, message: m, latency: 250ms}]", []fault.Rule{{Name: "first", Operation: "Get*", Resource: "r", Principal: "p", Nth: 2, Effect: fault.FailAfter, Code: "SlowDown", Status: 503, Message: "m", Latency: fault.Duration(250 * time.Millisecond)}}, ""},
		"nothing":                     {"", nil, ""},
		"a field that does not exist": {"rules: [{operations: x}]", nil, "operations"},
		"an effect that is none":      {"rules: [{effect: explode}]", nil, `effect "explode" is not one of`},
		"an error without a code":     {"rules: [{effect: failAfter}]", nil, "effect failAfter needs a code"},
		"a read that lags":            {"rules: [{operation: 'Get*', effect: stale, lag: 3, lagTime: 2s}]", []fault.Rule{{Operation: "Get*", Effect: fault.Stale, Lag: 3, LagTime: fault.Duration(2 * time.Second)}}, ""},
		"a stale read without a lag":  {"rules: [{effect: stale}]", nil, "effect stale needs a lag"},
		"a lag of another effect":     {"rules: [{effect: drop, lag: 1}]", nil, "other effects cannot have one"},
		"a delay without a latency":   {"rules: [{effect: delay}]", nil, "delay needs a latency"},
		"a negative count":            {"rules: [{effect: drop, after: -1}]", nil, "cannot be negative"},
		"nth with times":              {"rules: [{effect: drop, nth: 1, times: 1}]", nil, "nth cannot be combined"},
		"a latency that is no time":   {"rules: [{effect: delay, latency: soon}]", nil, "not a duration"},
		"a negative latency":          {"rules: [{effect: delay, latency: -1s}]", nil, "not a duration"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fault.ParsePlan([]byte(tc.yaml))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want an error with %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Rules); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecorderKeepsEveryCall(t *testing.T) {
	t.Parallel()
	var r fault.Recorder
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first, second := r.Begin(begin), r.Begin(begin)
	second.Operation, second.Code = "PutObject", "SlowDown"
	r.End(second, begin.Add(time.Second))
	r.End(first, begin.Add(2*time.Second))
	want := []fault.Call{
		{Seq: 2, Start: begin, Duration: time.Second, Operation: "PutObject", Code: "SlowDown", Performed: true},
		{Seq: 1, Start: begin, Duration: 2 * time.Second, Performed: true},
	}
	if diff := cmp.Diff(want, r.Calls()); diff != "" {
		t.Errorf("calls in the order in which they ended (-want +got):\n%s", diff)
	}
	r.Reset()
	if got := r.Calls(); len(got) > 0 {
		t.Errorf("after Reset: %+v", got)
	}
}

func TestRecorderIsBounded(t *testing.T) {
	t.Parallel()
	var r fault.Recorder
	const many = 250000
	for range many {
		r.End(r.Begin(time.Time{}), time.Time{})
	}
	calls := r.Calls()
	if len(calls) > many/2 || calls[len(calls)-1].Seq != many {
		t.Errorf("%d calls kept, the last is %d", len(calls), calls[len(calls)-1].Seq)
	}
	long := strings.Repeat("x", 1<<20)
	r.End(fault.Call{Operation: long, Resource: long, Principal: long}, time.Time{})
	calls = r.Calls()
	if last := calls[len(calls)-1]; len(last.Operation+last.Resource+last.Principal) > 16<<10 {
		t.Errorf("%d bytes kept of the operation, %d of the resource, %d of the principal", len(last.Operation), len(last.Resource), len(last.Principal))
	}
}

// TestRecordsDoNotKeepRequests records short parts of long requests.
func TestRecordsDoNotKeepRequests(t *testing.T) {
	t.Parallel()
	var r fault.Recorder
	var released atomic.Int32
	const requests = 10
	for range requests {
		request := bytes.Repeat([]byte("x"), 1<<20)
		runtime.AddCleanup(&request[0], func(int) { released.Add(1) }, 0)
		r.End(fault.Call{Resource: unsafe.String(&request[0], 3)}, time.Time{}) // a substring of the request
	}
	for deadline := time.Now().Add(time.Minute); released.Load() < requests; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d requests were released", released.Load(), requests)
		}
	}
	if calls := r.Calls(); len(calls) != requests || calls[0].Resource != "xxx" {
		t.Errorf("recorded %+v", calls)
	}
}

// TestRulesForOperationsThatNobodyServes checks that rules for unknown operations are rejected once the injector
// knows its fake.
func TestRulesForOperationsThatNobodyServes(t *testing.T) {
	t.Parallel()
	var faults fault.Injector
	faults.Know([]string{"GetObject", "PutObject", "PutObjectTagging", "iam:CreateUser"}, false)
	for _, operation := range []string{"", "*", "PutObject", "Put*", "iam:*", "?etObject"} {
		if err := faults.Set(fault.Plan{Rules: []fault.Rule{{Operation: operation, Code: "SlowDown"}}}); err != nil {
			t.Errorf("%q: %v", operation, err)
		}
	}
	for operation, meant := range map[string]string{"PutObjetc": "PutObject", "putobjecttagging": "PutObjectTagging", "CreateUser": "iam:CreateUser", "Put*t": ""} {
		err := faults.Add(fault.Rule{Operation: operation, Code: "SlowDown"})
		if meant == "" {
			if err != nil {
				t.Errorf("%q: %v", operation, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q matches no operation of this fake; did you mean %q?", operation, meant)) {
			t.Errorf("%q: %v", operation, err)
		}
	}
	stale := fault.Rule{Operation: "Get*", Effect: fault.Stale, Lag: 1}
	if err := faults.Add(stale); err == nil || !strings.Contains(err.Error(), "--past") {
		t.Errorf("a stale read without a past: %v", err)
	}
	if rules := faults.Plan().Rules; len(rules) != 2 {
		t.Errorf("a rule that was refused is in force: %+v", rules)
	}
}

// TestTheStateCounts calls that rules matched and hit.
func TestTheStateCounts(t *testing.T) {
	t.Parallel()
	var faults fault.Injector
	if err := faults.Set(fault.Plan{Rules: []fault.Rule{{Operation: "Put*", After: 1, Times: 1, Code: "SlowDown"}, {Operation: "Get*", Code: "SlowDown"}}}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		faults.Decide(fault.Subject{Operation: "PutObject"})
	}
	got := faults.State()
	if got[0].Seen != 3 || got[0].Hits != 1 || got[1].Seen != 0 || got[1].Hits != 0 {
		t.Errorf("%+v", got)
	}
}
