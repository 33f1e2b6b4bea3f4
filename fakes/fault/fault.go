// SPDX-License-Identifier: Apache-2.0

// Package fault makes fake services fail on demand and records every call to them. A Plan is a list of rules. Each
// rule matches calls by operation, resource, caller and count. Its effect on these calls is an error of the real
// service (for example throttling), a delay, a dropped connection, a stale read, or the loss of the response after
// the call.
//
// Tests add rules to a fake's Injector, in Go (Add) or as a plan in YAML (ParsePlan, Set). The fake calls
// Injector.Decide for each call, applies the returned rule, and records the call in a Recorder. The package is
// independent of any protocol: the fake describes each call and creates the error responses itself. All methods are
// safe for concurrent use.
package fault

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/yaml"
)

// Effect is what happens to a call that a rule matches.
type Effect string

// The effects of a rule.
const (
	// Fail responds with Code and Status without performing the call. It is the default.
	Fail Effect = "fail"
	// FailAfter performs the call and then responds with Code and Status.
	FailAfter Effect = "failAfter"
	// Drop closes the connection without a response and without performing the call.
	Drop Effect = "drop"
	// DropAfter performs the call and closes the connection without a response, so the response is lost.
	DropAfter Effect = "dropAfter"
	// Delay only waits for Latency.
	Delay Effect = "delay"
	// Stale responds to a read from an earlier state: before the last Lag calls, and before LagTime. It matches no other
	// calls.
	Stale Effect = "stale"
)

// Rule matches calls and defines what happens to them. An empty matching field matches everything.
type Rule struct {
	// Name appears in the records of the affected calls. Default "rule N".
	Name string `json:"name,omitempty"`
	// Operation is a pattern with * and ?, for example "PutObject" or "iam:Create*".
	Operation string `json:"operation,omitempty"`
	// Resource is a pattern for the resource name used by the fake, for example "bucket/key*".
	Resource string `json:"resource,omitempty"`
	// Principal is a pattern for the caller's access key or name.
	Principal string `json:"principal,omitempty"`
	// Nth affects only the nth matching call, counted from 1; 0 affects all.
	Nth int `json:"nth,omitempty"`
	// After skips this many matching calls first.
	After int `json:"after,omitempty"`
	// Times is the number of calls that the rule affects before it ends; 0 means no limit.
	Times int `json:"times,omitempty"`

	Effect Effect `json:"effect,omitempty"`
	// Code is the error code of the service, for example SlowDown or Throttling.
	Code string `json:"code,omitempty"`
	// Status is the HTTP or gRPC status; 0 selects the fake's default.
	Status int `json:"status,omitempty"`
	// Message replaces the fake's text for the code.
	Message string `json:"message,omitempty"`
	// Latency delays the call before any other effect, as a Go duration such as 250ms.
	Latency Duration `json:"latency,omitempty"`
	// Lag is the number of calls by which a stale read is behind, and LagTime is the duration. If both are set, both
	// apply.
	Lag     int      `json:"lag,omitempty"`
	LagTime Duration `json:"lagTime,omitempty"`
}

// Duration is a time.Duration that is written as a string such as "250ms" in YAML and JSON.
type Duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var text string
	if err := yaml.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("latency and lagTime must be durations such as 250ms: %w", err)
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a duration such as 250ms", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) {
	return []byte(`"` + time.Duration(d).String() + `"`), nil
}

// Plan is a list of rules; the first rule that applies to a call is used.
type Plan struct {
	Rules []Rule `json:"rules"`
}

// ParsePlan reads a plan from YAML or JSON. Unknown fields are errors.
func ParsePlan(raw []byte) (Plan, error) {
	var p Plan
	if err := yaml.UnmarshalStrict(raw, &p); err != nil {
		return Plan{}, fmt.Errorf("read the fault plan: %w", err)
	}
	return p, p.Validate()
}

// Validate returns an error for the first invalid rule.
func (p Plan) Validate() error {
	for i, r := range p.Rules {
		switch {
		case !slices.Contains([]Effect{"", Fail, FailAfter, Drop, DropAfter, Delay, Stale}, r.Effect):
			return fmt.Errorf("fault rule %d: effect %q is not one of fail, failAfter, drop, dropAfter, delay, stale", i+1, r.Effect)
		case (r.Effect == "" || r.Effect == Fail || r.Effect == FailAfter) && r.Code == "":
			return fmt.Errorf("fault rule %d: effect %s needs a code", i+1, cmp.Or(r.Effect, Fail))
		case r.Effect == Delay && r.Latency == 0:
			return fmt.Errorf("fault rule %d: effect delay needs a latency", i+1)
		case (r.Effect == Stale) != (r.Lag > 0 || r.LagTime > 0):
			return fmt.Errorf("fault rule %d: effect stale needs a lag or a lagTime, and other effects cannot have one", i+1)
		case r.Nth < 0 || r.After < 0 || r.Times < 0 || r.Lag < 0:
			return fmt.Errorf("fault rule %d: nth, after, times and lag cannot be negative", i+1)
		case r.Nth > 0 && (r.After > 0 || r.Times > 0):
			return fmt.Errorf("fault rule %d: nth cannot be combined with after or times", i+1)
		}
	}
	return nil
}

