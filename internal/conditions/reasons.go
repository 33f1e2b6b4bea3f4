// SPDX-License-Identifier: Apache-2.0

package conditions

// An Owner is the component that may set and clear a reason.
type Owner string

const (
	// Controller is the COSI Controller.
	Controller Owner = "controller"
	// Sidecar is the COSI Sidecar.
	Sidecar Owner = "sidecar"
	// Unowned is the owner of reasons that any component may replace: the initial reason that the CRD sets, and reasons
	// that are not in this list.
	Unowned Owner = ""
)

// A Reason is the machine-readable cause of a condition. The list is closed: reasons outside of it have no owner, and
// a test asserts that controller and sidecar set no others.
type Reason string

// Initial is the reason of the conditions of a new object.
const Initial Reason = "Pending"

// Reasons of the Controller.
const (
	// ControllerValidated: all checks of the Controller succeeded.
	ControllerValidated Reason = "ReferencesValid"
	// WaitingForClass: the class does not exist yet.
	WaitingForClass Reason = "WaitingForClass"
	// WaitingForBucketClaim: a referenced claim does not exist or is not
	// provisioned yet.
	WaitingForBucketClaim Reason = "WaitingForBucketClaim"
	// WaitingForBucket: the Bucket does not exist or is not provisioned yet.
	WaitingForBucket Reason = "WaitingForBucket"
	// WaitingForBucketAccess: the deletion waits for the deletion of an access.
	WaitingForBucketAccess Reason = "WaitingForBucketAccess"
	// ClassRejected: the class does not allow the request.
	ClassRejected Reason = "ClassRejected"
	// BucketMissing: the Bucket that a claim is bound to no longer exists.
	BucketMissing Reason = "BucketMissing"
	// BindingInvalid: Bucket and claim do not refer to each other.
	BindingInvalid Reason = "BindingInvalid"
	// BucketClaimDeleting: a referenced claim is being deleted.
	BucketClaimDeleting Reason = "BucketClaimDeleting"
	// BucketClaimMissing: a claim no longer exists although the access uses it or the Bucket is bound to it.
	BucketClaimMissing Reason = "BucketClaimMissing"
	// ProtocolUnsupported: the Bucket does not offer a requested protocol.
	ProtocolUnsupported Reason = "ProtocolUnsupported"
	// DriverMismatch: Bucket and access belong to different drivers.
	DriverMismatch Reason = "DriverMismatch"
	// ServiceAccountRequired: the class authenticates by ServiceAccount and
	// the access names none.
	ServiceAccountRequired Reason = "ServiceAccountRequired"
	// AccessModeDisallowed: the class forbids a requested access mode.
	AccessModeDisallowed Reason = "AccessModeDisallowed"
	// MultiBucketDisallowed: the class allows one bucket for each access.
	MultiBucketDisallowed Reason = "MultiBucketDisallowed"
	// BucketInvalid: the Bucket itself reports ResourcesValidated=False.
	BucketInvalid Reason = "BucketInvalid"
	// SpecInvalid: the object contradicts itself.
	SpecInvalid Reason = "SpecInvalid"
)

// Reasons of the Sidecar.
const (
	// SidecarValidated: all checks of the Sidecar succeeded.
	SidecarValidated Reason = "Valid"
	// Provisioned: the driver provisioned the bucket or access.
	Provisioned Reason = "Provisioned"
	// Retrying: the driver reported a retryable failure; COSI retries.
	Retrying Reason = "Retrying"
	// Terminal: the driver reported a terminal failure. COSI retries only when the object or the driver changes, or at
	// the resync.
	Terminal Reason = "Refused"
	// RPCSucceeded: the last RPC of that kind succeeded.
	RPCSucceeded Reason = "Succeeded"
	// DriverIncompatible: the driver implements another version of the contract.
	DriverIncompatible Reason = "DriverIncompatible"
	// DriverResponseInvalid: the driver returned OK with an invalid response.
	DriverResponseInvalid Reason = "DriverResponseInvalid"
	// DriverLacksProtocol: the driver does not advertise a protocol that the
	// Bucket or access must have.
	DriverLacksProtocol Reason = "DriverLacksProtocol"
	// BucketNotUsable: a Bucket of the access is missing, is being deleted, or
	// does not match the access.
	BucketNotUsable Reason = "BucketNotUsable"
	// WaitingForProvisionedBucket: a Bucket of the access is not provisioned
	// yet.
	WaitingForProvisionedBucket Reason = "WaitingForProvisionedBucket"
	// SecretTaken: a Secret of that name exists and has another owner.
	SecretTaken Reason = "SecretTaken"
	// SecretNotWritable: the API server refused to store a Secret.
	SecretNotWritable Reason = "SecretNotWritable"
	// SecretKeysRendered: the access Secrets have all keys that the user added.
	SecretKeysRendered Reason = "Rendered"
	// SecretKeysPending: the keys that the user added are rendered after a wait.
	SecretKeysPending Reason = "SecretKeysPending"
	// SecretKeysInvalid: some keys that the user added cannot be rendered.
	SecretKeysInvalid Reason = "SecretKeysInvalid"
	// StatusDegraded: the status contradicts the spec or has lost data that further RPCs need.
	StatusDegraded Reason = "StatusDegraded"
	// ClaimStillBound: the object is being deleted while its claim still exists.
	ClaimStillBound Reason = "ClaimStillBound"
	// IDShared: the object is being deleted while another one has the same bucket ID or account ID.
	IDShared Reason = "IDShared"
)

// Owner returns the component that owns the reason.
func (r Reason) Owner() Owner {
	switch r {
	case ControllerValidated, WaitingForClass, WaitingForBucketClaim, WaitingForBucket, WaitingForBucketAccess,
		ClassRejected, BucketMissing,
		BindingInvalid, BucketClaimDeleting, BucketClaimMissing, ProtocolUnsupported, DriverMismatch,
		ServiceAccountRequired, AccessModeDisallowed, MultiBucketDisallowed, BucketInvalid, SpecInvalid:
		return Controller
	case SidecarValidated, Provisioned, Retrying, Terminal, RPCSucceeded, DriverIncompatible, DriverResponseInvalid,
		DriverLacksProtocol, BucketNotUsable, WaitingForProvisionedBucket, SecretTaken, SecretNotWritable, SecretKeysRendered, SecretKeysPending, SecretKeysInvalid,
		StatusDegraded, ClaimStillBound, IDShared:
		return Sidecar
	default:
		return Unowned
	}
}

// Stalled reports whether only a change by a user or an administrator helps an object with Ready=False of this reason.
// It is false for a problem that may resolve on its own, or when a claim, access or Bucket is created or deleted: a
// restore or a GitOps tool does that without a user.
func (r Reason) Stalled() bool {
	switch r {
	case ClassRejected, BindingInvalid, ProtocolUnsupported, DriverMismatch, ServiceAccountRequired, AccessModeDisallowed,
		MultiBucketDisallowed, SpecInvalid, Terminal, DriverIncompatible, DriverResponseInvalid, DriverLacksProtocol,
		StatusDegraded:
		return true
	default:
		return false
	}
}
