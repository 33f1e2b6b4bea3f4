// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/testenv"
)

// scrapeEvery is short because tests wait for scrapes, but long enough for a busy machine.
const scrapeEvery = time.Second

// A scraper is a running Prometheus.
type scraper struct {
	t   *testing.T
	env *testenv.Env
	url string
	// since is its start time.
	since time.Time
}

// startPrometheus starts a Prometheus that scrapes targets, which are addresses by job, with accelerated
// rules.
func startPrometheus(t *testing.T, env *testenv.Env, targets map[string]string) *scraper {
	t.Helper()
	dir := t.TempDir()
	jobs := []any{}
	for job, address := range targets {
		jobs = append(jobs, map[string]any{"job_name": job, "honor_labels": job == "controller", "static_configs": []any{map[string]any{
			"targets": []string{address}, "labels": map[string]string{"namespace": "cosi-system"}, // as set by the Prometheus operator
		}}})
	}
	config, err := yaml.Marshal(map[string]any{
		"global":     map[string]string{"scrape_interval": scrapeEvery.String(), "scrape_timeout": scrapeEvery.String(), "evaluation_interval": scrapeEvery.String()},
		"rule_files": []string{"rules.yaml"}, "scrape_configs": jobs,
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"prometheus.yaml": string(config), "rules.yaml": hurried(t)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := freeport.ForTest(t).Address()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn")
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have received one already
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Prometheus said:\n%s", &said)
		}
	})
	return &scraper{t: t, env: env, url: "http://" + address, since: time.Now()}
}

// hurried returns the rules with seconds in place of minutes and hours.
func hurried(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(directory + "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules := string(content)
	for slow, fast := range map[string]string{
		"for: 5m": "for: 0s", "for: 2m": "for: 0s", "> 900\n": "> 2\n", "> 3600\n": "> 2\n", "> 300\n": "> 2\n", "> 100 + 3 *": "> 2 + 3 *",
	} {
		if !strings.Contains(rules, slow) {
			t.Fatalf("no rule has %q any more", slow)
		}
		rules = strings.ReplaceAll(rules, slow, fast)
	}
	return rules
}

// get decodes the data in a response of the HTTP API.
func (p *scraper) get(ctx context.Context, path string, parameters url.Values, data any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/v1/"+path+"?"+parameters.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	var body struct {
		Status, Error string
		Data          json.RawMessage
	}
	err = json.NewDecoder(response.Body).Decode(&body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if body.Status != "success" {
		return fmt.Errorf("Prometheus says %s: %s", body.Status, body.Error)
	}
	return json.Unmarshal(body.Data, data)
}

// scraped returns nil once all targets have been scraped, or found to be down, by a scrape that started after
// a time.
func (p *scraper) scraped(ctx context.Context, after time.Time) error {
	var data struct {
		ActiveTargets []struct {
			ScrapePool string
			LastScrape time.Time
		}
	}
	if err := p.get(ctx, "targets", url.Values{"state": {"active"}}, &data); err != nil {
		return err
	}
	if len(data.ActiveTargets) == 0 {
		return errors.New("there are no targets yet")
	}
	for _, target := range data.ActiveTargets {
		if !target.LastScrape.After(after) {
			return fmt.Errorf("%s has not been scraped yet", target.ScrapePool)
		}
	}
	return nil
}

// firing returns the firing alerts, as names with distinguishing labels, once all rules have been evaluated
// after a time.
func (p *scraper) firing(ctx context.Context, after time.Time) ([]string, error) {
	var data struct {
		Groups []struct {
			LastEvaluation time.Time
			Rules          []struct {
				Health, LastError string
				Alerts            []struct {
					State  string
					Labels map[string]string
				}
			}
		}
	}
	if err := p.get(ctx, "rules", nil, &data); err != nil {
		return nil, err
	}
	if len(data.Groups) == 0 {
		return nil, errors.New("no rules are loaded yet")
	}
	found := []string{}
	for _, group := range data.Groups {
		if !group.LastEvaluation.After(after) {
			return nil, errors.New("the rules have not been evaluated yet")
		}
		for _, rule := range group.Rules {
			if rule.Health != "ok" {
				return nil, fmt.Errorf("a rule is %s: %s", rule.Health, rule.LastError)
			}
			for _, alert := range rule.Alerts {
				if alert.State != "firing" {
					continue
				}
				words := []string{alert.Labels["alertname"]}
				for _, label := range []string{"driver_name", "resource_kind", "backend"} {
					if value := alert.Labels[label]; value != "" {
						words = append(words, value)
					}
				}
				found = append(found, strings.Join(words, " "))
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// fires waits until exactly these alerts fire, based on new scrapes and evaluations.
func (p *scraper) fires(why string, want ...string) {
	p.t.Helper()
	if want == nil {
		want = []string{}
	}
	began := time.Now()
	p.env.Eventually(why+": all is scraped", func(ctx context.Context) error { return p.scraped(ctx, began) })
	after := time.Now()
	p.env.Eventually(fmt.Sprintf("%s: what fires is %q", why, want), func(ctx context.Context) error {
		got, err := p.firing(ctx, after)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// series returns the label names of all series of a selector since the start, or an empty map if there were
// none.
func (p *scraper) series(selector string) map[string]bool {
	p.t.Helper()
	var series []map[string]string
	parameters := url.Values{"match[]": {selector}, "start": {p.since.UTC().Format(time.RFC3339)}}
	if err := p.get(p.t.Context(), "series", parameters, &series); err != nil {
		p.t.Fatalf("series of %s: %v", selector, err)
	}
	labels := map[string]bool{}
	for _, one := range series {
		for name := range one {
			labels[name] = true
		}
	}
	return labels
}

// knows verifies that series exist for everything that a query names, with the labels, and that Prometheus
// accepts the query.
func (p *scraper) knows(who string, q query) {
	p.t.Helper()
	if err := p.get(p.t.Context(), "query", url.Values{"query": {q.text}}, &json.RawMessage{}); err != nil {
		p.t.Errorf("%s: %v", who, err)
	}
	names := namesIn(p.t, q)
	if len(names.selectors) == 0 {
		p.t.Errorf("%s names no metric", who)
	}
	for _, selector := range names.selectors {
		if len(p.series(selector)) == 0 {
			p.t.Errorf("%s: the system has no series %s", who, selector)
		}
	}
	for _, l := range names.labels {
		if !slices.ContainsFunc(l.selectors, func(selector string) bool { return p.series(selector)[l.label] }) {
			p.t.Errorf("%s: none of %q has the label %s", who, l.selectors, l.label)
		}
	}
}
