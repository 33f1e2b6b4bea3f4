// SPDX-License-Identifier: Apache-2.0

package scope_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/internal/scope"
)

func TestIncludes(t *testing.T) {
	t.Parallel()
	if !(scope.Scope{}).Includes("any") {
		t.Error("a scope without namespaces must include all of them")
	}
	one := scope.Scope{Namespaces: []string{"team-a"}}
	if !one.Includes("team-a") || one.Includes("team-b") {
		t.Error("a scope with namespaces must include exactly those")
	}
}
