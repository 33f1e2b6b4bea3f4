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
	// ProtectionFinalizer prevents the removal of a BucketClaim, Bucket,
	// BucketAccess or access Secret until COSI has finished its cleanup.
	ProtectionFinalizer = GroupName + "/protection"
)

// Annotations (KEP section "Annotations and finalizers"). Unless
// stated otherwise, only the presence of an annotation matters, not its value;
// use HasAnnotation to read it.
const (
	// BucketClaimBeingDeletedAnnotation is set on a Bucket by the controller
	// when the bound BucketClaim is being deleted or does not exist; see
	// ReleaseMark.
	BucketClaimBeingDeletedAnnotation = GroupName + "/bucketclaim-being-deleted"

	// HasBucketAccessReferencesAnnotation is set on a BucketClaim by the
	// controller while at least one BucketAccess uses the claim. The value is the
	// sorted, comma-separated list of their UIDs; earlier versions wrote "true".
	HasBucketAccessReferencesAnnotation = GroupName + "/has-bucketaccess-references"

	// SidecarCleanupFinishedAnnotation is set on a BucketAccess by the sidecar
	// when its Secrets are deleted and the access is revoked.
	SidecarCleanupFinishedAnnotation = GroupName + "/sidecar-cleanup-finished"

	// BucketAccessReferenceAnnotation is set on an access Secret. The value is
	// "<namespace>/<name>" of its BucketAccess. It is informational.
	BucketAccessReferenceAnnotation = GroupName + "/bucketaccess-reference"

	// BucketClaimReferenceAnnotation is set on an access Secret. The value is
	// "<namespace>/<name>" of its BucketClaim. It is informational.
	BucketClaimReferenceAnnotation = GroupName + "/bucketclaim-reference"

	// RotateAnnotation is set on a BucketAccess by a user to request a new
	// credential. Each new value requests one rotation. It is not in the KEP.
	RotateAnnotation = "cooper.dev/rotate"

	// DeliveredRotationAnnotation is set on an access Secret by the sidecar. The
	// value is that of the RotateAnnotation for which the credential was created.
	// It is not in the KEP.
	DeliveredRotationAnnotation = "cooper.dev/delivered-rotation"

	// SecretKeysAnnotation is set on a BucketAccess by a user to add keys to its
	// Secrets. The value is a YAML map from the name of a key to a map with either
	// "preset" or "template". It is not in the KEP.
	SecretKeysAnnotation = "cooper.dev/secret-keys" //nolint:gosec // a name, not a credential

	// ConfirmReleaseAnnotation is set on a Bucket by an administrator to
	// confirm its release although COSI has not observed the deletion of its
	// BucketClaim. The value must be the Bucket's metadata.uid, so that an
	// annotation from a backup does not confirm the release. It is not in the
	// KEP.
	ConfirmReleaseAnnotation = "cooper.dev/confirm-release"
	// ConfirmNotSharedAnnotation is set on a Bucket by an administrator. It
	// confirms that the backend bucket differs from the one that a Bucket of
	// another driver imports, although their IDs suggest that they are the
	// same. The value is the UID of that other Bucket, or several UIDs,
	// separated by commas.
	ConfirmNotSharedAnnotation = "cooper.dev/confirm-not-shared"

	// BindUntilAnnotation is set on a Bucket by an administrator who restores it
	// from a backup without spec.bucketClaimRef.uid. The value is a time in
	// RFC 3339. A BucketClaim that has the name in spec.bucketClaimRef and was
	// created before that time binds to the Bucket, if its class has the same driver
	// and the Bucket supports its protocols. The sidecar writes nothing and makes
	// no calls until the restore tool has set status.bucketID. The controller
	// removes the annotation when a claim binds. It is not in the KEP.
	BindUntilAnnotation = "cooper.dev/bind-until"

	// CreatedAnnotation is set on a Bucket by the controller that creates it. The
	// value is the time in RFC 3339. A Bucket that was restored from a backup has a
	// later metadata.creationTimestamp. It is not in the KEP.
	CreatedAnnotation = "cooper.dev/created"

	// ParameterChangesAnnotation is set on a Bucket by cosi-obc to change
	// parameters of its backend bucket. The value is a JSON object: the keys of
	// parameters with their values, or null for a parameter to remove. It is not in
	// the KEP.
	ParameterChangesAnnotation = "cooper.dev/parameter-changes"

	// ParameterChangesResultAnnotation is set on a Bucket by the sidecar. The value
	// is a JSON object with a digest of the ParameterChangesAnnotation and, if the
	// changes were not applied, the reason. It is not in the KEP.
	ParameterChangesResultAnnotation = "cooper.dev/parameter-changes-result"

	// AskedForAnnotation was set on a Bucket by sidecars before the adapter for
	// older drivers, before they asked such a driver for the bucket. The value is
	// the requested name. While status.bucketID is empty, a bucket of that name may
	// exist in the backend, and the deletion of the Bucket waits. It is not in the KEP.
	AskedForAnnotation = "cooper.dev/asked-for"

	// AccessUIDAnnotation is set on an access Secret by the sidecar. The value is
	// the UID of its BucketAccess. It identifies a Secret that lost its owner
	// reference. It is not in the KEP.
	AccessUIDAnnotation = "cooper.dev/access-uid"

	// LeaseOwnerAnnotation is set on the Lease of a driver name. The value is the
	// namespace and name of the deployment that owns the driver name. It is not in
	// the KEP.
	LeaseOwnerAnnotation = "cooper.dev/owner"
)

