// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/terms"
)

// plan is what becomes of a Bucket.
type plan int

const (
	// provision: the Bucket is wanted.
	provision plan = iota
	// retain: its claim is gone or going, and the Bucket stays until somebody
	// deletes it.
	retain
	// hold: somebody deleted it, and it may not go yet.
	hold
	// release: it may go, and nothing is done to the backend.
	release
	// remove: it may go once the backend bucket is deleted.
	remove
)

// planOf decides between provisioning and the ways to deprovision
// (KEP-1979, "Deleting a Bucket").
//
// The backend bucket is deleted only when all three agree: the policy says
// Delete, the Controller's annotation says that the claim is gone, and the
// Bucket is deleted itself. An imported bucket is never deleted.
func planOf(b *cosiapi.Bucket) plan {
	annotated := cosiapi.Released(b)
	deleting := b.DeletionTimestamp != nil
	deletes := b.Spec.DeletionPolicy == cosiapi.DeletionPolicyDelete && b.Spec.ExistingBucketID == ""
	nothingMade := b.Status.BucketID == "" && !askedFor(b)
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

// askedFor reports whether a driver with one phase was perhaps asked for the bucket.
func askedFor(b *cosiapi.Bucket) bool { return cosiapi.HasAnnotation(b, cosiapi.AskedForAnnotation) }

// adopted reports whether others made the bucket, under CRDs that ours took the place of: a driver
// has said of it which protocols it supports, and our Controller did not make the Bucket.
func adopted(b *cosiapi.Bucket) bool {
	return b.Status.BucketID != "" && len(b.Status.Protocols) > 0 && !cosiapi.HasAnnotation(b, cosiapi.CreatedAnnotation)
}

// createRequest returns phase 2. A driver with one phase knows the bucket by the name until
// it has told the ID, and is asked for the same name ever after.
func createRequest(b *cosiapi.Bucket, info driver.Info) *cosi.DriverCreateBucketRequest {
	request := &cosi.DriverCreateBucketRequest{BucketId: b.Status.BucketID, Protocols: wanted(b), Parameters: b.Spec.Parameters}
	if info.OnePhase {
		request.BucketId = b.Name
	}
	return request
}

// otherPhases returns the failure of a bucket that was begun with a driver of the same
// name, but another number of phases: this one would make a second bucket.
func otherPhases(b *cosiapi.Bucket, info driver.Info) error {
	switch {
	case info.OnePhase && !askedFor(b):
		return driver.Unsendable(cosi.Provisioner_DriverCreateBucket_FullMethodName,
			errors.New("this Bucket has an ID of a driver with two phases. An administrator must start that driver again"))
	case !info.OnePhase && b.Status.BucketID == "":
		return driver.Unsendable(cosi.Provisioner_DriverCreateBucket_FullMethodName, fmt.Errorf(
			"a driver with one phase was asked for the bucket %q, and its ID is not known. An administrator must start that driver again, or look "+
				"for the bucket and take the annotation %s off", b.Name, cosiapi.AskedForAnnotation))
	default:
		return nil
	}
}

// asks returns what the spec of a Bucket asks of the driver. The UID of its claim is
// no part of that: the Controller adds it when it binds a Bucket that an
// administrator made (KEP-1979, "Accessing an Existing OSP Bucket"), and no
// request carries it.
func asks(b *cosiapi.Bucket) cosiapi.BucketSpec {
	spec := *b.Spec.DeepCopy()
	spec.BucketClaimRef.UID = ""
	return spec
}

// another returns what makes another try for a Bucket worthwhile when it changes:
// beside what its spec asks, a label, by which an administrator asks for another
// look. Users cannot write Buckets.
func another(b *cosiapi.Bucket) any {
	return struct {
		Spec   cosiapi.BucketSpec
		Labels map[string]string
	}{asks(b), b.Labels}
}

// sameOrder reports whether two states of a Bucket ask the same of the driver.
// Conditions, finalizers, labels and annotations of others ask nothing.
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

// unclaimed reports whether no claim ever bound to the Bucket.
func unclaimed(b *cosiapi.Bucket) bool { return b.Spec.BucketClaimRef.UID == "" }

// holdMessage returns the message of a held Bucket: how it comes free.
func holdMessage(b *cosiapi.Bucket) string {
	if unclaimed(b) {
		return fmt.Sprintf("This Bucket is being deleted and its deletionPolicy is Delete, but no BucketClaim ever bound to it, so nobody "+
			"agreed to the loss of the data. Set the annotation %s to delete the backend bucket %q, or deletionPolicy: Retain to keep it.",
			cosiapi.BucketClaimBeingDeletedAnnotation, cmp.Or(b.Status.BucketID, b.Name))
	}
	return fmt.Sprintf("This Bucket is being deleted while %s is bound to it. It stays until that BucketClaim is deleted. "+
		"If it does not exist, the condition %s says what to do.", conditions.ClaimOf(b), cosiapi.ConditionReleaseHeld)
}

// IDOf returns the ID of the backend bucket that a Bucket stands for, or will once
// an import has begun; empty means that it has none.
func IDOf(b *cosiapi.Bucket) string {
	if b.Status.BucketID != "" {
		return b.Status.BucketID
	}
	return b.Spec.ExistingBucketID
}

// isAnother reports whether two Buckets of one driver are two.
func isAnother(other, b *cosiapi.Bucket) bool {
	return other.UID != b.UID && other.Spec.DriverName == b.Spec.DriverName
}

// keeps reports whether another Bucket needs the backend bucket of one that may
// be deleted. If both may, each deletes it: all that had it agreed, and to delete
// what is gone is no error.
func keeps(other, b *cosiapi.Bucket) bool {
	return isAnother(other, b) && IDOf(other) == IDOf(b) && planOf(other) != remove
}

// justNow is for how long a deletion is new.
const justNow = time.Minute

// justDeleted reports whether the cache is enough to find who shares the bucket of one that is being deleted: it has the
// deletion and so, as one watch shows the Buckets of a driver in the order of their changes, every Bucket that was there
// before. Nobody may count on a bucket that an import begins to share later, but whoever looks in time is heard: after a
// failure, or a while, what came meanwhile may be what a watch that has stopped does not show.
func justDeleted(deleted *cosiapi.Bucket, now time.Time) bool {
	return now.Sub(deleted.DeletionTimestamp.Time) < justNow &&
		!conditions.Is(deleted.Status.Conditions, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue)
}

// Need returns what keeps reads of another Bucket.
func Need(b *cosiapi.Bucket) any {
	return struct {
		driver, id string
		plan       plan
	}{b.Spec.DriverName, IDOf(b), planOf(b)}
}

// shared returns what a Bucket says while another one keeps its backend bucket.
func shared(b, keeper *cosiapi.Bucket) conditions.Change {
	return conditions.Change{
		Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionTrue, Reason: conditions.IDShared,
		Message: fmt.Sprintf("%s has the same bucket ID, and its data would be lost, too. This Bucket stays until the other is deleted. "+
			"To delete this Bucket alone, set its deletionPolicy: Retain.", conditions.Names("Bucket", keeper.Name)),
		Generation: b.Generation,
	}
}

// sharedNote is what users read of that: the other Bucket may be of another
// namespace.
const sharedNote = "The backend bucket is not deleted, because it is in use elsewhere. An administrator must decide what becomes of it."

// inconsistency checks a Bucket's spec against the driver; nil means that the
// Bucket can be served.
func inconsistency(b *cosiapi.Bucket, info driver.Info) *conditions.Problem {
	lacks := conditions.Lacks(conditions.Names("Driver", info.Name), terms.Protocols(info.Protocols), b.Spec.Protocols, "this Bucket")
	if lacks == "" {
		return nil
	}
	return conditions.Refuse(conditions.DriverLacksProtocol, "%s Use a BucketClass of another driver, or claim other protocols.", lacks)
}

// wanted returns the Bucket's protocols as the driver gets them. Both phases call
// it on the same immutable spec, so they send the same.
func wanted(b *cosiapi.Bucket) []*cosi.ObjectProtocol {
	protocols := make([]*cosi.ObjectProtocol, 0, len(b.Spec.Protocols))
	for _, protocol := range b.Spec.Protocols {
		protocols = append(protocols, terms.Protocol(protocol))
	}
	return protocols
}

// settled reports whether everything that provisioning does is done and
// recorded. A status without protocols lost what the driver said.
func settled(b *cosiapi.Bucket) bool {
	return b.Status.BucketID != "" && len(b.Status.Protocols) > 0 && cosiapi.HasProtection(b) &&
		conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) &&
		conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse)
}

// validated returns what ResourcesValidated says of the Bucket.
func validated(b *cosiapi.Bucket, info driver.Info) conditions.Change {
	if p := inconsistency(b, info); p != nil {
		return p.Validated(b.Generation)
	}
	return conditions.Change{
		Type: cosiapi.ConditionResourcesValidated, Status: metav1.ConditionTrue, Reason: conditions.SidecarValidated,
		Message: "This Bucket is valid.", Generation: b.Generation,
	}
}
