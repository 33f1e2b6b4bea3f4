// SPDX-License-Identifier: Apache-2.0

// Package sanitytest runs the conformance suite under go test. Test creates one subtest for each case. Build builds
// the driver's program, and Backend is a proxy that simulates failures of the driver's store. The package contains no
// checks of its own.
//
// Cases that need a setting that the Config lacks are reported as not applicable.
//
// With the following test in the driver's module, go test -run TestConformance/BKT-CRT-003 runs only that case:
//
//	func TestConformance(t *testing.T) {
//		sanitytest.Test(t, sanity.Config{
//			Launcher: sanity.Exec{Command: []string{sanitytest.Build(t, "./cmd/my-driver")}},
//			Params:   sanity.Params{Bucket: map[string]string{"tier": "hot"}},
//			Probers:  sanity.Probers(sanity.ProberOptions{}),
//		}, sanity.Should)
//	}
package sanitytest

import (
	"testing"

	"github.com/cooper-cosi/cooper/sanity"
)

// Test runs the suite against the driver of config. If a case of level Must, or of a level in strict, fails or is not
// run, its subtest fails. Failures of other levels are only logged. Cases that are not applicable are skipped with the
// reason.
func Test(t *testing.T, config sanity.Config, strict ...sanity.Level) sanity.Report {
	t.Helper()
	report, err := sanity.Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	fatal := map[sanity.Level]bool{sanity.Must: true}
	for _, level := range strict {
		fatal[level] = true
	}
	for _, result := range report.Results {
		t.Run(result.Case.ID, func(t *testing.T) { judge(t, result, fatal[result.Case.Level]) })
	}
	t.Log(report.Verdict())
	return report
}

func judge(t *testing.T, result sanity.Result, fatal bool) {
	t.Helper()
	switch result.Outcome {
	case sanity.Passed:
	case sanity.NotApplicable:
		t.Skip(result.Reason)
	case sanity.Failed, sanity.NotRun:
		if fatal {
			t.Error(result.Explain())
			return
		}
		t.Log(result.Explain())
	}
	for _, leftover := range result.Leftovers {
		t.Logf("left behind: %s", leftover)
	}
}
