// SPDX-License-Identifier: Apache-2.0

package sanitytest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sanity/sanitytest"
)

func TestSubtestsForEveryCase(t *testing.T) {
	t.Parallel()
	store, profile := memdriver.NewStore(""), memdriver.Wide()
	config := memdriver.Config(store, profile)
	config.Limits = sanity.Limits{Repeats: 2, Names: 5, Concurrency: 3, Operations: 20, Settle: time.Second}
	config.Focus = func(id string) bool { return strings.HasPrefix(id, "BKT-") || id == "ACC-GRT-004" }
	report := sanitytest.Test(t, config, sanity.Should, sanity.Advice)
	if must := report.Count(sanity.Must); must.Applicable == 0 || must.Passed < must.Applicable || report.Conformant() {
		t.Errorf("%s, conformant %v; want all that was selected passed, and no verdict on the driver", report.Verdict(), report.Conformant())
	}
}
