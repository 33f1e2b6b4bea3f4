// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/internal/conformancetest"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// small are the limits of runs in which only the suite itself is tested.
func small() sanity.Limits {
	return sanity.Limits{
		Repeats: 3, Names: 12, Concurrency: 4, Operations: 40, Parallel: 8,
		Settle: 100 * time.Millisecond, Start: time.Minute, Stop: time.Minute, RPC: time.Minute, Case: 5 * time.Minute,
	}
}

// run holds a memdriver with defects against the whole suite.
func run(t *testing.T, profile memdriver.Profile, limits sanity.Limits, defects ...memdriver.Defect) sanity.Report {
	t.Helper()
	store := memdriver.NewStore("")
	config := memdriver.Config(store, profile)
	config.Launcher = memdriver.Launcher{Store: store, Profile: profile, Defects: memdriver.With(defects...)}
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
	for _, profile := range []memdriver.Profile{memdriver.Wide(), memdriver.Narrow(), memdriver.Old()} {
		t.Run(profile.Name, func(t *testing.T) {
			t.Parallel()
			store := memdriver.NewStore("")
			config := memdriver.Config(store, profile)
			config.Launcher = memdriver.Launcher{Store: store, Profile: profile}
			conformancetest.Test(t, "memdriver: "+profile.Name, config)
		})
	}
}
