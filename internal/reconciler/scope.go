// SPDX-License-Identifier: Apache-2.0

package reconciler

import "slices"

// A Scope is the set of namespaces that a component works in. The zero value
// is all of them. A Bucket belongs to the namespace of its claim.
type Scope struct {
	// Namespaces are the namespaces in scope; none means all.
	Namespaces []string
}

// Includes reports whether objects of that namespace are in scope.
func (s Scope) Includes(namespace string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace)
}

// Each returns the namespaces to list one by one; an empty one stands for all.
func (s Scope) Each() []string {
	if len(s.Namespaces) == 0 {
		return []string{""}
	}
	return s.Namespaces
}
