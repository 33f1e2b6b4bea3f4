// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"testing"
)

// Need skips a test because something is missing, or fails it if the environment requires a node.
func Need(t *testing.T, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("COOPER_REQUIRE_NODE") != "":
		t.Fatal(missing)
	default:
		t.Skip(missing)
	}
}
