// SPDX-License-Identifier: Apache-2.0

package sanitytest_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/sanitytest"
)

// A test of a driver, in the driver's own module: it builds the program and holds it against all cases. What the
// configuration does not say makes the cases that need it not applicable.
func ExampleTest() {
	var t *testing.T // that of TestConformance(t *testing.T)
	binary := sanitytest.Build(t, "./cmd/my-driver")
	sanitytest.Test(t, sanity.Config{
		Launcher: sanity.Exec{Command: []string{binary}},
		Params:   sanity.Params{Bucket: map[string]string{"tier": "hot"}, Invalid: map[string]string{"tier": "lukewarm"}},
		Probers:  sanity.Probers(sanity.ProberOptions{}),
	}, sanity.Should)
}
