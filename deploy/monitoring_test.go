// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestRules tests every rule with promtool, immediately before and after it fires.
func TestRules(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	for _, args := range [][]string{{"check", "rules", "monitoring/rules.yaml"}, {"test", "rules", "monitoring/testdata/rules-test.yaml"}} {
		if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestAlertsAreComplete verifies that each alert has a test in which it fires, and a section in the
// documentation that says what to do.
func TestAlertsAreComplete(t *testing.T) {
	t.Parallel()
	const page = "../docs/howto/alerts.md"
	text := func(path string) string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	tried, runbooks := text("monitoring/testdata/rules-test.yaml"), text(page)
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text("monitoring/rules.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, group := range rules.Groups {
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
