// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/e2e/containers"
)

// TestANetworkInUseIsNotMiscounted verifies that a container that a test forgot to remove is reported as a
// failure.
func TestANetworkInUseIsNotMiscounted(t *testing.T) {
	t.Parallel()
	network := containers.NewNetwork(t)
	containers.FakeS3(t, network)
	_, err := run(t.Context(), nil, "docker", "network", "rm", network.Name)
	if err == nil {
		t.Fatal("Docker has removed a network that a container is on")
	}
	if containers.Miscounted(t, network.Name, err) {
		t.Errorf("with a container on the network: %v is taken for a miscount", err)
	}
	if containers.Miscounted(t, network.Name, nil) {
		t.Error("a removal without an error is taken for a miscount")
	}
}
