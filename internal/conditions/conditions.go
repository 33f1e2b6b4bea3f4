// SPDX-License-Identifier: Apache-2.0

// Package conditions sets the status conditions of COSI objects.
//
// It holds the closed list of reasons with the component that owns each, the
// one rule by which two components share a condition, how objects are named in
// what users read, and the facts that both components tell. It must not read or write objects: callers persist the
// slice they pass in.
package conditions

import (
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessage is the limit of metav1.Condition for message, in bytes.
const maxMessage = 32768

// A Change is the wanted state of one condition.
type Change struct {
	// Type is one of the condition types of the API package.
	Type string
	// Status is the wanted status.
	Status metav1.ConditionStatus
	// Reason is one of the reasons of this package; its owner is the writer.
	Reason Reason
	// Message tells a person what happened, to which object, and what to do.
	// It never holds a credential. Longer than the API allows, it is cut.
	Message string
	// Generation is metadata.generation of the object that was judged.
	Generation int64
}

// Set puts the change into conds and reports whether anything differs now.
// lastTransitionTime moves only when the status does, and at the first change
// of a condition that the CRD made. Set is for conditions with one writer; see
// Merge for the others.
func Set(conds *[]metav1.Condition, c Change) bool {
	if !meta.SetStatusCondition(conds, c.condition()) {
		return false
	}
	// The CRD cannot know the time: its conditions are Unknown since the epoch,
	// and the first thing that anybody says may be Unknown as well.
	if now := meta.FindStatusCondition(*conds, c.Type); now.LastTransitionTime.Unix() <= 0 {
		now.LastTransitionTime = metav1.Now()
	}
	return true
}

// Merge puts the change into conds unless the condition that stands there
// belongs to the other component and is at least as grave: False beats Unknown
// beats True, and a component takes back only what it said itself. It reports
// whether anything differs now.
//
// The caller writes the slice under a resourceVersion guard and judges again
// whenever the object changes, so that a cause hidden behind the other
// component's comes to light when that one is cleared.
func Merge(conds *[]metav1.Condition, c Change) bool {
	current := meta.FindStatusCondition(*conds, c.Type)
	if current == nil || !yields(*current, c) {
		return Set(conds, c)
	}
	// Two components that agree on True must not take turns at writing their
	// reasons; the later one only confirms a newer generation.
	if current.Status == c.Status && c.Status == metav1.ConditionTrue && current.ObservedGeneration < c.Generation {
		current.ObservedGeneration = c.Generation
		return true
	}
	return false
}

// yields reports whether the change must leave the current condition alone.
func yields(current metav1.Condition, c Change) bool {
	owner := Reason(current.Reason).Owner()
	if owner == Nobody || owner == c.Reason.Owner() {
		return false
	}
	return gravity(current.Status) >= gravity(c.Status)
}

// gravity orders the statuses: the graver one is shown.
func gravity(s metav1.ConditionStatus) int {
	switch s {
	case metav1.ConditionFalse:
		return 2
	case metav1.ConditionTrue:
		return 0
	default:
		return 1
	}
}

func (c Change) condition() metav1.Condition {
	return metav1.Condition{
		Type:               c.Type,
		Status:             c.Status,
		Reason:             string(c.Reason),
		Message:            cut(c.Message, maxMessage),
		ObservedGeneration: c.Generation,
	}
}

// cut shortens s to at most limit bytes without splitting a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[:limit]
	for s != "" && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
		s = s[:len(s)-1]
	}
	return s
}

// Is reports whether the condition of that type has that status. A condition
// that is not there is Unknown.
func Is(conds []metav1.Condition, conditionType string, status metav1.ConditionStatus) bool {
	c := meta.FindStatusCondition(conds, conditionType)
	if c == nil {
		return status == metav1.ConditionUnknown
	}
	return c.Status == status
}
