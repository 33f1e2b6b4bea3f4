// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/e2e/containers"
	"github.com/cooper-cosi/cooper/internal/testing/exampletest"
)

// Run a whole system in containers, with MinIO and its driver. The store is disconnected and reconnected.
func ExampleStartSystem() {
	exampletest.Run(func(t testing.TB) { // in a test: TestOnMinIO
		network := containers.NewNetwork(t)
		store := containers.MinIO(t, network)
		system := containers.StartSystem(t, network, store.Driver())
		t.Log(system.Kubectl("get", "bucketclasses"))
		store.Cut()
		store.Heal()
	})
	// Output:
}
