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

// The Event reasons that KEP-1979 lists for Bucket, BucketClaim and BucketAccess, followed by Cooper's own.
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
	// FailedRenderSecretKeys: keys that a user added to the Secrets of an access could not be rendered.
	FailedRenderSecretKeys EventReason = "FailedRenderSecretKeys"
	// BucketReleased: a claim has released its Bucket, which is deleted or retained according to its policy.
	BucketReleased EventReason = "BucketReleased"
	// BucketHeld: the claim of a Bucket disappeared without a regular deletion. The Bucket is not released until an
	// administrator confirms it.
	BucketHeld EventReason = "BucketHeld"
	// ChangeIgnored: a user changed a field of an ObjectBucketClaim that no longer has an effect.
	ChangeIgnored EventReason = "ChangeIgnored"
	// FailedUpdateBucket: the driver could not change parameters of a bucket.
	FailedUpdateBucket EventReason = "FailedUpdateBucket"
	// FailedAPICall: the Kubernetes API refused COSI's requests repeatedly.
	FailedAPICall EventReason = "FailedAPICall"
	// DriverNameTaken: another deployment serves a driver of the same name.
	DriverNameTaken EventReason = "DriverNameTaken"
)

// EventReasons lists all Event reasons, in the order of the documentation.
func EventReasons() []EventReason {
	return []EventReason{
		FailedCreateBucket, FailedDeleteBucket, WaitingForBucket, FailedGrantAccess, FailedRevokeAccess, FailedRenderSecretKeys,
		BucketReleased, BucketHeld, ChangeIgnored, FailedUpdateBucket, FailedAPICall, DriverNameTaken,
	}
}

// maxNote is the maximum length of an Event's note in events.k8s.io, in bytes.
const maxNote = 1024

// An EventRecorder emits Events. The API machinery's recorder counts repetitions of one reason on one object in a
// single Event.
type EventRecorder struct {
	// Events is the recorder of the manager; nil drops all Events.
	Events kevents.EventRecorder
}

// Warn reports a failure on the object. action is what COSI was doing, in UpperCamelCase, such as CreateBucket. note
// explains what to do and never contains a credential.
func (r EventRecorder) Warn(object runtime.Object, reason EventReason, action, note string) {
	r.emit(object, corev1.EventTypeWarning, reason, action, note)
}

// Inform reports a fact on the object that is not a failure.
func (r EventRecorder) Inform(object runtime.Object, reason EventReason, action, note string) {
	r.emit(object, corev1.EventTypeNormal, reason, action, note)
}

func (r EventRecorder) emit(object runtime.Object, kind string, reason EventReason, action, note string) {
	if r.Events == nil {
		return
	}
	r.Events.Eventf(withoutVersion(object), nil, kind, string(reason), action, "%s", cut(note))
}

// withoutVersion returns the object without its resourceVersion. The recorder aggregates Events by object reference,
// which includes the resourceVersion. A failure that is also written to the status would change it each time.
func withoutVersion(object runtime.Object) runtime.Object {
	copied := object.DeepCopyObject()
	if accessor, err := meta.Accessor(copied); err == nil {
		accessor.SetResourceVersion("")
	}
	return copied
}

// cut shortens a note to the maximum length without splitting a character.
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
