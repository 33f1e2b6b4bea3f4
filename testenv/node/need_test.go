// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"testing"
)

// Need skips a test where something is missing, or fails it where a node must run.
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
