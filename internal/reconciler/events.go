// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	kevents "k8s.io/client-go/tools/events"
)

// An EventReason is the reason of an Event. The list is closed.
type EventReason string

// The reasons that KEP-1979 lists for Events on Bucket, BucketClaim and
// BucketAccess, and those of ours behind them.
const (
	// FailedCreateBucket: a bucket could not be created or verified.
	FailedCreateBucket EventReason = "FailedCreateBucket"
	// FailedDeleteBucket: a bucket could not be deleted.
	FailedDeleteBucket EventReason = "FailedDeleteBucket"
	// WaitingForBucket: access cannot be granted before the bucket exists.
	WaitingForBucket EventReason = "WaitingForBucket"
	// FailedGrantAccess: access could not be granted.
	FailedGrantAccess EventReason = "FailedGrantAccess"
	// FailedRevokeAccess: access could not be revoked.
	FailedRevokeAccess EventReason = "FailedRevokeAccess"
	// BucketReleased: a claim has released its Bucket, which is deleted or
	// retained as its policy says.
	BucketReleased EventReason = "BucketReleased"
	// BucketHeld: the claim of a Bucket is gone without a trace, and the Bucket is
	// not released until an administrator confirms it.
	BucketHeld EventReason = "BucketHeld"
	// FailedAPICall: the Kubernetes API refused COSI again and again.
	FailedAPICall EventReason = "FailedAPICall"
	// DriverNameTaken: another deployment serves a driver of that name.
	DriverNameTaken EventReason = "DriverNameTaken"
)

// EventReasons lists all of them, in the order of the documentation.
func EventReasons() []EventReason {
	return []EventReason{
		FailedCreateBucket, FailedDeleteBucket, WaitingForBucket, FailedGrantAccess, FailedRevokeAccess,
		BucketReleased, BucketHeld, FailedAPICall, DriverNameTaken,
	}
}

// maxNote is the limit of events.k8s.io for note, in bytes.
const maxNote = 1024

// An EventRecorder emits Events. Recorder of the API machinery counts repetitions of
// one reason on one object in a single Event.
type EventRecorder struct {
	// Events is the recorder of the manager; nil drops all Events.
	Events kevents.EventRecorder
}

// Warn reports a failure on the object. action is what COSI was doing, in one
// capitalised word pair such as CreateBucket; note tells what to do and never
// holds a credential.
func (r EventRecorder) Warn(object runtime.Object, reason EventReason, action, note string) {
	r.emit(object, corev1.EventTypeWarning, reason, action, note)
}

// Inform reports a fact on the object that is no failure.
func (r EventRecorder) Inform(object runtime.Object, reason EventReason, action, note string) {
	r.emit(object, corev1.EventTypeNormal, reason, action, note)
}

func (r EventRecorder) emit(object runtime.Object, kind string, reason EventReason, action, note string) {
	if r.Events == nil {
		return
	}
	r.Events.Eventf(withoutVersion(object), nil, kind, string(reason), action, "%s", cut(note))
}

// withoutVersion returns the object without its resourceVersion. The recorder keeps
// one Event for all repetitions on one reference, and a failure that is also
// written to the status would make another reference each time.
func withoutVersion(object runtime.Object) runtime.Object {
	copied := object.DeepCopyObject()
	if accessor, err := meta.Accessor(copied); err == nil {
		accessor.SetResourceVersion("")
	}
	return copied
}

// cut shortens a note to what the API takes, between two characters.
func cut(note string) string {
	if len(note) <= maxNote {
		return note
	}
	const end = "..."
	n := maxNote - len(end)
	for n > 0 && !utf8.RuneStart(note[n]) {
		n--
	}
	return note[:n] + end
}
