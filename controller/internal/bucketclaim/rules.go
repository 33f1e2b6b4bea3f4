// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/references"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// bucketName returns the name of the claim's Bucket, whether or not it exists.
func bucketName(claim *cosiapi.BucketClaim) string {
	switch {
	case claim.Status.BoundBucketName != "":
		return claim.Status.BoundBucketName
	case claim.Spec.ExistingBucketName != "":
		return claim.Spec.ExistingBucketName
	default:
		return cosiapi.BucketNameFor(claim.UID)
	}
}

// newBucket returns the Bucket for a claim of a class. It contains everything that the deletion of the backend bucket
// needs without the class, and the finalizer that must be set before the first RPC.
func newBucket(claim *cosiapi.BucketClaim, class *cosiapi.BucketClass, now time.Time) *cosiapi.Bucket {
	return &cosiapi.Bucket{
		ObjectMeta: metav1.ObjectMeta{
			Name: cosiapi.BucketNameFor(claim.UID), Finalizers: []string{cosiapi.ProtectionFinalizer},
			Annotations: map[string]string{cosiapi.CreatedAnnotation: now.UTC().Format(time.RFC3339)},
		},
		Spec: cosiapi.BucketSpec{
			DriverName:     class.Spec.DriverName,
			DeletionPolicy: class.Spec.DeletionPolicy,
			Parameters:     class.Spec.Parameters,
			Protocols:      claim.Spec.Protocols,
			BucketClaimRef: cosiapi.BucketClaimReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
		},
	}
}

// owns reports whether the Bucket is bound to this claim, including its UID.
func owns(claim *cosiapi.BucketClaim, bucket *cosiapi.Bucket) bool {
	ref := bucket.Spec.BucketClaimRef
	return ref.Namespace == claim.Namespace && ref.Name == claim.Name && ref.UID == claim.UID
}

// restoredFor reports whether an administrator has restored the Bucket from a backup for this claim of a class: the
// claim has the name and was created before the time in the annotation, or that time is malformed. A Bucket that
// earlier was released, or is being deleted, is not bound again.
func restoredFor(claim *cosiapi.BucketClaim, bucket *cosiapi.Bucket) bool {
	value, restored := bucket.Annotations[cosiapi.BindUntilAnnotation]
	until, err := time.Parse(time.RFC3339, value)
	ref := bucket.Spec.BucketClaimRef
	return restored && (err != nil || claim.CreationTimestamp.Time.Before(until)) && claim.Spec.ExistingBucketName == "" &&
		ref.Namespace == claim.Namespace && ref.Name == claim.Name && ref.UID == "" && bucket.Spec.ExistingBucketID == "" &&
		bucket.DeletionTimestamp.IsZero() && !cosiapi.HasAnnotation(bucket, cosiapi.BucketClaimBeingDeletedAnnotation)
}

// restoredProblem returns why the claim may not bind to a Bucket that was restored for it, or nil. No message asks the
// user to delete the claim: an administrator decides about the Bucket and its data.
func restoredProblem(claim *cosiapi.BucketClaim, bucket *cosiapi.Bucket, class *cosiapi.BucketClass) *conditions.Problem {
	const decide = "An administrator must decide: to give this BucketClaim a new, empty bucket instead, remove the annotation " +
		cosiapi.BindUntilAnnotation + " from the Bucket."
	value := bucket.Annotations[cosiapi.BindUntilAnnotation]
	_, err := time.Parse(time.RFC3339, value)
	lacks := missingProtocols(claim, bucket)
	switch {
	case err != nil:
		return conditions.Refuse(conditions.BindingInvalid,
			"Bucket %q was restored for this BucketClaim, but the value %q of its annotation %s is not a time in RFC 3339. An administrator must correct it.",
			bucket.Name, value, cosiapi.BindUntilAnnotation)
	case bucket.Status.BucketID == "":
		return conditions.Wait(conditions.WaitingForBucket,
			"Waiting for the restore tool to set status.bucketID of Bucket %q. An administrator must restore the status of Buckets.", bucket.Name)
	case class.Spec.DriverName != bucket.Spec.DriverName:
		return conditions.Refuse(conditions.BindingInvalid,
			"Bucket %q was restored for this BucketClaim, but has driver %q, and BucketClass %q has driver %q. "+decide,
			bucket.Name, bucket.Spec.DriverName, class.Name, class.Spec.DriverName)
	case lacks != "":
		return conditions.Refuse(conditions.BindingInvalid, "%s The Bucket was restored for this BucketClaim. "+decide, lacks)
	default:
		return nil
	}
}

