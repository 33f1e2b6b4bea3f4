// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"cmp"
	"fmt"
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
	"github.com/cooper-cosi/cooper/sidecar/internal/terms"
)

// untold reports whether no sidecar has said anything of the access.
func untold(a *cosiapi.BucketAccess) bool {
	said := meta.FindStatusCondition(a.Status.Conditions, cosiapi.ConditionProvisioned)
	return a.Status.AccountID == "" && said != nil && conditions.Reason(said.Reason).Owner() == conditions.Controller
}

// askedFor reports whether there may be an account whose ID is not known: a driver with one
// phase was perhaps asked for it.
func askedFor(a *cosiapi.BucketAccess) bool {
	return a.Status.AccountID == "" && a.Status.Cleanup == cosiapi.CleanupPending
}

// otherPhases returns the failure of an access that was begun with a driver of the same
// name and one phase, and is granted by one with two: it would make a second account.
func otherPhases(a *cosiapi.BucketAccess, info driver.Info) error {
	if info.OnePhase || !askedFor(a) {
		return nil
	}
	return driver.Unsendable(cosi.Provisioner_DriverGrantBucketAccess_FullMethodName, fmt.Errorf(
		"a driver with one phase was asked for the account %q, and its ID is not known. An administrator must start that driver again",
		cosiapi.AccountNameFor(a.UID)))
}

// provisioned reports whether the access was granted and delivered once.
func provisioned(a *cosiapi.BucketAccess) bool {
	return conditions.Is(a.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
}

// sameOrder reports whether two states of an access ask the same of the driver.
// Conditions, finalizers, labels and annotations of others ask nothing.
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

// inconsistency checks what the Controller handed over against the spec and
// the driver; nil means that the access can be served.
func inconsistency(a *cosiapi.BucketAccess, info driver.Info) *conditions.Problem {
	handed := map[string]bool{}
	for _, b := range a.Status.AccessedBuckets {
		handed[b.BucketClaimName] = true
	}
	for _, claim := range a.Spec.BucketClaims {
		if !handed[claim.BucketClaimName] {
			return degraded("status.accessedBuckets lacks BucketClaim %q", claim.BucketClaimName)
		}
		delete(handed, claim.BucketClaimName)
	}
	for _, contradiction := range []string{conditions.RepeatedSecret(a), conditions.WithoutMode(a)} {
		if contradiction != "" {
			return conditions.Refuse(conditions.StatusDegraded, "%s", contradiction)
		}
	}
	for _, b := range a.Status.AccessedBuckets {
		if handed[b.BucketClaimName] {
			return degraded("status.accessedBuckets names BucketClaim %q, which spec.bucketClaims does not", b.BucketClaimName)
		}
	}
	if a.Status.Cleanup == cosiapi.CleanupFinished {
		return degraded("status.cleanup is Finished, as of one that was deleted")
	}
	if a.Status.AuthenticationType == cosiapi.AuthenticationTypeServiceAccount && a.Spec.ServiceAccountName == "" {
		return degraded("it authenticates by ServiceAccount, but spec.serviceAccountName is empty")
	}
	if lacks := lacksProtocol(conditions.Names("Driver", info.Name), terms.Protocols(info.Protocols), a); lacks != "" {
		return conditions.Refuse(conditions.DriverLacksProtocol, "%s Delete this BucketAccess and create it again with another protocol or class.", lacks)
	}
	return nil
}

func degraded(format string, args ...any) *conditions.Problem {
	return conditions.Refuse(conditions.StatusDegraded, "This BucketAccess contradicts itself: "+format+". Delete this BucketAccess and create it again.", args...)
}

// lacksProtocol says that a driver or Bucket lacks the protocol of the access;
// empty means that it does not.
func lacksProtocol(what string, has []cosiapi.Protocol, a *cosiapi.BucketAccess) string {
	return conditions.Lacks(what, has, []cosiapi.Protocol{a.Spec.Protocol}, "this BucketAccess")
}

// missingBucket returns the problem of a Bucket that does not exist.
func missingBucket(a *cosiapi.BucketAccess, name string) *conditions.Problem {
	const message = "Bucket %q does not exist. If it is lost, delete this BucketAccess."
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
		return leaving(a, accessed, b)
	case !conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue):
		return conditions.Wait(conditions.WaitingForProvisionedBucket, "Waiting for Bucket %q to be provisioned.", b.Name)
	case b.Status.BucketID != accessed.BucketID:
		return unusable("Bucket %q has another bucket ID than when this BucketAccess was handed off. Delete this BucketAccess and create it again.", b.Name)
	case lacks != "":
		return unusable("%s Delete this BucketAccess and create it again with another protocol or claim.", lacks)
	default:
		return nil
	}
}

