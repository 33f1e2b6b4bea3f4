// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/accessmode"
	"github.com/cooper-cosi/cooper/internal/conditions"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/translate"
)

// neverReconciled reports whether no sidecar has written a condition of the access.
func neverReconciled(a *cosiapi.BucketAccess) bool {
	condition := meta.FindStatusCondition(a.Status.Conditions, cosiapi.ConditionProvisioned)
	return a.Status.AccountID == "" && condition != nil && conditions.Reason(condition.Reason).Owner() == conditions.Controller
}

// provisioned reports whether the access was granted and its Secrets were written once.
func provisioned(a *cosiapi.BucketAccess) bool {
	return conditions.Is(a.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
}

// sameOrder reports whether two states of an access result in the same requests to the driver. Conditions, finalizers,
// labels and the annotations of other components make no difference.
func sameOrder(before, now client.Object) bool {
	was, wasAccess := before.(*cosiapi.BucketAccess)
	is, isAccess := now.(*cosiapi.BucketAccess)
	if !wasAccess || !isAccess || was.UID != is.UID || !equality.Semantic.DeepEqual(was.Spec, is.Spec) ||
		was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() ||
		was.Annotations[cosiapi.RotateAnnotation] != is.Annotations[cosiapi.RotateAnnotation] {
		return false
	}
	old, recent := was.Status, is.Status
	old.Conditions, recent.Conditions = nil, nil
	return equality.Semantic.DeepEqual(old, recent)
}

// inconsistency checks the hand-off against the spec and the driver; nil means that the access can be served.
func inconsistency(a *cosiapi.BucketAccess, info driver.Info) *conditions.Problem {
	handedOff := slices.Sorted(maps.Keys(bucketIDsByClaim(a)))
	var asked []string
	for _, claim := range a.Spec.BucketClaims {
		asked = append(asked, claim.BucketClaimName)
	}
	slices.Sort(asked)
	if !slices.Equal(handedOff, asked) {
		return degraded("status.accessedBuckets refers to %s, but spec.bucketClaims refers to %s",
			conditions.Names("BucketClaim", handedOff...), conditions.Names("BucketClaim", asked...))
	}
	for _, contradiction := range []string{conditions.RepeatedSecret(a), conditions.WithoutMode(a)} {
		if contradiction != "" {
			return conditions.Refuse(conditions.StatusDegraded, "%s", contradiction)
		}
	}
	if a.Status.Cleanup == cosiapi.CleanupFinished {
		return degraded("status.cleanup is Finished, which is only valid during the deletion")
	}
	if a.Status.AuthenticationType == cosiapi.AuthenticationTypeServiceAccount && a.Spec.ServiceAccountName == "" {
		return degraded("status.authenticationType is ServiceAccount, but spec.serviceAccountName is empty")
	}
	if lacks := lacksProtocol(conditions.Names("Driver", info.Name), translate.Protocols(info.Protocols), a); lacks != "" {
		return conditions.Refuse(conditions.DriverLacksProtocol, "%s Delete this BucketAccess and create it again with another protocol or class.", lacks)
	}
	return nil
}

func degraded(format string, args ...any) *conditions.Problem {
	return conditions.Refuse(conditions.StatusDegraded, "The spec and status of this BucketAccess are not consistent: "+format+". Delete this BucketAccess and create it again.", args...)
}

// lacksProtocol returns the message for a driver or Bucket that lacks the protocol of the access; empty if it has it.
func lacksProtocol(what string, has []cosiapi.Protocol, a *cosiapi.BucketAccess) string {
	return conditions.Lacks(what, has, []cosiapi.Protocol{a.Spec.Protocol}, "this BucketAccess")
}

// missingBucket returns the problem of a Bucket that does not exist.
func missingBucket(a *cosiapi.BucketAccess, name string) *conditions.Problem {
	const message = "Bucket %q does not exist. If the Bucket cannot be restored, delete this BucketAccess."
	if provisioned(a) {
		return conditions.Refuse(conditions.BucketNotUsable, message, name)
	}
	return conditions.Wait(conditions.BucketNotUsable, message, name)
}

// bucketProblem checks one Bucket of an access; nil means that it can be used.
func bucketProblem(a *cosiapi.BucketAccess, accessed cosiapi.AccessedBucket, b *cosiapi.Bucket) *conditions.Problem {
	ref, name := b.Spec.BucketClaimRef, conditions.Names("Bucket", b.Name)
	lacks := lacksProtocol(name, b.Status.Protocols, a)
	switch {
	case b.Spec.DriverName != a.Status.DriverName:
		return unusable("%s Delete this BucketAccess and create it again with a BucketAccessClass of driver %q.",
			conditions.Belongs(name, conditions.Names("driver", b.Spec.DriverName), fmt.Sprintf("driver %q of this BucketAccess", a.Status.DriverName)), b.Spec.DriverName)
	case ref.Namespace != a.Namespace || ref.Name != accessed.BucketClaimName:
		return unusable("%s Delete this BucketAccess.", conditions.Belongs(name, conditions.AnotherClaim, conditions.Names("BucketClaim", accessed.BucketClaimName)))
	case b.DeletionTimestamp != nil || cosiapi.Released(b):
		return bucketDeleting(a, accessed, b)
	case !conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue):
		return conditions.Wait(conditions.WaitingForProvisionedBucket, "Waiting for Bucket %q to be provisioned.", b.Name)
	case b.Status.BucketID != accessed.BucketID:
		return unusable("The bucket ID of Bucket %q has changed since the Controller validated this BucketAccess. Delete this BucketAccess and create it again.", b.Name)
	case lacks != "":
		return unusable("%s Delete this BucketAccess and create it again with another protocol or claim.", lacks)
	default:
		return nil
	}
}

