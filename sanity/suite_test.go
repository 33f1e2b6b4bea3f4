// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/internal/testing/conformancetest"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// small are the limits of runs that only test the suite itself.
func small() sanity.Limits {
	return sanity.Limits{
		Repeats: 3, Names: 12, Concurrency: 4, Operations: 40, Parallel: 8,
		Settle: 100 * time.Millisecond, Start: time.Minute, Stop: time.Minute, RPC: time.Minute, Case: 5 * time.Minute,
	}
}

// run runs the whole suite against a memdriver with defects.
func run(t *testing.T, profile memdriver.Options, limits sanity.Limits, defects ...memdriver.Defect) sanity.Report {
	t.Helper()
	store := memdriver.NewStore("")
	config := memdriver.Config(store, profile, defects...)
	config.Limits = limits
	config.RunID, config.Seed = "m", 1
	report, err := sanity.Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestCleanDriverPassesEverything(t *testing.T) {
	t.Parallel()
	for _, profile := range []memdriver.Options{memdriver.Wide(), memdriver.Narrow(), memdriver.Old()} {
		t.Run(profile.Name, func(t *testing.T) {
			t.Parallel()
			store := memdriver.NewStore("")
			config := memdriver.Config(store, profile)
			conformancetest.Test(t, "memdriver: "+profile.Name, config)
		})
	}
}

// A run against a driver of another generation reports that, and creates nothing.
func TestAnotherContractIsTold(t *testing.T) {
	t.Parallel()
	for speaks, says := range map[memdriver.Generation]string{
		memdriver.Upstream: "dialect of v1alpha2", memdriver.V1alpha1: "test it with --contract v1alpha1",
	} {
		t.Run(string(speaks), func(t *testing.T) {
			t.Parallel()
			store := memdriver.NewStore("")
			launcher := memdriver.Launcher{Driver: memdriver.Options{Speaks: speaks, Store: store}}
			report, err := sanity.Run(t.Context(), sanity.Config{Launcher: launcher})
			if err != nil {
				t.Fatal(err)
			}
			for _, result := range report.Results {
				said := result.Reason
				if result.Failure != nil {
					said = result.Failure.Message
				}
				if result.Outcome == sanity.Passed || !strings.Contains(said, says) {
					t.Fatalf("%s: %v, %q, want that no case runs and each reason contains %q", result.Case.ID, result.Outcome, said, says)
				}
			}
			if left, err := store.Inventory(); err != nil || len(left) > 0 {
				t.Errorf("the run created %v, %v", left, err)
			}
		})
	}
}
