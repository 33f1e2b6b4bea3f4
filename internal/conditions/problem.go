// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// A Policy is the effect of a Problem on its object.
type Policy int

const (
	// Refuses: the object cannot be served in its current form.
	Refuses Policy = iota
	// Waits: the problem is expected to resolve without a change by the user. The object is neither valid nor invalid.
	Waits
	// Blocks: the object is invalid until another object is released or repaired. After that it can be provisioned.
	Blocks
	// Degrades: the object was provisioned and continues to work.
	Degrades
)

// A Problem describes why an object is not valid or not ready.
type Problem struct {
	// Reason is the reason of the conditions that report the problem.
	Reason Reason
	// Message is for users: what happened, to which object, and what to do.
	Message string
	// Policy is the effect on the object.
	Policy Policy
	// Confirm requires a read from the API server before the problem is reported, because the cache may be stale.
	Confirm bool
}

// Refuse returns a Problem that makes the object invalid.
func Refuse(reason Reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...), Policy: Refuses, Confirm: true}
}

// Wait returns a Problem that is expected to resolve.
func Wait(reason Reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...), Policy: Waits}
}

// Block returns a Problem that resolves when another object is released or repaired.
func Block(reason Reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...), Policy: Blocks}
}

// Confirmed returns the problem with Confirm set.
func (p *Problem) Confirmed() *Problem {
	p.Confirm = true
	return p
}

// Validated returns the ResourcesValidated condition that results from the problem.
func (p *Problem) Validated(generation int64) Change {
	status := metav1.ConditionFalse
	if p.Policy == Waits {
		status = metav1.ConditionUnknown
	}
	return Change{Type: cosiapi.ConditionResourcesValidated, Status: status, Reason: p.Reason, Message: p.Message, Generation: generation}
}

// Known reports whether the conditions already report the problem.
func (p *Problem) Known(list []metav1.Condition) bool {
	said := meta.FindStatusCondition(list, cosiapi.ConditionResourcesValidated)
	return said != nil && said.Status == p.Validated(0).Status && said.Reason == string(p.Reason)
}

// Report applies the problem to the conditions. It keeps the other component's ResourcesValidated condition if that is
// at least as severe (see Merge). A provisioned object stays provisioned.
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