// Use returns what bucketProblem reads of a Bucket.
func Use(b *cosiapi.Bucket) any {
	return struct {
		driver, namespace, claim, id   string
		leaving, released, provisioned bool
		protocols                      []cosiapi.Protocol
	}{
		b.Spec.DriverName, b.Spec.BucketClaimRef.Namespace, b.Spec.BucketClaimRef.Name, b.Status.BucketID,
		b.DeletionTimestamp != nil, cosiapi.Released(b), conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue),
		b.Status.Protocols,
	}
}

// leaving returns the problem of a Bucket that is on its way out. One that somebody
// deleted under its claim stays until the claim is deleted, too, and so does what
// was granted on it.
func leaving(a *cosiapi.BucketAccess, accessed cosiapi.AccessedBucket, b *cosiapi.Bucket) *conditions.Problem {
	released := cosiapi.Released(b)
	if released || !provisioned(a) || b.Status.BucketID != accessed.BucketID {
		return unusable("Bucket %q or its BucketClaim %q is being deleted. Delete this BucketAccess and create it again for another claim.",
			b.Name, accessed.BucketClaimName)
	}
	p := unusable("Bucket %q is being deleted and stays only until its BucketClaim %q is deleted. This BucketAccess works until then. "+
		"Create one for another claim, and delete this BucketAccess.", b.Name, accessed.BucketClaimName)
	p.Policy = conditions.Degrades
	return p
}

func unusable(format string, args ...any) *conditions.Problem {
	return conditions.Refuse(conditions.BucketNotUsable, format, args...)
}

