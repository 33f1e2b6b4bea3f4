// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	testenv.Main(m)
}

// installed skips the test if a program of Debian's package prometheus is missing.
func installed(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed (Debian: prometheus)", program)
	}
}

// TestRules tests every rule with promtool, immediately before and after it fires.
func TestRules(t *testing.T) {
	t.Parallel()
	installed(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "testdata/rules-test.yaml"}} {
		if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestAlertsAreComplete verifies that each alert has a test in which it fires, and a section in the
// documentation that says what to do.
func TestAlertsAreComplete(t *testing.T) {
	t.Parallel()
	const page = "../../docs/howto/alerts.md"
	text := func(path string) string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	tried, runbooks := text("testdata/rules-test.yaml"), text(page)
	alerts := 0
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			alerts++
			if !strings.Contains(tried, `labels: 'ALERTS{alertname="`+rule.Alert+`",alertstate="firing"`) {
				t.Errorf("no test expects %s to fire", rule.Alert)
			}
			if !strings.Contains(runbooks, "\n## "+rule.Alert+"\n") {
				t.Errorf("%s has no section in %s", rule.Alert, page)
			}
			want := "https://github.com/cooper-cosi/cooper/blob/main/docs/howto/alerts.md#" + strings.ToLower(rule.Alert)
			if got := rule.Annotations["runbook_url"]; got != want {
				t.Errorf("runbook_url of %s: want %s, got %s", rule.Alert, want, got)
			}
		}
	}
	if sections := strings.Count(runbooks, "\n## Cosi"); sections != alerts {
		t.Errorf("%d alerts have %d sections", alerts, sections)
	}
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
