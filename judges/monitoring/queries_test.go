// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"sigs.k8s.io/yaml"
)

// directory contains the alerts and the dashboard.
const directory = "../../deploy/monitoring/"

// rules is the part of rules.yaml that tests use.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert       string
			Expr        string
			Annotations map[string]string
		}
	}
}

func readRules(t *testing.T) rules {
	t.Helper()
	content, err := os.ReadFile(directory + "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var read rules
	if err := yaml.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// dashboard is the part of dashboard.json that tests use.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct {
			Name  string
			Query any
		}
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	content, err := os.ReadFile(directory + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var read dashboard
	if err := json.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// A query is a Prometheus query of an alert or a panel.
type query struct {
	// text is the query, with Grafana's variables replaced.
	text string
	// shown are texts with label names in double braces.
	shown []string
}

// queries returns all queries by the name of the alert or panel.
func queries(t *testing.T) map[string]query {
	t.Helper()
	found := map[string]query{}
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			found["alert "+rule.Alert] = query{rule.Expr, slices.Collect(maps.Values(rule.Annotations))}
		}
	}
	board := readDashboard(t)
	variables := strings.NewReplacer("$__rate_interval", "1m", "$driver", ".*")
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			found["panel "+panel.Title+": "+target.Expr] = query{variables.Replace(target.Expr), []string{target.LegendFormat}}
		}
	}
	for _, variable := range board.Templating.List {
		about, ok := variable.Query.(map[string]any)
		if !ok {
			continue // the selection of a data source
		}
		text, _ := about["query"].(string)
		parts := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(text)
		if parts == nil {
			t.Fatalf("the variable %s asks for %q", variable.Name, text)
		}
		found["variable "+variable.Name] = query{"count by (" + parts[2] + ") (" + parts[1] + ")", nil}
	}
	return found
}

// named are the selectors in an expression, and its label names. For each label, some series of its selectors
// must have it.
type named struct {
	selectors []string
	labels    []labelled
}

// labelled is a label in an expression and the selectors below it.
type labelled struct {
	label     string
	selectors []string
}

var placeholder = regexp.MustCompile(`\{\{ *(?:\$labels\.)?(\w+) *\}\}`)

// namesIn parses a query.
func namesIn(t *testing.T, q query) named {
	t.Helper()
	expression, err := metricsql.Parse(q.text)
	if err != nil {
		t.Fatalf("%v in %s", err, q.text)
	}
	all := named{selectors: selectorsIn(expression)}
	name := func(below metricsql.Expr, labels []string) {
		for _, label := range labels {
			all.labels = append(all.labels, labelled{label, selectorsIn(below)})
		}
	}
	metricsql.VisitAll(expression, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.AggrFuncExpr:
			name(e, e.Modifier.Args)
		case *metricsql.BinaryOpExpr:
			name(e.Left, e.GroupModifier.Args)
			name(e.Right, e.GroupModifier.Args)
		}
	})
	for _, text := range q.shown {
		for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
			name(expression, match[1:])
		}
	}
	return all
}

func selectorsIn(expression metricsql.Expr) []string {
	var found []string
	metricsql.VisitAll(expression, func(e metricsql.Expr) {
		if selector, ok := e.(*metricsql.MetricExpr); ok {
			found = append(found, string(selector.AppendString(nil)))
		}
	})
	return found
}

// TestQueriesAreParsed verifies that the parser finds everything that a query names.
func TestQueriesAreParsed(t *testing.T) {
	t.Parallel()
	got := namesIn(t, query{
		text:  `sum by (a) (rate(x_total{k!="OK"}[1m]) and on (job) (y or z{s="1"})) / 3`,
		shown: []string{"{{a}} of {{ $labels.b }}", "{{ $value | humanizeDuration }}"},
	})
	x, y, z := `x_total{k!="OK"}`, `y`, `z{s="1"}`
	if want := []string{x, y, z}; strings.Join(got.selectors, " ") != strings.Join(want, " ") {
		t.Errorf("selectors: want %q, got %q", want, got.selectors)
	}
	var labels []string
	for _, l := range got.labels {
		labels = append(labels, l.label+" of "+strings.Join(l.selectors, " "))
	}
	for _, want := range []string{"a of " + x + " " + y + " " + z, "job of " + x, "job of " + y + " " + z, "b of " + x + " " + y + " " + z} {
		if !strings.Contains(strings.Join(labels, "\n")+"\n", want+"\n") {
			t.Errorf("no label %q among %q", want, labels)
		}
	}
}
