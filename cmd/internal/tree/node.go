// SPDX-License-Identifier: Apache-2.0

package tree

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/internal/reasons"
)

// A State is the state of a node, independent of its kind.
type State string

// The states, in increasing severity.
const (
	// Good means that the object is as desired.
	Good State = "Good"
	// Unknown means that the user may not read the object.
	Unknown State = "Unknown"
	// Waiting means that a component is or will be processing the object.
	Waiting State = "Waiting"
	// Failed means that the object does not recover without a change.
	Failed State = "Failed"
)

// gravity returns the rank of the state by severity.
func (s State) gravity() int {
	switch s {
	case Failed:
		return 3
	case Waiting:
		return 2
	case Unknown:
		return 1
	default:
		return 0
	}
}

// Kinds of nodes that are not Kubernetes kinds.
const (
	KindDriver = "Driver"
)

// A Node is an object with its children.
type Node struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// State is for programs. Status is the word for the state that fits the kind.
	State  State        `json:"state"`
	Status reasons.Word `json:"status"`
	// Reason and Message come from the condition that determines the state, or explain why the object cannot
	// be shown.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Do is what to do next, if anything.
	Do string `json:"do,omitempty"`
	// Details are additional facts for the detailed view.
	Details    []Detail           `json:"details,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Created    *metav1.Time       `json:"created,omitempty"`
	// Deleted is the deletion timestamp.
	Deleted  *metav1.Time `json:"deleted,omitempty"`
	Children []*Node      `json:"children,omitempty"`
}

// A Detail is a named fact.
type Detail struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// detail adds a fact unless the value is empty.
func (n *Node) detail(name, value string) {
	if value != "" {
		n.Details = append(n.Details, Detail{Name: name, Value: Plain(value)})
	}
}

// Worst returns the most severe state of the objects in the trees. It ignores drivers whose sidecar does not
// run, because existing buckets keep working.
func Worst(nodes []*Node) State {
	worst := Good
	for _, n := range nodes {
		for _, state := range []State{n.State, Worst(n.Children)} {
			if n.Kind != KindDriver && state != Unknown && state.gravity() > worst.gravity() {
				worst = state
			}
		}
	}
	return worst
}

// Walk calls visit for every node, parents first. It visits an object with several parents once.
func Walk(nodes []*Node, visit func(*Node)) {
	walk(nodes, visit, map[[3]string]bool{})
}

func walk(nodes []*Node, visit func(*Node), seen map[[3]string]bool) {
	for _, n := range nodes {
		if id := [3]string{n.Kind, n.Namespace, n.Name}; !seen[id] {
			seen[id] = true
			visit(n)
		}
		walk(n.Children, visit, seen)
	}
}
