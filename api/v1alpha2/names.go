// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GroupName is the API group of all COSI kinds.
const GroupName = "objectstorage.k8s.io"

// Version is the API version of this package.
const Version = "v1alpha2"

// Finalizers (KEP section "Annotations and finalizers").
const (
	// ProtectionFinalizer keeps a BucketClaim, Bucket, BucketAccess or access
	// Secret until COSI has cleaned up behind it.
	ProtectionFinalizer = GroupName + "/protection"
)

// Annotations (KEP section "Annotations and finalizers"). Those that steer
// COSI mean something by their presence, whatever their value; use
// HasAnnotation to read them.
const (
	// BucketClaimBeingDeletedAnnotation is set on a Bucket by the controller
	// when the bound BucketClaim is being deleted or is gone; see ReleaseMark.
	BucketClaimBeingDeletedAnnotation = GroupName + "/bucketclaim-being-deleted"

	// HasBucketAccessReferencesAnnotation is set on a BucketClaim by the
	// controller while at least one BucketAccess holds the claim. Its value is the
	// sorted, comma-separated list of their UIDs, or "true" by earlier versions.
	HasBucketAccessReferencesAnnotation = GroupName + "/has-bucketaccess-references"

	// SidecarCleanupFinishedAnnotation is set on a BucketAccess by the sidecar
	// when its Secrets are gone and the access is revoked.
	SidecarCleanupFinishedAnnotation = GroupName + "/sidecar-cleanup-finished"

	// BucketAccessReferenceAnnotation is set on an access Secret, value
	// "<namespace>/<name>" of its BucketAccess. For people only.
	BucketAccessReferenceAnnotation = GroupName + "/bucketaccess-reference"

	// BucketClaimReferenceAnnotation is set on an access Secret, value
	// "<namespace>/<name>" of its BucketClaim. For people only.
	BucketClaimReferenceAnnotation = GroupName + "/bucketclaim-reference"

	// RotateAnnotation is set on a BucketAccess by a user who wants a new
	// credential; each new value asks for one rotation. It is not in the KEP.
	RotateAnnotation = "cooper.dev/rotate"

	// DeliveredRotationAnnotation is set on an access Secret by the sidecar: the
	// value of RotateAnnotation that the credential in it was made for. It is not
	// in the KEP.
	DeliveredRotationAnnotation = "cooper.dev/delivered-rotation"

	// ConfirmReleaseAnnotation is set on a Bucket by an administrator who
	// agrees that it is released although its BucketClaim is gone without a
	// trace. Only the Bucket's metadata.uid counts as its value, so that a
	// backup confirms nothing. It is not in the KEP.
	ConfirmReleaseAnnotation = "cooper.dev/confirm-release"
	// ConfirmNotSharedAnnotation is set on a Bucket by an administrator to confirm that its backend bucket is not the one
	// that a Bucket of another driver imports, although their IDs suggest it. The value is the UID of that Bucket, or
	// several, separated by commas.
	ConfirmNotSharedAnnotation = "cooper.dev/confirm-not-shared"

	// CreatedAnnotation is set on a Bucket by the controller that creates it;
	// the value is the time, in RFC 3339. A Bucket that was restored from a
	// backup has another metadata.creationTimestamp. It is not in the KEP.
	CreatedAnnotation = "cooper.dev/created"

	// AskedForAnnotation is set on a Bucket by the sidecar of a driver that tells a
	// bucket's ID only when it has made it, before it asks; the value is the name
	// that it asks for. While status.bucketID is empty there may be a bucket of that
	// name. It is not in the KEP.
	AskedForAnnotation = "cooper.dev/asked-for"

	// AccessUIDAnnotation is set on an access Secret by the sidecar; the value is
	// the UID of its BucketAccess, which finds a Secret that lost its owner
	// reference. It is not in the KEP.
	AccessUIDAnnotation = "cooper.dev/access-uid"

	// LeaseOwnerAnnotation on the Lease of a driver name says which deployment the
	// name belongs to, as namespace and name. It is not in the KEP.
	LeaseOwnerAnnotation = "cooper.dev/owner"
)

// AccessSecretLabel is on every access Secret, value "true", so that a sidecar
// that watches Secrets gets no others. It is not in the KEP.
const AccessSecretLabel = "cooper.dev/access-secret" //nolint:gosec // a name, no credential

// Condition types (KEP section "Conditions"; DeprovisionFailed and
// ReleaseHeld are Cooper's).
const (
	// ConditionProvisioned reports whether the backend resource was provisioned.
	ConditionProvisioned = "Provisioned"

	// ConditionResourcesValidated reports whether the object and what it refers
	// to are valid.
	ConditionResourcesValidated = "ResourcesValidated"

	// ConditionProvisionFailed reports whether the latest provisioning RPC failed.
	ConditionProvisionFailed = "ProvisionFailed"

	// ConditionDeprovisionFailed tells why an object that is being deleted is
	// still there: True after the deletion failed, Unknown while it waits for
	// another object, False once it succeeded after all. It is added when first
	// needed, so that a failing delete never flips ProvisionFailed.
	ConditionDeprovisionFailed = "DeprovisionFailed"

	// ConditionReleaseHeld is True on a Bucket whose BucketClaim is gone without
	// a trace, and which is therefore not released until an administrator
	// confirms it. At all other times it is absent.
	ConditionReleaseHeld = "ReleaseHeld"
)