// AccessSecretLabel is set to "true" on every access Secret. Sidecars use it to
// select the Secrets that they watch. It is not in the KEP.
const AccessSecretLabel = "cooper.dev/access-secret" //nolint:gosec // a name, not a credential

// Condition types (KEP section "Conditions"; Ready, Stalled, DeprovisionFailed
// and ReleaseHeld are Cooper's).
const (
	// ConditionReady summarizes the other conditions for tools such as kstatus:
	// True if the object can be used, otherwise Unknown or False with the reason.
	ConditionReady = "Ready"

	// ConditionStalled is True while Ready is False and only a change by a user or
	// an administrator helps. Otherwise it is absent.
	ConditionStalled = "Stalled"

	// ConditionProvisioned reports whether the backend resource was provisioned.
	ConditionProvisioned = "Provisioned"

	// ConditionResourcesValidated reports whether the object and the objects that
	// it references are valid.
	ConditionResourcesValidated = "ResourcesValidated"

	// ConditionProvisionFailed reports whether the latest provisioning RPC failed.
	ConditionProvisionFailed = "ProvisionFailed"

	// ConditionDeprovisionFailed reports why an object is stuck in deletion: True
	// after a failure, Unknown while the deletion waits for another object, and
	// False after a later success. It is added when it is first needed. A failed
	// deletion does not change ProvisionFailed.
	ConditionDeprovisionFailed = "DeprovisionFailed"

	// ConditionSecretKeysRendered reports whether the Secrets of a BucketAccess
	// have all keys that the SecretKeysAnnotation adds. It is absent without that
	// annotation. A BucketAccess works without these keys.
	ConditionSecretKeysRendered = "SecretKeysRendered"

	// ConditionReleaseHeld is True on a Bucket whose BucketClaim does not exist
	// although COSI has not observed its deletion. The Bucket is not released
	// until an administrator confirms the release. Otherwise the condition is
	// absent.
	ConditionReleaseHeld = "ReleaseHeld"
)

// ReasonPending is the reason of the conditions that the CRD sets by default,
// before the first reconcile.
const ReasonPending = "Pending"

// Name prefixes that COSI derives from UIDs.
const (
	// BucketNamePrefix is the prefix of the name of a dynamically provisioned
	// Bucket.
	BucketNamePrefix = "bc-"

	// AccountNamePrefix is the prefix of the account name in requests to the
	// driver.
	AccountNamePrefix = "ba-"
)

// BucketNameFor returns the name of the Bucket that is provisioned for the
// BucketClaim with the given UID: "bc-<UID>".
func BucketNameFor(claimUID types.UID) string { return BucketNamePrefix + string(claimUID) }

// AccountNameFor returns the account name that the driver gets for the
// BucketAccess with the given UID: "ba-<UID>".
func AccountNameFor(accessUID types.UID) string { return AccountNamePrefix + string(accessUID) }

// ControllerLeaseName is the Lease of the active controller.
const ControllerLeaseName = "cosi-controller"

// LeaseNameFor returns the name of the Lease of a driver's active sidecar:
// "cosi-driver-<driver name>".
func LeaseNameFor(driverName string) string { return "cosi-driver-" + driverName }

// misspelledGroup is the spelling of the group in some annotation names in the
// control flows of the KEP. We never write it, but accept it from components
// that implement the text literally.
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

// HasAnnotation reports whether obj has the annotation key, with any value. It
// accepts the correct spelling of the group and the misspelling in the KEP.
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

// SetAnnotation sets the annotation on obj in memory and reports whether obj
// changed. It writes only the correct spelling of the group.
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

// RemoveAnnotation removes the annotation from obj in memory, in both spellings,
// and reports whether obj changed.
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

// ReleaseMark returns the value of BucketClaimBeingDeletedAnnotation with which
// the controller releases a Bucket: the deletion policy, a slash, and the
// Bucket's UID. A Bucket that is restored from a backup has another UID, so the
// mark of the backup is not valid on it.
func ReleaseMark(b *Bucket) string { return string(b.Spec.DeletionPolicy) + "/" + string(b.UID) }

// Released reports whether the Bucket has a valid
// BucketClaimBeingDeletedAnnotation. A mark with another UID comes from a backup
// and is not valid. A mark without a UID comes from another controller and is
// valid.
func Released(b *Bucket) bool {
	_, uid, tied := strings.Cut(b.Annotations[BucketClaimBeingDeletedAnnotation], "/")
	return HasAnnotation(b, BucketClaimBeingDeletedAnnotation) && (!tied || uid == string(b.UID))
}

// HasProtection reports whether obj has the protection finalizer.
func HasProtection(obj metav1.Object) bool {
	return slices.Contains(obj.GetFinalizers(), ProtectionFinalizer)
}

// AddProtection adds the protection finalizer to obj in memory and reports
// whether obj changed.
func AddProtection(obj metav1.Object) bool {
	if HasProtection(obj) {
		return false
	}
	obj.SetFinalizers(append(slices.Clone(obj.GetFinalizers()), ProtectionFinalizer))
	return true
}

// RemoveProtection removes the protection finalizer from obj in memory and
// reports whether obj changed.
func RemoveProtection(obj metav1.Object) bool {
	if !HasProtection(obj) {
		return false
	}
	obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool {
		return f == ProtectionFinalizer
	}))
	return true
}
