// SPDX-License-Identifier: Apache-2.0

// Package conditions sets the status conditions of COSI objects.
//
// It defines the closed list of reasons with the owner of each reason, the rule for conditions that two components
// share, the format of object names in messages, and the messages that both components use. It does not read or write
// objects: it changes the slice of conditions that the caller passes, and the caller writes the object.
package conditions

import (
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxMessage is the maximum length of the message of a metav1.Condition, in bytes.
const MaxMessage = 32768

// A Change is the desired state of one condition.
type Change struct {
	// Type is one of the condition types of the API package.
	Type string
	// Status is the desired status.
	Status metav1.ConditionStatus
	// Reason is one of the reasons of this package. Its owner is the writer.
	Reason Reason
	// Message is for users: what happened, to which object, and what to do. It never contains a credential. A message
	// that exceeds the API's limit is truncated.
	Message string
	// Generation is the metadata.generation of the object that was evaluated.
	Generation int64
}

// Set applies the change to conds and reports whether anything changed. It updates lastTransitionTime only if the
// status changes, or if it replaces a condition that the CRD's default created. Set is for conditions with one writer;
// use Merge for the others.
func Set(conds *[]metav1.Condition, c Change) bool {
	if !meta.SetStatusCondition(conds, c.condition()) {
		return false
	}
	// The CRD's default cannot contain the current time: its conditions are Unknown since the epoch, and the first
	// real status may also be Unknown.
	if now := meta.FindStatusCondition(*conds, c.Type); now.LastTransitionTime.Unix() <= 0 {
		now.LastTransitionTime = metav1.Now()
	}
	return true
}

// Merge applies the change to conds, unless the current condition belongs to the other component and is at least as
// severe. False is more severe than Unknown, and Unknown more than True. A component only clears its own reasons.
// Merge reports whether anything changed.
//
// The caller must guard the write with the resourceVersion, and evaluate the object again whenever it changes. A cause
// that was hidden by the other component's reason therefore appears once that reason is cleared.
func Merge(conds *[]metav1.Condition, c Change) bool {
	current := meta.FindStatusCondition(*conds, c.Type)
	if current == nil || !yields(*current, c) {
		return Set(conds, c)
	}
	// Two components that agree on True must not overwrite each other's reasons in turn. The later one only confirms a
	// newer generation.
	if current.Status == c.Status && c.Status == metav1.ConditionTrue && current.ObservedGeneration < c.Generation {
		current.ObservedGeneration = c.Generation
		return true
	}
	return false
}

// yields reports whether the change must not replace the current condition.
func yields(current metav1.Condition, c Change) bool {
	owner := Reason(current.Reason).Owner()
	if owner == Unowned || owner == c.Reason.Owner() {
		return false
	}
	return gravity(current.Status) >= gravity(c.Status)
}

// gravity returns the severity of a status. The more severe status is shown.
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
		Message:            Cut(c.Message, MaxMessage),
		ObservedGeneration: c.Generation,
	}
}

// Cut truncates s to at most limit bytes without splitting a character.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[:limit]
	for s != "" && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
		s = s[:len(s)-1]
	}
	return s
}

// Is reports whether the condition of that type has that status. A missing condition counts as Unknown.
func Is(conds []metav1.Condition, conditionType string, status metav1.ConditionStatus) bool {
	c := meta.FindStatusCondition(conds, conditionType)
	if c == nil {
		return status == metav1.ConditionUnknown
	}
	return c.Status == status
}
