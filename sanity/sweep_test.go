// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// crashingProber ends the run, like kill -9, when the first object is put.
type crashingProber struct {
	sanity.Prober
	crash func()
}

func (p crashingProber) Try(ctx context.Context, attempt sanity.Attempt) (sanity.Outcome, error) {
	outcome, err := p.Prober.Try(ctx, attempt)
	if attempt.Action == sanity.PutObject {
		p.crash()
	}
	return outcome, err
}

// torn is a journal whose writer fails after the crash.
type torn struct {
	bytes.Buffer
	closed bool
}

func (j *torn) Write(line []byte) (int, error) {
	if j.closed {
		return len(line), nil
	}
	return j.Buffer.Write(line)
}

func TestSweepRemovesWhatACrashedRunLeft(t *testing.T) {
	t.Parallel()
	for focus, profile := range map[string]memdriver.Options{"ACC-RVK-006": memdriver.Wide(), "V1A-RVK-002": memdriver.Old()} {
		t.Run(profile.Name, func(t *testing.T) {
			t.Parallel()
			sweepAfterCrash(t, focus, profile)
		})
	}
}

// sweepAfterCrash simulates the crash of a run with one case.
func sweepAfterCrash(t *testing.T, focus string, profile memdriver.Options) {
	t.Helper()
	store := memdriver.NewStore("")
	config := memdriver.Config(store, profile)
	config.Limits = small()
	config.Focus = func(id string) bool { return id == focus }
	var book torn
	config.Journal = &book
	for protocol, prober := range config.Probers {
		config.Probers[protocol] = crashingProber{Prober: prober, crash: func() {
			if !book.closed {
				book.closed = true
				// From here on nothing of the run may change the store.
				if err := (memdriver.Outside{Store: store}).Break(t.Context(), sanity.BackendDown); err != nil {
					t.Error(err)
				}
			}
		}}
	}
	if _, err := sanity.Run(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if err := (memdriver.Outside{Store: store}).Mend(t.Context(), sanity.BackendDown); err != nil {
		t.Fatal(err)
	}
	left, err := store.Inventory()
	if err != nil || len(left) == 0 {
		t.Fatalf("the crash should leave something to sweep, got %v, %v", left, err)
	}
	sweep := memdriver.Config(store, profile)
	sweep.Launcher, sweep.Limits = config.Launcher, small()
	swept, err := sanity.Sweep(t.Context(), sweep, strings.NewReader(book.String()))
	if err != nil || len(swept.Failed) > 0 {
		t.Fatalf("sweep: %v, %q", err, swept.Failed)
	}
	if left, err = store.Inventory(); err != nil || len(left) > 0 {
		t.Errorf("the sweep left %v, %v", left, err)
	}
}

func TestRunRefusesAConfigurationWithoutSense(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config sanity.Config
		want   string
	}{
		"no target":                 {sanity.Config{}, "no driver is configured"},
		"two targets":               {sanity.Config{Endpoint: "unix:///x.sock", Launcher: sanity.Exec{Command: []string{"x"}}}, "not both"},
		"a TCP address":             {sanity.Config{Endpoint: "tcp://localhost:1"}, "only UNIX sockets"},
		"a run ID that is too long": {sanity.Config{Endpoint: "unix:///x.sock", RunID: "123456789"}, "1 to 8 characters"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := sanity.Run(t.Context(), tc.config); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestCasesAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range slices.Concat(sanity.Cases(), sanity.CasesOf(sanity.V1Alpha1)) {
		if strings.HasPrefix(c.ID, "UDS-") && seen[c.ID] {
			continue // it belongs to both contracts
		}
		if seen[c.ID] {
			t.Errorf("%s is there twice", c.ID)
		}
		seen[c.ID] = true
		for what, text := range map[string]string{
			"title": c.Title, "text": c.Rule.Text, "source": c.Rule.Source, "reason of the level": c.Why, "fix": c.Fix,
		} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s has no %s", c.ID, what)
			}
		}
		if c.Run == nil {
			t.Errorf("%s does nothing", c.ID)
		}
	}
}