// ReasonPending is the reason of the conditions that the CRD defaults put on
// an object nobody has reconciled yet.
const ReasonPending = "Pending"

// Name prefixes that COSI derives from UIDs.
const (
	// BucketNamePrefix starts the name of a dynamically provisioned Bucket.
	BucketNamePrefix = "bc-"

	// AccountNamePrefix starts the account name handed to the driver.
	AccountNamePrefix = "ba-"
)

// BucketNameFor returns the name of the Bucket that is provisioned for the
// BucketClaim with the given UID: "bc-<UID>".
func BucketNameFor(claimUID types.UID) string { return BucketNamePrefix + string(claimUID) }

// AccountNameFor returns the account name that the driver gets for the
// BucketAccess with the given UID: "ba-<UID>".
func AccountNameFor(accessUID types.UID) string { return AccountNamePrefix + string(accessUID) }

// ControllerLeaseName is the Lease that the controller holds while it works.
const ControllerLeaseName = "cosi-controller"

// LeaseNameFor returns the name of the Lease that the sidecar of a driver holds
// while it works: "cosi-driver-<driver name>".
func LeaseNameFor(driverName string) string { return "cosi-driver-" + driverName }

// misspelledGroup is how the KEP's control flows spell the group in some
// annotation names. Nothing here writes it, but a component that took the text
// literally does, so it counts as present when read.
const misspelledGroup = "objectstorage.k8.io"

// misspelled returns the second spelling of an annotation of our group, or ""
// if the key has none.
func misspelled(key string) string {
	rest, ok := strings.CutPrefix(key, GroupName+"/")
	if !ok {
		return ""
	}
	return misspelledGroup + "/" + rest
}

// HasAnnotation reports whether obj carries the annotation key, in the group's
// own spelling or in the misspelling found in the KEP, with whatever value.
func HasAnnotation(obj metav1.Object, key string) bool {
	annotations := obj.GetAnnotations()
	if _, ok := annotations[key]; ok {
		return true
	}
	second := misspelled(key)
	if second == "" {
		return false
	}
	_, ok := annotations[second]
	return ok
}

// SetAnnotation puts the annotation on obj in memory and reports whether that
// changed anything. It writes the group's own spelling only.
func SetAnnotation(obj metav1.Object, key, value string) bool {
	annotations := obj.GetAnnotations()
	if old, ok := annotations[key]; ok && old == value {
		return false
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
	return true
}

// RemoveAnnotation takes the annotation off obj in memory, in both spellings,
// and reports whether it was there.
func RemoveAnnotation(obj metav1.Object, key string) bool {
	if !HasAnnotation(obj, key) {
		return false
	}
	annotations := obj.GetAnnotations()
	delete(annotations, key)
	if second := misspelled(key); second != "" {
		delete(annotations, second)
	}
	obj.SetAnnotations(annotations)
	return true
}

// ReleaseMark returns the value of BucketClaimBeingDeletedAnnotation by which
// the controller releases a Bucket: the policy that it follows, a slash, and
// the Bucket's UID, by which the mark in a backup does not count on the Bucket
// that is restored from it.
func ReleaseMark(b *Bucket) string { return string(b.Spec.DeletionPolicy) + "/" + string(b.UID) }

// Released reports whether the Bucket carries BucketClaimBeingDeletedAnnotation,
// and not that of the Bucket from whose backup it was restored. A value without
// a UID, as other controllers write it, counts.
func Released(b *Bucket) bool {
	_, uid, tied := strings.Cut(b.Annotations[BucketClaimBeingDeletedAnnotation], "/")
	return HasAnnotation(b, BucketClaimBeingDeletedAnnotation) && (!tied || uid == string(b.UID))
}

// HasProtection reports whether obj carries the protection finalizer.
func HasProtection(obj metav1.Object) bool {
	return slices.Contains(obj.GetFinalizers(), ProtectionFinalizer)
}

// AddProtection puts the protection finalizer on obj in memory and reports
// whether that changed anything.
func AddProtection(obj metav1.Object) bool {
	if HasProtection(obj) {
		return false
	}
	obj.SetFinalizers(append(slices.Clone(obj.GetFinalizers()), ProtectionFinalizer))
	return true
}

// RemoveProtection takes the protection finalizer off obj in memory and
// reports whether it was there.
func RemoveProtection(obj metav1.Object) bool {
	if !HasProtection(obj) {
		return false
	}
	obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool {
		return f == ProtectionFinalizer
	}))
	return true
}