// Subject describes a call for matching by rules.
type Subject struct {
	Operation string
	Resource  string
	// Principals are the names of the caller that rules may match.
	Principals []string
	// Read reports whether the call is a read, which changes nothing.
	Read bool
}

// Injector holds the current plan. The zero value injects nothing and is ready to use.
type Injector struct {
	mu         sync.Mutex
	rules      []*active
	operations []string
	past       bool
}

// Know sets the names of all operations of the fake, and whether the fake keeps earlier state for stale reads. Then
// Set and Add reject rules that can never apply. Otherwise a test could pass because a rule is mistyped.
func (i *Injector) Know(operations []string, past bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.operations, i.past = operations, past
}

// check returns an error for the first rule that can never apply to the fake. The caller holds the lock.
func (i *Injector) check(p Plan) error {
	if err := p.Validate(); err != nil {
		return err
	}
	for n, r := range p.Rules {
		known := func(operation string) bool { return glob(r.Operation, operation) }
		if len(i.operations) > 0 && !slices.ContainsFunc(i.operations, known) {
			return fmt.Errorf("fault rule %d: operation %q matches no operation of this fake; did you mean %q?", n+1, r.Operation, nearest(r.Operation, i.operations))
		}
		if len(i.operations) > 0 && r.Effect == Stale && !i.past {
			return fmt.Errorf("fault rule %d: effect stale needs past states, which this fake does not keep; start the fake with --past, or with the option Past in Go", n+1)
		}
	}
	return nil
}

// active is a rule with its counters.
type active struct {
	Rule
	seen, hits int
}

// Set replaces the plan and resets the counts of all rules.
func (i *Injector) Set(p Plan) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.check(p); err != nil {
		return err
	}
	rules := make([]*active, len(p.Rules))
	for n, r := range p.Rules {
		r.Name = cmp.Or(r.Name, fmt.Sprintf("rule %d", n+1))
		r.Effect = cmp.Or(r.Effect, Fail)
		rules[n] = &active{Rule: r}
	}
	i.rules = rules
	return nil
}

// Add appends rules to the current plan.
func (i *Injector) Add(rules ...Rule) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.check(Plan{Rules: rules}); err != nil {
		return err
	}
	for _, r := range rules {
		r.Name = cmp.Or(r.Name, fmt.Sprintf("rule %d", len(i.rules)+1))
		r.Effect = cmp.Or(r.Effect, Fail)
		i.rules = append(i.rules, &active{Rule: r})
	}
	return nil
}

// Clear removes all rules.
func (i *Injector) Clear() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rules = nil
}

// Plan returns the current plan.
func (i *Injector) Plan() Plan {
	i.mu.Lock()
	defer i.mu.Unlock()
	p := Plan{Rules: make([]Rule, len(i.rules))}
	for n, r := range i.rules {
		p.Rules[n] = r.Rule
	}
	return p
}

// RuleState is a rule of the current plan with its counts.
type RuleState struct {
	Rule

	// Seen is the number of calls that the rule matched. Hits is the number of calls that it affected.
	Seen int `json:"seen"`
	Hits int `json:"hits"`
}

// State returns the current rules with their counts. If a rule has matched no calls, it is probably mistyped.
func (i *Injector) State() []RuleState {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make([]RuleState, len(i.rules))
	for n, r := range i.rules {
		out[n] = RuleState{r.Rule, r.seen, r.hits}
	}
	return out
}

// Decide counts a call for the rules that match it, and returns the rule that applies to it, or nil if none applies.
func (i *Injector) Decide(s Subject) *Rule {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, r := range i.rules {
		if !r.matches(s) {
			continue
		}
		r.seen++
		if !r.due() {
			continue
		}
		r.hits++
		hit := r.Rule
		return &hit
	}
	return nil
}

func (r *active) matches(s Subject) bool {
	return (s.Read || r.Effect != Stale) && glob(r.Operation, s.Operation) && glob(r.Resource, s.Resource) &&
		(r.Principal == "" || slices.ContainsFunc(s.Principals, func(p string) bool { return glob(r.Principal, p) }))
}

func (r *active) due() bool {
	if r.Nth > 0 {
		return r.seen == r.Nth
	}
	return r.seen > r.After && (r.Times == 0 || r.hits < r.Times)
}

// glob matches '*' and '?'; an empty pattern matches everything.
func glob(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	pi, si, star, mark := 0, 0, -1, 0
	for si < len(s) {
		switch {
		case pi < len(pattern) && pattern[pi] == '*':
			star, mark = pi, si
			pi++
		case pi < len(pattern) && (pattern[pi] == '?' || pattern[pi] == s[si]):
			pi++
			si++
		case star >= 0:
			mark++
			pi, si = star+1, mark
		default:
			return false
		}
	}
	for pi < len(pattern) && pattern[pi] == '*' {
		pi++
	}
	return pi == len(pattern)
}

// nearest returns the name with the smallest edit distance from the pattern.
func nearest(pattern string, names []string) string {
	return slices.MinFunc(names, func(a, b string) int { return cmp.Compare(distance(pattern, a), distance(pattern, b)) })
}

// distance returns the number of letters to add, remove or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
