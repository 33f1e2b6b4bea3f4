// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// A Policy says what a Problem means for its object.
type Policy int

const (
	// Refuses: the object cannot be served as it is.
	Refuses Policy = iota
	// Waits: the problem is expected to pass; the object is neither valid nor
	// invalid.
	Waits
	// Blocks: the object is invalid until somebody frees or repairs another
	// object, and can be provisioned then.
	Blocks
	// Degrades: the object was provisioned and goes on to work.
	Degrades
)

// A Problem is what is wrong with an object.
type Problem struct {
	// Reason is the reason of the conditions that show the problem.
	Reason Reason
	// Message tells a person what happened, to which object, and what to do.
	Message string
	// Policy says what follows.
	Policy Policy
	// Confirm says that what the cache says is not enough to report the problem.
	Confirm bool
}

// Refuse returns a Problem that makes the object invalid.
func Refuse(reason Reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...), Policy: Refuses, Confirm: true}
}

// Wait returns a Problem that is expected to pass.
func Wait(reason Reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...), Policy: Waits}
}

// Block returns a Problem that passes when somebody frees or repairs another
// object.
func Block(reason Reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...), Policy: Blocks}
}

// Confirmed returns the problem as one that must be confirmed past the cache.
func (p *Problem) Confirmed() *Problem {
	p.Confirm = true
	return p
}

// Validated returns what the problem makes of ResourcesValidated.
func (p *Problem) Validated(generation int64) Change {
	status := metav1.ConditionFalse
	if p.Policy == Waits {
		status = metav1.ConditionUnknown
	}
	return Change{Type: cosiapi.ConditionResourcesValidated, Status: status, Reason: p.Reason, Message: p.Message, Generation: generation}
}

// Known reports whether the conditions show the problem already.
func (p *Problem) Known(list []metav1.Condition) bool {
	said := meta.FindStatusCondition(list, cosiapi.ConditionResourcesValidated)
	return said != nil && said.Status == p.Validated(0).Status && said.Reason == string(p.Reason)
}

// Report puts the problem into the conditions. What the other component says of
// ResourcesValidated is kept if it is at least as grave (see Merge), and an
// object that is provisioned stays so.
func (p *Problem) Report(list *[]metav1.Condition, generation int64) {
	change := p.Validated(generation)
	Merge(list, change)
	if Is(*list, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return
	}
	change.Type = cosiapi.ConditionProvisioned
	if p.Policy == Blocks {
		change.Status = metav1.ConditionUnknown
	}
	Set(list, change)
}
