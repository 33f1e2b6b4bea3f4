// SPDX-License-Identifier: Apache-2.0

// Package reasons explains the terms in which COSI reports state and problems to users: reasons of conditions and
// Events, the words of kubectl cosi status, gRPC codes of drivers, and denied requests to the API server.
// docs/reference/reasons.md and the output of `kubectl cosi explain` are generated from these explanations.
package reasons

import (
	"strings"

	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// A Kind is the place where a user sees a reason.
type Kind string

// The kinds, in the order of the documentation.
const (
	// Condition is the reason of a condition of a BucketClaim, Bucket or BucketAccess.
	Condition Kind = "condition"
	// Event is the reason of an Event.
	Event Kind = "Event"
	// Status is a Word.
	Status Kind = "status"
	// Code is the gRPC code of a failed driver call, in the message of a condition or Event.
	Code Kind = "code of a driver"
	// Refusal is the message with which a CRD or an admission policy refuses a request.
	Refusal Kind = "refusal"
	// Failure is the message of an error of kubectl cosi or cooper.
	Failure Kind = "error"
)

// A Text explains one reason in full sentences. For refusals and errors, Reason is the message, which also explains
// what happened.
type Text struct {
	Kind   Kind
	Reason string
	// Happened is what COSI found or did, Why lists the usual causes, and Do is what the reader should do next. If only
	// an administrator can do it, Do says so.
	Happened, Why, Do string
}

// All returns the texts of all reasons, ordered by kind. It does not include refusals and errors; see Refusals and
// Errors.
func All() []Text {
	var all []Text
	for reason, text := range ofController() {
		all = append(all, text.of(Condition, string(reason)))
	}
	for reason, text := range ofSidecar() {
		all = append(all, text.of(Condition, string(reason)))
	}
	for reason, text := range ofEvents() {
		all = append(all, text.of(Event, string(reason)))
	}
	for word, text := range ofWords() {
		all = append(all, text.of(Status, word))
	}
	for code, text := range ofCodes() {
		all = append(all, text.of(Code, code))
	}
	return sorted(all)
}

// Find returns the texts of a reason, ignoring case. A condition and an Event may have the same reason. If there is no
// such reason, it returns the texts of the refusals and errors whose messages the argument contains.
func Find(reason string) []Text {
	var found []Text
	for _, text := range All() {
		if strings.EqualFold(text.Reason, reason) {
			found = append(found, text)
		}
	}
	if len(found) == 0 {
		return messagesIn(reason)
	}
	return found
}

// OfCondition returns the text of a condition's reason, or an empty one for an unknown reason.
func OfCondition(reason string) Text {
	for _, text := range Find(reason) {
		if text.Kind == Condition {
			return text
		}
	}
	return Text{}
}

// explained is a Text without kind and reason.
type explained struct{ happened, why, do string }

func (e explained) of(kind Kind, reason string) Text {
	return Text{Kind: kind, Reason: reason, Happened: e.happened, Why: e.why, Do: e.do}
}

// Common causes and instructions.
const (
	normal   = "This is the normal state."
	nothing  = "Nothing."
	doctor   = "Run kubectl cosi doctor."
	remake   = "The spec is immutable: delete the object and create it again as the message describes."
	recreate = "An administrator must correct the class. Then create the object again."
)

// ofEvents returns the texts of the reasons of Events.
func ofEvents() map[reconciler.EventReason]explained {
	return map[reconciler.EventReason]explained{
		reconciler.FailedCreateBucket: {
			"A bucket could not be created, or an imported bucket could not be verified.",
			"The driver or its backend refused the request or is unreachable, or the claim, its class and its Bucket do not match. The note of the Event gives the cause.",
			"Read the conditions of the BucketClaim. They show whether COSI retries. " + doctor,
		},
		reconciler.FailedDeleteBucket: {
			"A bucket or its claim could not be deleted.",
			"BucketAccesses still use it, the bucket is not empty, or the backend refused.",
			"Delete the BucketAccesses that the note names, or empty the bucket. The condition DeprovisionFailed lists what remains.",
		},
		reconciler.WaitingForBucket: {
			"Access cannot be granted before the bucket exists.",
			"The BucketClaim or its Bucket is not provisioned yet.",
			"Wait a minute. If the reason remains, run kubectl cosi status for the BucketClaim.",
		},
		reconciler.FailedGrantAccess: {
			"Access could not be granted.",
			"The class disallows the request, the name of the Secret is in use, or the driver or its backend refused.",
			"Read the conditions of the BucketAccess. They show whether COSI retries.",
		},
		reconciler.FailedRevokeAccess: {
			"Access could not be revoked, or its Secret could not be deleted.",
			"The backend refused or is unreachable, or another BucketAccess uses the same account.",
			"Wait until the driver is available: COSI retries. If the error persists, an administrator must read the condition DeprovisionFailed.",
		},
		reconciler.FailedRenderSecretKeys: {
			"Keys that the annotation cooper.dev/secret-keys adds to the Secrets of an access could not be rendered. The other keys are delivered.",
			"The annotation has an error, a preset does not support the protocol or a value, or the Secret would be too large.",
			"Correct the annotation as the note describes.",
		},
		reconciler.BucketReleased: {
			"A deleted BucketClaim has released its Bucket.",
			"This is a normal step of the deletion. The Bucket is deleted or retained according to its deletionPolicy, which the note repeats.",
			nothing,
		},
		reconciler.BucketHeld: {
			"The BucketClaim of a Bucket disappeared without a regular deletion, so COSI does not release the Bucket.",
			"The cluster was restored from a backup, or the claim's finalizer was removed manually.",
			"An administrator must confirm the release with the annotation that the condition ReleaseHeld names, or set deletionPolicy: Retain.",
		},
		reconciler.ChangeIgnored: {
			"A change of an ObjectBucketClaim has no effect.",
			"The setting is fixed when a bucket is created, the StorageClass does not allow it, or the driver cannot change it or refused the value.",
			"Revert the change, or create another claim with the new settings and copy the data.",
		},
		reconciler.FailedUpdateBucket: {
			"The driver could not change parameters of a bucket as an ObjectBucketClaim requests.",
			"The driver or the store refused a value, or is unreachable. A part of the change may be applied.",
			"Correct or revert the change of the claim. COSI retries other failures.",
		},
		reconciler.FailedAPICall: {
			"The Kubernetes API refused a request of COSI repeatedly.",
			"A role or an admission policy forbids the request, a webhook does not respond, or the API server is overloaded.",
			"An administrator must fix the cause that the note names, and compare the roles in the cluster with those in deploy/rbac.",
		},
		reconciler.DriverNameTaken: {
			"Two deployments serve a driver of the same name, and one of the two sidecars stays passive.",
			"A driver was installed twice, or moved to another namespace or name.",
			"An administrator must rename one of the drivers. If the driver was moved, an administrator must remove the annotation cooper.dev/owner from the Lease that the note names.",
		},
	}
}
