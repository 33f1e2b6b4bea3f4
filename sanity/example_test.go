// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"context"
	"fmt"

	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// Runs the cases against a driver: a running one (Config.Endpoint), or a program that the suite starts
// (Config.Launcher: Exec). The driver here runs in memory and returns an error when a bucket is created twice. Only
// the cases about a repeated creation are selected.
func ExampleRun() {
	store, profile := memdriver.NewStore(""), memdriver.Wide()
	config := memdriver.Config(store, profile, memdriver.SecondCreateFails)
	config.Focus = func(id string) bool { return id == "BKT-CRT-001" || id == "BKT-CRT-003" }

	report, err := sanity.Run(context.Background(), config)
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Verdict())
	for _, result := range report.Of(sanity.Failed) {
		fmt.Println(result.Case.ID, result.Case.Title)
		fmt.Println(result.Case.Rule.Source)
		fmt.Println(result.Case.Fix)
	}
	// Output:
	// not conformant: MUST 1/2, SHOULD 0/0, ADVICE 0/0; only 2 of 168 cases were selected
	// BKT-CRT-003 returns the same response to the first call and to repeated calls
	// KEP-1979 v1alpha2, section DriverCreateBucket
	// return OK with the same info if the bucket exists and is compatible
}