// ownName returns the name of the Bucket that is bound to this claim, or "".
func ownName(claim *cosiapi.BucketClaim, buckets []cosiapi.Bucket) string {
	if i := slices.IndexFunc(buckets, func(b cosiapi.Bucket) bool { return owns(claim, &b) }); i >= 0 {
		return buckets[i].Name
	}
	return ""
}

// foreign is the message that a Bucket is bound to another claim. It does not name
// that claim, which may be in another namespace.
func foreign(bucket *cosiapi.Bucket) string {
	return conditions.Belongs(conditions.Names("Bucket", bucket.Name), conditions.AnotherClaim, "this BucketClaim")
}

// bindingProblem returns why the Bucket does not and may not belong to this claim, or nil if it does or may.
func bindingProblem(claim *cosiapi.BucketClaim, bucket *cosiapi.Bucket) *conditions.Problem {
	if owns(claim, bucket) {
		return nil
	}
	ref := bucket.Spec.BucketClaimRef
	earlier := ref.UID != "" && ref.Namespace == claim.Namespace && ref.Name == claim.Name
	switch {
	case claim.Spec.ExistingBucketName == "" && earlier:
		return conditions.Refuse(conditions.BindingInvalid,
			"Bucket %q is bound to an earlier BucketClaim of this name. A backup may have been restored. "+
				"An administrator must delete that Bucket object or import its backend bucket. Then delete this BucketClaim and create it again.", bucket.Name)
	case claim.Spec.ExistingBucketName == "":
		return conditions.Refuse(conditions.BindingInvalid, "%s An administrator must delete that Bucket object.", foreign(bucket))
	case ref.Namespace != claim.Namespace || ref.Name != claim.Name:
		return conditions.Refuse(conditions.BindingInvalid,
			"Bucket %q is reserved for another BucketClaim. An administrator must delete the Bucket object and create it again with a bucketClaimRef to this BucketClaim.", bucket.Name)
	case ref.UID != "":
		return conditions.Refuse(conditions.BindingInvalid,
			"Bucket %q is bound to an earlier BucketClaim of this name, with UID %q. An administrator must delete the Bucket object and create it again with the same existingBucketID.",
			bucket.Name, ref.UID)
	case claim.Status.BoundBucketName != "":
		return conditions.Refuse(conditions.BindingInvalid,
			"Bucket %q was replaced after this BucketClaim had bound to it. Delete this BucketClaim and create it again.", bucket.Name)
	case !bucket.DeletionTimestamp.IsZero():
		return conditions.Wait(conditions.WaitingForBucket,
			"Waiting for Bucket %q, which is being deleted. An administrator must create it again.", bucket.Name)
	case cosiapi.Released(bucket):
		return conditions.Refuse(conditions.BindingInvalid,
			"Bucket %q was left behind by an earlier BucketClaim. An administrator must delete the Bucket object and create it again with the same existingBucketID.", bucket.Name)
	default:
		return nil
	}
}

// applyBucket copies protocols and conditions from the Bucket to the claim's
// status.
func applyBucket(claim *cosiapi.BucketClaim, bucket *cosiapi.Bucket) {
	if conditions.Is(bucket.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		claim.Status.Protocols = slices.Clone(bucket.Status.Protocols)
	}
	for _, judge := range []func(*cosiapi.BucketClaim, *cosiapi.Bucket) (conditions.Change, bool){provisioned, validated, provisionFailed} {
		if change, ok := judge(claim, bucket); ok {
			change.Generation = claim.Generation
			conditions.Set(&claim.Status.Conditions, change)
		}
	}
}

// provisioned copies the statuses True and False of the Bucket, never Unknown.
func provisioned(claim *cosiapi.BucketClaim, bucket *cosiapi.Bucket) (conditions.Change, bool) {
	of := conditionOf(bucket.Status.Conditions, cosiapi.ConditionProvisioned)
	now := conditionOf(claim.Status.Conditions, cosiapi.ConditionProvisioned)
	change := conditions.Change{Type: cosiapi.ConditionProvisioned, Status: of.Status, Reason: conditions.Reason(of.Reason), Message: of.Message}
	switch of.Status {
	case metav1.ConditionTrue:
		lacks := lacksProtocols(claim, bucket)
		if lacks == "" {
			return change, true
		}
		if now.Status == metav1.ConditionTrue {
			return change, false
		}
		change.Status, change.Reason, change.Message = metav1.ConditionFalse, conditions.ProtocolUnsupported, lacks
		return change, true
	case metav1.ConditionFalse:
		return change, true
	default:
		copied := now.Status == metav1.ConditionFalse && conditions.Reason(now.Reason).Owner() == conditions.Sidecar
		if now.Status == metav1.ConditionTrue || copied {
			return change, false
		}
		change.Status, change.Reason = metav1.ConditionUnknown, conditions.WaitingForBucket
		change.Message = waitMessage(bucket)
		return change, true
	}
}

