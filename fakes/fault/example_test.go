// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"fmt"

	"github.com/cooper-cosi/cooper/fakes/fault"
)

// A fake asks its Injector about every call. This one throttles the second and the third attempt to make a key.
func Example() {
	plan, err := fault.ParsePlan([]byte(`
rules:
- operation: "iam:CreateAccessKey"
  after: 1
  times: 2
  code: Throttling
`))
	if err != nil {
		panic(err)
	}
	var faults fault.Injector
	if err := faults.Set(plan); err != nil {
		panic(err)
	}
	for attempt := 1; attempt <= 4; attempt++ {
		if rule := faults.Decide(fault.Subject{Operation: "iam:CreateAccessKey"}); rule != nil {
			fmt.Printf("attempt %d: %s with %s\n", attempt, rule.Effect, rule.Code)
		}
	}
	// Output:
	// attempt 2: fail with Throttling
	// attempt 3: fail with Throttling
}
