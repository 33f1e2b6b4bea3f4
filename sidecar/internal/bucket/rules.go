// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/bucketchange"
	"github.com/cooper-cosi/cooper/internal/conditions"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/translate"
)

// plan is the action for a Bucket.
type plan int

const (
	// provision: the Bucket is wanted.
	provision plan = iota
	// retain: its claim is deleted or terminating, and the Bucket remains until an administrator deletes it.
	retain
	// hold: it is being deleted, but still needed.
	hold
	// release: its finalizer is removed, and the backend bucket is kept.
	release
	// remove: its finalizer is removed after the backend bucket is deleted.
	remove
)

// planOf decides between provisioning and the ways to deprovision (KEP-1979, "Deleting a Bucket").
//
// The backend bucket is deleted only if all of these hold: the policy is Delete, the Controller's annotation says that the
// claim is deleted, and the Bucket is being deleted itself. An imported bucket is never deleted.
func planOf(b *cosiapi.Bucket) plan {
	annotated := cosiapi.Released(b)
	deleting := b.DeletionTimestamp != nil
	deletes := b.Spec.DeletionPolicy == cosiapi.DeletionPolicyDelete && b.Spec.ExistingBucketID == ""
	nothingMade := b.Status.BucketID == "" && !cosiapi.HasAnnotation(b, cosiapi.AskedForAnnotation)
	switch {
	case !deleting && !annotated:
		return provision
	case !deleting:
		return retain
	case annotated && deletes && !nothingMade:
		return remove
	case annotated || unclaimed(b) && (!deletes || nothingMade):
		return release
	default:
		return hold
	}
}

// awaitsRestore reports whether a restore tool has created the Bucket, but not yet set its status.
func awaitsRestore(b *cosiapi.Bucket) bool {
	_, restored := b.Annotations[cosiapi.BindUntilAnnotation]
	return restored && b.Spec.ExistingBucketID == "" && b.Status.BucketID == ""
}

// adopted reports whether another implementation made the Bucket, under CRDs that ours replaced: it has the protocols of
// the bucket, and our Controller did not create it.
func adopted(b *cosiapi.Bucket) bool {
	return b.Status.BucketID != "" && len(b.Status.Protocols) > 0 && !cosiapi.HasAnnotation(b, cosiapi.CreatedAnnotation)
}

// asks returns the part of a Bucket's spec that is sent to the driver. It does not contain the UID of the claim: the
// Controller sets that when it binds an imported Bucket (KEP-1979, "Accessing an Existing OSP Bucket"), and no request
// contains it.
func asks(b *cosiapi.Bucket) cosiapi.BucketSpec {
	spec := *b.Spec.DeepCopy()
	spec.BucketClaimRef.UID = ""
	return spec
}

// retryWhenChanged returns the part of a Bucket that triggers a retry when it changes: its spec and its labels. Users
// cannot write Buckets.
func retryWhenChanged(b *cosiapi.Bucket) any {
	return struct {
		Spec   cosiapi.BucketSpec
		Labels map[string]string
	}{asks(b), b.Labels}
}

// retryAnnotations returns the annotations of a Bucket that trigger a retry when they change: all of an imported Bucket,
// since an import is retried each time its Bucket is updated (KEP-1979, "Accessing an Existing OSP Bucket"), and the
// requested changes of any other.
func retryAnnotations(b *cosiapi.Bucket) string {
	if b.Spec.ExistingBucketID == "" {
		return b.Annotations[cosiapi.ParameterChangesAnnotation]
	}
	return fmt.Sprint(b.Annotations)
}

// sameOrder reports whether two states of a Bucket result in the same requests to the driver. Conditions, finalizers,
// labels and the annotations of other components make no difference.
func sameOrder(before, now client.Object) bool {
	was, wasBucket := before.(*cosiapi.Bucket)
	is, isBucket := now.(*cosiapi.Bucket)
	if !wasBucket || !isBucket || was.UID != is.UID || !equality.Semantic.DeepEqual(asks(was), asks(is)) || planOf(was) != planOf(is) {
		return false
	}
	old, recent := was.Status, is.Status
	old.Conditions, recent.Conditions = nil, nil
	return equality.Semantic.DeepEqual(old, recent)
}