// bucketIDs returns the IDs of the access's backend buckets, each once, in order.
func bucketIDs(a *cosiapi.BucketAccess) []string {
	ids := make([]string, 0, len(a.Status.AccessedBuckets))
	for _, b := range a.Status.AccessedBuckets {
		ids = append(ids, b.BucketID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// idOf maps each claim of the access to its bucket ID.
func idOf(a *cosiapi.BucketAccess) map[string]string {
	ids := make(map[string]string, len(a.Status.AccessedBuckets))
	for _, b := range a.Status.AccessedBuckets {
		ids[b.BucketClaimName] = b.BucketID
	}
	return ids
}

// grantedBuckets returns the buckets of the access as the driver gets them, in the
// order of their IDs. Claims that share a backend bucket make one entry with
// the modes of all of them.
func grantedBuckets(a *cosiapi.BucketAccess) []*cosi.AccessedBucket {
	ids := idOf(a)
	modes := map[string]cosiapi.BucketAccessModes{}
	for _, claim := range a.Spec.BucketClaims {
		id := ids[claim.BucketClaimName]
		modes[id] = accessmode.Merge(modes[id], claim.AccessModes)
	}
	buckets := make([]*cosi.AccessedBucket, 0, len(modes))
	for id, m := range modes {
		buckets = append(buckets, &cosi.AccessedBucket{
			BucketId:                 id,
			ObjectDataAccessMode:     terms.AccessMode(m.ObjectData),
			ObjectMetadataAccessMode: terms.AccessMode(m.ObjectMetadata),
			BucketMetadataAccessMode: terms.AccessMode(m.BucketMetadata),
		})
	}
	slices.SortFunc(buckets, func(x, y *cosi.AccessedBucket) int { return cmp.Compare(x.GetBucketId(), y.GetBucketId()) })
	return buckets
}

// serviceAccount returns the namespace and name of the ServiceAccount that the
// driver gets; both are empty unless the access authenticates by it.
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
		Protocol:                terms.Protocol(a.Spec.Protocol),
		AuthenticationType:      terms.Authentication(a.Status.AuthenticationType),
		ServiceAccountName:      name,
		ServiceAccountNamespace: namespace,
		Parameters:              a.Status.Parameters,
		Buckets:                 grantedBuckets(a),
		Rotation:                a.Annotations[cosiapi.RotateAnnotation],
		DisallowedAccessModes:   terms.DisallowedAccessModes(a.Status.DisallowedBucketAccessModes),
	}
}

func grantRequest(asked *cosi.DriverGenerateBucketAccessIdRequest, account string) *cosi.DriverGrantBucketAccessRequest {
	return &cosi.DriverGrantBucketAccessRequest{
		AccountId:               account,
		Protocol:                asked.GetProtocol(),
		AuthenticationType:      asked.GetAuthenticationType(),
		ServiceAccountName:      asked.GetServiceAccountName(),
		ServiceAccountNamespace: asked.GetServiceAccountNamespace(),
		Parameters:              asked.GetParameters(),
		Buckets:                 asked.GetBuckets(),
		Rotation:                asked.GetRotation(),
		DisallowedAccessModes:   asked.GetDisallowedAccessModes(),
	}
}

func revokeRequest(a *cosiapi.BucketAccess) *cosi.DriverRevokeBucketAccessRequest {
	namespace, name := serviceAccount(a)
	request := &cosi.DriverRevokeBucketAccessRequest{
		AccountId:               a.Status.AccountID,
		Protocol:                terms.Protocol(a.Spec.Protocol),
		AuthenticationType:      terms.Authentication(a.Status.AuthenticationType),
		ServiceAccountName:      name,
		ServiceAccountNamespace: namespace,
		Parameters:              a.Status.Parameters,
	}
	for _, id := range bucketIDs(a) {
		request.Buckets = append(request.Buckets, &cosi.DriverRevokeBucketAccessRequest_AccessedBucket{BucketId: id})
	}
	return request
}

// isAnother reports whether two accesses of one driver are two.
func isAnother(other, a *cosiapi.BucketAccess) bool {
	return other.UID != a.UID && other.Status.DriverName == a.Status.DriverName
}

// Hold returns what shows that an access holds the names of its Secrets and its
// account: while it goes it gives the names back first, and then the account.
func Hold(a *cosiapi.BucketAccess) any {
	return struct {
		account            string
		leaving, cleanedUp bool
		cleanup            cosiapi.Cleanup
	}{a.Status.AccountID, a.DeletionTimestamp != nil, a.CleanedUp(), a.Status.Cleanup}
}

// keeps reports whether another access needs the account of one that is being
// deleted. Of those that are all being deleted, each revokes it.
func keeps(other, a *cosiapi.BucketAccess) bool {
	return isAnother(other, a) && other.Status.AccountID == a.Status.AccountID && other.DeletionTimestamp == nil
}

// shared returns what an access says while another one keeps its account.
func shared(a *cosiapi.BucketAccess) conditions.Change {
	return conditions.Change{
		Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionTrue, Reason: conditions.IDShared,
		Message: "The account of this BucketAccess is in use elsewhere, and would be revoked there, too. Its Secrets are deleted, and it stays. " +
			"An administrator must look for another BucketAccess with its status.accountID.",
		Generation: a.Generation,
	}
}

// validated returns what ResourcesValidated says of an access that is granted, or
// about to be.
func (w *work) validated() conditions.Change {
	if w.warning != nil {
		return w.warning.Validated(w.access.Generation)
	}
	return conditions.Change{
		Type: cosiapi.ConditionResourcesValidated, Status: metav1.ConditionTrue, Reason: conditions.SidecarValidated,
		Message: "The Buckets and Secrets of this BucketAccess are valid.", Generation: w.access.Generation,
	}
}