// bucketDeleting returns the problem of a Bucket that is being deleted. A Bucket that was deleted before its claim, and the
// access to it, remain until the claim is deleted, too.
func bucketDeleting(a *cosiapi.BucketAccess, accessed cosiapi.AccessedBucket, b *cosiapi.Bucket) *conditions.Problem {
	released := cosiapi.Released(b)
	if released || !provisioned(a) || b.Status.BucketID != accessed.BucketID {
		return unusable("Bucket %q or its BucketClaim %q is being deleted. Delete this BucketAccess and create it again for another claim.",
			b.Name, accessed.BucketClaimName)
	}
	p := unusable("Bucket %q is being deleted and remains until its BucketClaim %q is deleted. This BucketAccess works until then. "+
		"Create another BucketAccess for another claim, and delete this BucketAccess.", b.Name, accessed.BucketClaimName)
	p.Policy = conditions.Degrades
	return p
}

func unusable(format string, args ...any) *conditions.Problem {
	return conditions.Refuse(conditions.BucketNotUsable, format, args...)
}

// bucketIDs returns the IDs of the access's backend buckets, each once, in order.
func bucketIDs(a *cosiapi.BucketAccess) []string {
	return slices.Compact(slices.Sorted(maps.Values(bucketIDsByClaim(a))))
}

// bucketIDsByClaim maps each claim of the access to its bucket ID.
func bucketIDsByClaim(a *cosiapi.BucketAccess) map[string]string {
	ids := make(map[string]string, len(a.Status.AccessedBuckets))
	for _, b := range a.Status.AccessedBuckets {
		ids[b.BucketClaimName] = b.BucketID
	}
	return ids
}

// grantedBuckets returns the buckets of the access for the driver, in the order of their IDs. Claims that share a backend
// bucket make one entry with the modes of all of them.
func grantedBuckets(a *cosiapi.BucketAccess) []*cosi.AccessedBucket {
	ids := bucketIDsByClaim(a)
	modes := map[string]cosiapi.BucketAccessModes{}
	for _, claim := range a.Spec.BucketClaims {
		id := ids[claim.BucketClaimName]
		modes[id] = accessmode.Merge(modes[id], claim.AccessModes)
	}
	buckets := make([]*cosi.AccessedBucket, 0, len(modes))
	for id, m := range modes {
		buckets = append(buckets, &cosi.AccessedBucket{
			BucketId:                 id,
			ObjectDataAccessMode:     translate.AccessMode(m.ObjectData),
			ObjectMetadataAccessMode: translate.AccessMode(m.ObjectMetadata),
			BucketMetadataAccessMode: translate.AccessMode(m.BucketMetadata),
		})
	}
	slices.SortFunc(buckets, func(x, y *cosi.AccessedBucket) int { return cmp.Compare(x.GetBucketId(), y.GetBucketId()) })
	return buckets
}

// serviceAccount returns the namespace and name of the ServiceAccount for the driver; both are empty unless the access
// authenticates by it.
func serviceAccount(a *cosiapi.BucketAccess) (namespace, name string) {
	if a.Status.AuthenticationType != cosiapi.AuthenticationTypeServiceAccount {
		return "", ""
	}
	return a.Namespace, a.Spec.ServiceAccountName
}

