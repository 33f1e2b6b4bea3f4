// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

func TestReadiness(t *testing.T) {
	t.Parallel()
	provisioned := func(status string) map[string]any {
		return map[string]any{"status": map[string]any{"phase": "Ready", "ready": true, "conditions": []any{
			map[string]any{"type": "Other", "status": "True"}, map[string]any{"type": "Provisioned", "status": status},
		}}}
	}
	for name, tc := range map[string]struct {
		text   string
		object map[string]any
		want   bool
	}{
		"a condition that is True":               {"condition:Provisioned", provisioned("True"), true},
		"a condition that is not":                {"condition:Provisioned", provisioned("Unknown"), false},
		"a condition that is not there":          {"condition:Missing", provisioned("True"), false},
		"an object without status":               {"condition:Provisioned", map[string]any{}, false},
		"a field that is a string":               {".status.phase=Ready", provisioned("True"), true},
		"a field that is a bool":                 {".status.ready=true", provisioned("True"), true},
		"a field with another value":             {".status.phase=Lost", provisioned("True"), false},
		"a field that is not there":              {".status.missing.deep=x", provisioned("True"), false},
		"a field where something else is in way": {".status.phase.deep=x", provisioned("True"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is, err := parseReadiness(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := is.of(tc.object); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
	for _, text := range []string{"", "condition:", "Provisioned", "status.phase=Ready", ".status.phase", ".=x"} {
		if _, err := parseReadiness(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestParseCommands(t *testing.T) {
	t.Parallel()
	got, err := parseCommands("# what runs\n\n driver   ./driver --socket ${SOCKET}\nall ./all\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []command{{"driver", "./driver --socket ${SOCKET}"}, {"all", "./all"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(command{})); diff != "" {
		t.Error(diff)
	}
	if _, err := parseCommands("driver\n"); err == nil || !strings.Contains(err.Error(), `"driver"`) {
		t.Errorf("a component without a command: %v", err)
	}
}

func TestCoopersTemplates(t *testing.T) {
	t.Parallel()
	what, err := ofCooper()
	if err != nil {
		t.Fatal(err)
	}
	s := &system{what: what}
	of := pair{namespace: "ns", name: "one", class: "fast", protocol: "S3"}
	for _, k := range []kind{claim, access} {
		object, err := s.object(k, of)
		if err != nil {
			t.Fatal(err)
		}
		if object.GetName() != "one" || object.GetNamespace() != "ns" || object.GetKind() == "" {
			t.Errorf("%s: %v", k, object)
		}
	}
	classes, err := values{"CLASS": "fast", "DRIVER": "d.example.com", "PARAMETERS": "{a: b}"}.objects(what.classes)
	if err != nil || len(classes) != 2 {
		t.Errorf("%d classes, %v", len(classes), err)
	}
}

func TestParseProc(t *testing.T) {
	t.Parallel()
	if got, want := parseStat("42 (a ) b) S 1 42 42 0 -1 4194560 5000 0 0 0 150 25 0 0 20 0"), 1750*time.Millisecond; got != want {
		t.Errorf("CPU time %v, want %v", got, want)
	}
	if got := parseStat(""); got != 0 {
		t.Errorf("CPU time of nothing: %v", got)
	}
	if got, want := parsePeak("Name:\tx\nVmHWM:\t   2048 kB\nVmRSS:\t 1024 kB\n"), int64(2<<20); got != want {
		t.Errorf("peak %d, want %d", got, want)
	}
	if got := parsePeak("Name:\tx\n"); got != 0 {
		t.Errorf("peak of nothing: %d", got)
	}
}

func TestParseSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{"": nil, "5": {5}, "200,1000": {200, 1000}} {
		if got, err := parseSizes(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"x", "0", "-1", "1;2"} {
		if got, err := parseSizes(text); err == nil {
			t.Errorf("%q is taken: %v", text, got)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	var hundred []time.Duration
	for i := range 101 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for q, want := range map[float64]time.Duration{0: 0, 0.5: 50, 0.9: 90, 0.99: 99, 1: 100} {
		if got := quantile(hundred, q); got != want {
			t.Errorf("%v of a hundred is %d, want %d", q, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("of none: %v", got)
	}
}

func TestTally(t *testing.T) {
	t.Parallel()
	var got tally
	for _, one := range []struct {
		role string
		e    controlplane.AuditEvent
	}{
		{user, controlplane.AuditEvent{Verb: "create", Resource: "bucketclaims", Code: 201}},
		{user, controlplane.AuditEvent{Verb: "watch", Resource: "bucketclaims", Code: 200}},
		{"controller", controlplane.AuditEvent{Verb: "patch", Resource: "bucketclaims", Subresource: "status", Code: 200}},
		{"controller", controlplane.AuditEvent{Verb: "patch", Resource: "bucketclaims", Subresource: "status", Code: 409}},
		{"controller", controlplane.AuditEvent{Verb: "update", Resource: "leases", Code: 200}},
		{"controller", controlplane.AuditEvent{Verb: "create", Resource: "events", Code: 201}},
		{"sidecar", controlplane.AuditEvent{Verb: "get", Resource: "secrets", Code: 404}},
		{"sidecar", controlplane.AuditEvent{Verb: "get", Resource: "secrets", Code: 403}},
	} {
		got.note(one.role, one.e)
	}
	want := tally{
		requests: map[string]int{
			"user create bucketclaims": 1, "controller patch bucketclaims/status": 2, "controller create events": 1, "sidecar get secrets": 2,
		},
		writes: 1, conflicts: 1, forbidden: 1,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tally{})); diff != "" {
		t.Error(diff)
	}
	var sum tally
	sum.add(got)
	sum.add(got)
	if sum.total() != 2*got.total() || sum.writes != 2 {
		t.Errorf("twice that is %+v", sum)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	made := table{title: "what", columns: []column{
		{"first", []figure{{"a", 1}, {"c", 1234.5}}},
		{"second", []figure{{"a", 0.123}, {"b", 12.34}, {"c", -3}, {"d", 100}}},
	}}
	var out strings.Builder
	made.print(&out)
	want := `
| what | first | second |
|---|---|---|
| a | 1.00 | 0.12 |
| b | - | 12.3 |
| c | 1234 | -3.00 |
| d | - | 100 |
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