// waitMessage names the driver that the claim waits for. It does not change until the Bucket is provisioned, so the
// sidecar's progress causes no writes.
func waitMessage(bucket *cosiapi.Bucket) string {
	return fmt.Sprintf("Waiting for the sidecar of driver %q to provision Bucket %q. If this takes long, read the condition ProvisionFailed, or check that the driver is installed.",
		bucket.Spec.DriverName, bucket.Name)
}

// validated evaluates claim and Bucket together.
func validated(claim *cosiapi.BucketClaim, bucket *cosiapi.Bucket) (conditions.Change, bool) {
	change := conditions.Change{Type: cosiapi.ConditionResourcesValidated, Status: metav1.ConditionFalse}
	of := conditionOf(bucket.Status.Conditions, cosiapi.ConditionResourcesValidated)
	if of.Status == metav1.ConditionFalse {
		change.Reason = conditions.BucketInvalid
		change.Message = fmt.Sprintf("Bucket %q is not valid: %s", bucket.Name, of.Message)
		return change, true
	}
	if conditions.Is(bucket.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		if lacks := lacksProtocols(claim, bucket); lacks != "" {
			change.Reason, change.Message = conditions.ProtocolUnsupported, lacks
			return change, true
		}
	}
	change.Status, change.Reason = metav1.ConditionTrue, conditions.ControllerValidated
	change.Message = fmt.Sprintf("This BucketClaim is bound to Bucket %q.", bucket.Name)
	return change, true
}

// provisionFailed copies the condition once the sidecar has reported anything.
func provisionFailed(_ *cosiapi.BucketClaim, bucket *cosiapi.Bucket) (conditions.Change, bool) {
	of := conditionOf(bucket.Status.Conditions, cosiapi.ConditionProvisionFailed)
	change := conditions.Change{Type: cosiapi.ConditionProvisionFailed, Status: of.Status, Reason: conditions.Reason(of.Reason), Message: of.Message}
	return change, change.Reason != conditions.Initial
}

// conditionOf returns the condition of a type. A missing condition has its initial state.
func conditionOf(conds []metav1.Condition, conditionType string) metav1.Condition {
	if c := meta.FindStatusCondition(conds, conditionType); c != nil {
		return *c
	}
	return metav1.Condition{Type: conditionType, Status: metav1.ConditionUnknown, Reason: string(conditions.Initial)}
}

// missingProtocols lists the requested protocols that the Bucket does not offer. Empty means none.
func missingProtocols(claim *cosiapi.BucketClaim, bucket *cosiapi.Bucket) string {
	return conditions.Lacks(conditions.Names("Bucket", bucket.Name), bucket.Status.Protocols, claim.Spec.Protocols, "this BucketClaim")
}

// lacksProtocols returns missingProtocols with the remedy for a claim that is bound.
func lacksProtocols(claim *cosiapi.BucketClaim, bucket *cosiapi.Bucket) string {
	lacks := missingProtocols(claim, bucket)
	if lacks == "" {
		return ""
	}
	return lacks + " Delete this BucketClaim and create it again with other protocols, or ask an administrator to import another Bucket."
}

// inUseMessage lists the accesses that use a terminating claim, and tells the user what to do.
func inUseMessage(accesses []*cosiapi.BucketAccess) string {
	return fmt.Sprintf("Waiting for the deletion of %s. This BucketClaim is in use until then. Delete the accesses that you no longer need.", accessNames(accesses))
}

// accessNames lists accesses for a message.
func accessNames(accesses []*cosiapi.BucketAccess) string {
	names := make([]string, 0, len(accesses))
	for _, a := range accesses {
		names = append(names, a.Name)
	}
	return conditions.Names("BucketAccess", names...)
}

// uses reports whether an access has, or may have, a grant on the Bucket.
func uses(access *cosiapi.BucketAccess, bucketName string) bool {
	return references.Holds(access) && slices.ContainsFunc(access.Status.AccessedBuckets, func(b cosiapi.AccessedBucket) bool {
		return b.BucketName == bucketName
	})
}