func idRequest(a *cosiapi.BucketAccess) *cosi.DriverGenerateBucketAccessIdRequest {
	namespace, name := serviceAccount(a)
	return &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName:             cosiapi.AccountNameFor(a.UID),
		Protocol:                translate.Protocol(a.Spec.Protocol),
		AuthenticationType:      translate.Authentication(a.Status.AuthenticationType),
		ServiceAccountName:      name,
		ServiceAccountNamespace: namespace,
		Parameters:              a.Status.Parameters,
		Buckets:                 grantedBuckets(a),
		Rotation:                a.Annotations[cosiapi.RotateAnnotation],
		DisallowedAccessModes:   translate.DisallowedAccessModes(a.Status.DisallowedBucketAccessModes),
	}
}

func revokeRequest(a *cosiapi.BucketAccess) *cosi.DriverRevokeBucketAccessRequest {
	namespace, name := serviceAccount(a)
	request := &cosi.DriverRevokeBucketAccessRequest{
		AccountId:               a.Status.AccountID,
		Protocol:                translate.Protocol(a.Spec.Protocol),
		AuthenticationType:      translate.Authentication(a.Status.AuthenticationType),
		ServiceAccountName:      name,
		ServiceAccountNamespace: namespace,
		Parameters:              a.Status.Parameters,
	}
	for _, id := range bucketIDs(a) {
		request.Buckets = append(request.Buckets, &cosi.DriverRevokeBucketAccessRequest_AccessedBucket{BucketId: id})
	}
	return request
}

// sameDriverOtherAccess reports whether other is another access of the driver of a.
func sameDriverOtherAccess(other, a *cosiapi.BucketAccess) bool {
	return other.UID != a.UID && other.Status.DriverName == a.Status.DriverName
}

// HeldState returns the part of an access that determines whether the access uses its account and the names of its
// Secrets. Other accesses may wait for a change of this part.
func HeldState(a *cosiapi.BucketAccess) any {
	return []any{a.Status.AccountID, a.DeletionTimestamp != nil, a.CleanedUp(), a.Status.Cleanup}
}

// needsAccount reports whether other needs the account of a, which is being deleted. If all that have the account are being
// deleted, each revokes it.
func needsAccount(other, a *cosiapi.BucketAccess) bool {
	return sameDriverOtherAccess(other, a) && other.Status.AccountID == a.Status.AccountID && other.DeletionTimestamp == nil
}

// sharedAccount returns the condition of an access if another access needs its account.
func sharedAccount(a *cosiapi.BucketAccess) conditions.Change {
	return conditions.Change{
		Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionTrue, Reason: conditions.IDShared,
		Message: "The account of this BucketAccess is also used by another BucketAccess, so it is not revoked. The Secrets of this BucketAccess are deleted; " +
			"the BucketAccess remains until the other one is deleted. An administrator can find the other one by its status.accountID.",
		Generation: a.Generation,
	}
}

// unknownAccount returns the condition of an access that a sidecar of an earlier version requested, and whose account ID is
// unknown, or nil. Since then, sidecars set status.cleanup in the same write as the ID.
func unknownAccount(a *cosiapi.BucketAccess) *conditions.Change {
	if a.Status.AccountID != "" || a.Status.Cleanup != cosiapi.CleanupPending {
		return nil
	}
	return &conditions.Change{
		Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionTrue, Reason: conditions.StatusDegraded, Generation: a.Generation,
		Message: fmt.Sprintf("A sidecar of an earlier version requested the account %q from its driver and did not store the account ID, so COSI cannot revoke "+
			"the account. An administrator must run that sidecar again, or look for the account in the backend and set status.cleanup of this BucketAccess to %s.",
			cosiapi.AccountNameFor(a.UID), cosiapi.CleanupFinished),
	}
}

// validated returns the condition ResourcesValidated of an access that is granted, or about to be.
func (w *work) validated() conditions.Change {
	if w.warning != nil {
		return w.warning.Validated(w.access.Generation)
	}
	return conditions.Change{
		Type: cosiapi.ConditionResourcesValidated, Status: metav1.ConditionTrue, Reason: conditions.SidecarValidated,
		Message: "The Buckets and Secrets of this BucketAccess are valid.", Generation: w.access.Generation,
	}
}
