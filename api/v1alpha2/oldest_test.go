// SPDX-License-Identifier: Apache-2.0

package v1alpha2_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/testenv/oldesttest"
)

// TestTheOldestKubernetes holds all rules of the API against it, and what it selects by.
func TestTheOldestKubernetes(t *testing.T) {
	t.Parallel()
	oldesttest.Again(t,
		"TestRules", "TestConditionsStartUnknownWithoutAWrite", "TestBucketsAreSelectedByDriver",
		"TestAccessesAreSelectedByDriverOnceHandedOff", "TestNamesForPeople",
	)
}