// unclaimed reports whether no claim was ever bound to the Bucket.
func unclaimed(b *cosiapi.Bucket) bool { return b.Spec.BucketClaimRef.UID == "" }

// holdMessage returns the message of a held Bucket: how an administrator can release it.
func holdMessage(b *cosiapi.Bucket) string {
	if unclaimed(b) {
		return fmt.Sprintf("This Bucket is being deleted and its deletionPolicy is Delete, but no BucketClaim was ever bound to it, so its data are "+
			"not deleted without confirmation. Set the annotation %s to delete the backend bucket %q, or set deletionPolicy: Retain to keep that bucket.",
			cosiapi.BucketClaimBeingDeletedAnnotation, cmp.Or(b.Status.BucketID, b.Name))
	}
	return fmt.Sprintf("This Bucket is being deleted while %s is bound to it. It remains until that BucketClaim is deleted. "+
		"If that BucketClaim does not exist, follow the message of the condition %s.", conditions.ClaimOf(b), cosiapi.ConditionReleaseHeld)
}

// IDOf returns the ID of a Bucket's backend bucket, even before an import has started. It returns an empty string if
// there is none.
func IDOf(b *cosiapi.Bucket) string {
	if b.Status.BucketID != "" {
		return b.Status.BucketID
	}
	return b.Spec.ExistingBucketID
}

// sameDriverOtherBucket reports whether other is another Bucket of the driver of b.
func sameDriverOtherBucket(other, b *cosiapi.Bucket) bool {
	return other.UID != b.UID && other.Spec.DriverName == b.Spec.DriverName
}

// needsBucket reports whether other needs the backend bucket of b, which is about to be deleted. If both are, each deletes
// it: deleting a bucket that does not exist is no error.
func needsBucket(other, b *cosiapi.Bucket) bool {
	return sameDriverOtherBucket(other, b) && IDOf(other) == IDOf(b) && planOf(other) != remove
}

// importsSameBucket reports whether a Bucket of another driver may import the backend bucket of b. Two drivers can
// serve one store. A driver may prefix its IDs with the name of a backend and a dot, and the adapter prefixes names, so
// IDs that differ only in such a prefix count as equal.
func importsSameBucket(other, b *cosiapi.Bucket) bool {
	imported, id := other.Spec.ExistingBucketID, IDOf(b)
	return other.Spec.DriverName != b.Spec.DriverName && imported != "" &&
		(imported == id || imported == withoutBackend(id) || withoutBackend(imported) == id || withoutBackend(imported) == withoutBackend(id))
}

// adapterPrefix is the prefix of the IDs that cosi-driver-adapter generates. A part of the ID of its credential store, a
// slash and the name of the bucket follow.
const adapterPrefix = "cosi/"

// withoutBackend returns an ID without the name of a backend, or the prefix of the adapter, in front of it.
func withoutBackend(id string) string {
	if rest, ours := strings.CutPrefix(id, adapterPrefix); ours {
		if _, name, found := strings.Cut(rest, "/"); found {
			id = name
		}
	}
	if _, rest, found := strings.Cut(id, "."); found && rest != "" {
		return rest
	}
	return id
}

// justNow is how long after its start a deletion counts as new.
const justNow = time.Minute

// justDeleted reports whether the cache is sufficient to find the Buckets that share the backend bucket of a Bucket
// that is being deleted. The cache has the deletion and, because one watch delivers the Buckets of a driver in order,
// every Bucket that existed before. After a failure, or some time, the watch may have stopped and other Buckets may
// have been imported.
func justDeleted(deleted *cosiapi.Bucket, now time.Time) bool {
	return now.Sub(deleted.DeletionTimestamp.Time) < justNow &&
		!conditions.Is(deleted.Status.Conditions, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue)
}

