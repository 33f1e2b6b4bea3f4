// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/internal/reconciler"
)

func TestIncludes(t *testing.T) {
	t.Parallel()
	if !(reconciler.Scope{}).Includes("any") {
		t.Error("a scope without namespaces must include all of them")
	}
	one := reconciler.Scope{Namespaces: []string{"team-a"}}
	if !one.Includes("team-a") || one.Includes("team-b") {
		t.Error("a scope with namespaces must include exactly those")
	}
}
