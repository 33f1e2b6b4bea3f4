// SPDX-License-Identifier: Apache-2.0

package reconciler

import "slices"

// A Scope is the set of namespaces that a component serves. The zero value includes all. A Bucket belongs to the
// namespace of its claim.
type Scope struct {
	// Namespaces are the namespaces in scope. None means all.
	Namespaces []string
}

// Includes reports whether objects of a namespace are in scope.
func (s Scope) Includes(namespace string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace)
}

// Each returns the namespaces to list one by one. An empty string stands for all namespaces.
func (s Scope) Each() []string {
	if len(s.Namespaces) == 0 {
		return []string{""}
	}
	return s.Namespaces
}
