// SPDX-License-Identifier: Apache-2.0

package tree

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/internal/reasons"
)

// A State says how far what a node stands for is, of whatever kind it is.
type State string

// The states, the graver ones behind.
const (
	// Good is said of what is as it should be.
	Good State = "Good"
	// Unknown is said of what the user may not read.
	Unknown State = "Unknown"
	// Waiting is said of what somebody is at work on, or will be.
	Waiting State = "Waiting"
	// Failed is said of what does not become good by itself.
	Failed State = "Failed"
)

// gravity orders the states.
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

// Kinds of nodes that are no kinds of Kubernetes; the others are called as there.
const (
	KindDriver = "Driver"
)

// A Node is an object with those that hang on it.
type Node struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// State is for programs, Status is the word for it that fits the kind.
	State  State        `json:"state"`
	Status reasons.Word `json:"status"`
	// Reason and Message are those of the condition that decides, or say why the
	// object cannot be shown.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Do is what to do next, if there is anything.
	Do string `json:"do,omitempty"`
	// Details are facts for who looks closer.
	Details    []Detail           `json:"details,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Created    *metav1.Time       `json:"created,omitempty"`
	// Deleted is when the deletion of the object began.
	Deleted  *metav1.Time `json:"deleted,omitempty"`
	Children []*Node      `json:"children,omitempty"`
}

// A Detail is a fact with its name.
type Detail struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// detail adds a fact, unless there is none.
func (n *Node) detail(name, value string) {
	if value != "" {
		n.Details = append(n.Details, Detail{Name: name, Value: Plain(value)})
	}
}

// Worst is the gravest state of the objects in the trees. A driver whose sidecar
// does not run is none of them: what is provisioned stays so.
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

// Walk calls visit for every node, parents first. An object that hangs in several
// places is visited once.
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