// sharedBucket returns the condition of a Bucket if another Bucket needs its backend bucket.
func sharedBucket(b, other *cosiapi.Bucket) conditions.Change {
	message := fmt.Sprintf("%s has the same bucket ID and would lose its data, too. This Bucket remains until the other is deleted. "+
		"To delete only this Bucket object and keep the data, set deletionPolicy: Retain for this Bucket.", conditions.Names("Bucket", other.Name))
	if other.Spec.DriverName != b.Spec.DriverName {
		message = fmt.Sprintf("%[1]s of driver %[2]q imports bucket ID %[3]q, which may be the same backend bucket. This Bucket remains until the other is "+
			"deleted. To keep the data, set deletionPolicy: Retain for this Bucket. If the backend buckets differ, add %[5]q to the annotation %[4]s of this Bucket, separated by a comma from other UIDs.",
			conditions.Names("Bucket", other.Name), other.Spec.DriverName, other.Spec.ExistingBucketID, cosiapi.ConfirmNotSharedAnnotation, other.UID)
	}
	return conditions.Change{
		Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionTrue, Reason: conditions.IDShared, Message: message, Generation: b.Generation,
	}
}

// unknownBucket returns the condition of a Bucket that a sidecar of an earlier version requested, and whose ID is unknown.
func unknownBucket(b *cosiapi.Bucket) conditions.Change {
	return conditions.Change{
		Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionTrue, Reason: conditions.StatusDegraded, Generation: b.Generation,
		Message: fmt.Sprintf("A sidecar of an earlier version requested the bucket %q from its driver and did not store the bucket ID, so COSI cannot delete the "+
			"bucket. An administrator must run that sidecar again, or look for the bucket in the backend and remove the annotation %s from this Bucket. "+
			"To keep the bucket, set deletionPolicy: Retain.", b.Name, cosiapi.AskedForAnnotation),
	}
}

// sharedNote is the message for users; the other Bucket may belong to another namespace.
const sharedNote = "The backend bucket is not deleted, because another Bucket uses it. An administrator must decide whether to delete it."

// inconsistency checks a Bucket's spec against the driver; nil means that the Bucket can be served.
func inconsistency(b *cosiapi.Bucket, info driver.Info) *conditions.Problem {
	lacks := conditions.Lacks(conditions.Names("Driver", info.Name), translate.Protocols(info.Protocols), b.Spec.Protocols, "this Bucket")
	if lacks == "" {
		return nil
	}
	return conditions.Refuse(conditions.DriverLacksProtocol, "%s Use a BucketClass of another driver, or claim other protocols.", lacks)
}

// wanted returns the Bucket's protocols in the driver's format. Both phases send the same, since the spec is
// immutable.
func wanted(b *cosiapi.Bucket) []*cosi.ObjectProtocol {
	protocols := make([]*cosi.ObjectProtocol, 0, len(b.Spec.Protocols))
	for _, protocol := range b.Spec.Protocols {
		protocols = append(protocols, translate.Protocol(protocol))
	}
	return protocols
}

// complete reports whether provisioning is done and recorded. A status without protocols has lost the driver's response.
func complete(b *cosiapi.Bucket) bool {
	return b.Status.BucketID != "" && len(b.Status.Protocols) > 0 && cosiapi.HasProtection(b) &&
		conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) &&
		conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse)
}

// changing reports whether a complete Bucket requests changes of its parameters that the driver may apply.
func changing(b *cosiapi.Bucket, info driver.Info) bool {
	return complete(b) && b.Spec.ExistingBucketID == "" && !adopted(b) && bucketchange.Pending(b, info.Changeable)
}

// validated returns the condition ResourcesValidated of a valid Bucket.
func validated(b *cosiapi.Bucket, info driver.Info) conditions.Change {
	if p := inconsistency(b, info); p != nil {
		return p.Validated(b.Generation)
	}
	return conditions.Change{
		Type: cosiapi.ConditionResourcesValidated, Status: metav1.ConditionTrue, Reason: conditions.SidecarValidated,
		Message: "This Bucket is valid.", Generation: b.Generation,
	}
}
