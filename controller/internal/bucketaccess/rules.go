// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/accessmode"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// validMessage is the message of a valid access.
const validMessage = "The class and the claims are valid."

// A rule returns the problem with the objects that an access refers to, or nil.
type rule func(*cosiapi.BucketAccess, facts) *conditions.Problem

// classProblem checks whether the class allows the access.
func classProblem(access *cosiapi.BucketAccess, f facts) *conditions.Problem {
	class := f.class
	switch {
	case class == nil:
		name := access.Spec.BucketAccessClassName
		return conditions.Wait(conditions.WaitingForClass,
			"Waiting for BucketAccessClass %q to exist. Create it, or delete this BucketAccess and create it again with another class.", name).Confirmed()
	case len(access.Spec.BucketClaims) > 1 && class.Spec.MultiBucketAccess != cosiapi.MultiBucketAccessMultipleBuckets:
		return conditions.Refuse(conditions.MultiBucketDisallowed,
			"BucketAccessClass %q allows only one BucketClaim for each BucketAccess, but this BucketAccess has %d. Create one BucketAccess for each claim, or use a class with multiBucketAccess: MultipleBuckets.",
			class.Name, len(access.Spec.BucketClaims))
	case authenticationType(class) == cosiapi.AuthenticationTypeServiceAccount && access.Spec.ServiceAccountName == "":
		return conditions.Refuse(conditions.ServiceAccountRequired,
			"BucketAccessClass %q authenticates by ServiceAccount. Delete this BucketAccess and create it again with spec.serviceAccountName.", class.Name)
	}
	for _, contradiction := range []string{conditions.RepeatedSecret(access), conditions.WithoutMode(access)} {
		if contradiction != "" {
			return conditions.Refuse(conditions.SpecInvalid, "%s", contradiction)
		}
	}
	for _, c := range access.Spec.BucketClaims {
		if p := modesProblem(class, c.AccessModes, fmt.Sprintf("BucketClaim %q", c.BucketClaimName)); p != nil {
			return p
		}
	}
	return nil
}

// authenticationType returns the authentication type of the class. The class may have been stored before the field had
// a default.
func authenticationType(class *cosiapi.BucketAccessClass) cosiapi.AuthenticationType {
	if class.Spec.AuthenticationType == "" {
		return cosiapi.AuthenticationTypeKey
	}
	return class.Spec.AuthenticationType
}

// modesProblem checks whether the class disallows one of the modes, compared literally and per category. A category
// that is not requested is never refused.
func modesProblem(class *cosiapi.BucketAccessClass, modes cosiapi.BucketAccessModes, of string) *conditions.Problem {
	disallowed := class.Spec.DisallowedBucketAccessModes
	for _, category := range []struct {
		name  string
		mode  cosiapi.BucketAccessMode
		never []cosiapi.BucketAccessMode
	}{
		{"objectData", modes.ObjectData, disallowed.ObjectData},
		{"objectMetadata", modes.ObjectMetadata, disallowed.ObjectMetadata},
		{"bucketMetadata", modes.BucketMetadata, disallowed.BucketMetadata},
	} {
		if category.mode != "" && slices.Contains(category.never, category.mode) {
			return conditions.Refuse(conditions.AccessModeDisallowed,
				"BucketAccessClass %q does not allow %s: %s, which this BucketAccess requests for %s. Delete this BucketAccess and create it again with another mode or class.",
				class.Name, category.name, category.mode, of)
		}
	}
	return nil
}

// claimsProblem checks that all claims exist and none is being deleted.
func claimsProblem(access *cosiapi.BucketAccess, f facts) *conditions.Problem {
	missing := false
	for _, c := range access.Spec.BucketClaims {
		claim := f.claims[c.BucketClaimName]
		if claim == nil {
			missing = true
			continue
		}
		if !claim.DeletionTimestamp.IsZero() {
			return conditions.Refuse(conditions.BucketClaimDeleting, "BucketClaim %q is being deleted, so no access to it can be granted. Delete this BucketAccess and create it again for another claim.", claim.Name)
		}
	}
	if missing {
		return waitForClaims(access, f)
	}
	return nil
}

// waitForClaims lists all claims that do not exist or are not provisioned. A missing claim must be confirmed with the
// API server: if it was created together with the access, the cache may not have it yet.
func waitForClaims(access *cosiapi.BucketAccess, f facts) *conditions.Problem {
	var missing, unready []string
	for _, c := range access.Spec.BucketClaims {
		switch claim := f.claims[c.BucketClaimName]; {
		case claim == nil:
			missing = append(missing, c.BucketClaimName)
		case !provisioned(claim):
			unready = append(unready, c.BucketClaimName)
		}
	}
	var messages []string
	if len(missing) > 0 {
		messages = append(messages, fmt.Sprintf("Waiting for %s to exist. Create the missing BucketClaims, or delete this BucketAccess.", conditions.Names("BucketClaim", missing...)))
	}
	if len(unready) > 0 {
		pronoun := "its"
		if len(unready) > 1 {
			pronoun = "their"
		}
		messages = append(messages, fmt.Sprintf("Waiting for %s to be provisioned. See %s conditions for the reason.", conditions.Names("BucketClaim", unready...), pronoun))
	}
	if len(messages) == 0 {
		return nil
	}
	p := conditions.Wait(conditions.WaitingForBucketClaim, "%s", strings.Join(messages, " "))
	p.Confirm = len(missing) > 0
	return p
}

// allInProgress reports whether all claims exist and none reports a problem.
func allInProgress(access *cosiapi.BucketAccess, f facts) bool {
	return !slices.ContainsFunc(access.Spec.BucketClaims, func(c cosiapi.BucketClaimAccess) bool {
		claim := f.claims[c.BucketClaimName]
		return claim == nil || !inProgress(claim)
	})
}

// inProgress reports whether a claim reports no problem.
func inProgress(claim *cosiapi.BucketClaim) bool {
	return !slices.ContainsFunc(claim.Status.Conditions, func(c metav1.Condition) bool {
		reason := conditions.Reason(c.Reason)
		switch c.Type {
		case cosiapi.ConditionProvisioned:
			return reason != conditions.Initial && reason != conditions.WaitingForBucket && c.Status != metav1.ConditionTrue
		case cosiapi.ConditionResourcesValidated:
			return reason != conditions.Initial && c.Status != metav1.ConditionTrue
		case cosiapi.ConditionReady:
			return false // it repeats the others
		default:
			return c.Status == metav1.ConditionTrue
		}
	})
}

// provisioned reports whether a claim has a provisioned Bucket. A bucket ID is
// not enough: it is stored before the bucket is created.
func provisioned(claim *cosiapi.BucketClaim) bool {
	return claim != nil && claim.Status.BoundBucketName != "" &&
		conditions.Is(claim.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
}

// bucketsProblem checks that all Buckets are provisioned, belong to their claims and to the driver of the class, and
// offer everything that the access requests.
func bucketsProblem(access *cosiapi.BucketAccess, f facts) *conditions.Problem {
	if p := waitForClaims(access, f); p != nil {
		return p
	}
	for _, c := range access.Spec.BucketClaims {
		claim := f.claims[c.BucketClaimName]
		if p := bucketProblem(access, claim, f.buckets[c.BucketClaimName], f.class); p != nil {
			return p
		}
	}
	return mergedProblem(access, f)
}

// bucketProblem is bucketsProblem for one provisioned claim.
func bucketProblem(access *cosiapi.BucketAccess, claim *cosiapi.BucketClaim, bucket *cosiapi.Bucket, class *cosiapi.BucketAccessClass) *conditions.Problem {
	name := conditions.Names("BucketClaim", claim.Name)
	lacks := conditions.Lacks(name, claim.Status.Protocols, []cosiapi.Protocol{access.Spec.Protocol}, "this BucketAccess")
	switch {
	case bucket == nil:
		return conditions.Refuse(conditions.BucketMissing, "Bucket %q of BucketClaim %q does not exist. An administrator must restore it.", claim.Status.BoundBucketName, claim.Name)
	case !bound(claim, bucket):
		return conditions.Refuse(conditions.BindingInvalid, "%s An administrator must correct the binding.",
			conditions.Belongs(conditions.Names("Bucket", bucket.Name), conditions.AnotherClaim, name))
	case !bucket.DeletionTimestamp.IsZero() || cosiapi.Released(bucket):
		return conditions.Refuse(conditions.BindingInvalid, "Bucket %q of BucketClaim %q is being deleted. Delete that BucketClaim.", bucket.Name, claim.Name)
	case bucket.Status.BucketID == "":
		return conditions.Refuse(conditions.BindingInvalid, "Bucket %q of BucketClaim %q has lost its bucket ID. An administrator must restore status.bucketID of the Bucket.", bucket.Name, claim.Name)
	case lacks != "":
		return conditions.Refuse(conditions.ProtocolUnsupported, "%s Delete this BucketAccess and create it again with another protocol or claim.", lacks)
	case bucket.Spec.DriverName != class.Spec.DriverName:
		return conditions.Refuse(conditions.DriverMismatch, "%s Delete this BucketAccess and create it again with a BucketAccessClass of driver %q.",
			conditions.Belongs(name, conditions.Names("driver", bucket.Spec.DriverName),
				fmt.Sprintf("driver %q of BucketAccessClass %q", class.Spec.DriverName, class.Name)), bucket.Spec.DriverName)
	default:
		return nil
	}
}

// bound reports whether Bucket and claim reference each other.
func bound(claim *cosiapi.BucketClaim, bucket *cosiapi.Bucket) bool {
	ref := bucket.Spec.BucketClaimRef
	return claim.Status.BoundBucketName == bucket.Name && ref.Namespace == claim.Namespace && ref.Name == claim.Name && ref.UID == claim.UID
}

// mergedProblem checks the merged modes of claims that share one backend bucket against the class.
func mergedProblem(access *cosiapi.BucketAccess, f facts) *conditions.Problem {
	type share struct {
		modes  cosiapi.BucketAccessModes
		claims []string
	}
	byID := map[string]share{}
	for _, c := range access.Spec.BucketClaims {
		id := f.buckets[c.BucketClaimName].Status.BucketID
		sum := byID[id]
		sum.modes = accessmode.Merge(sum.modes, c.AccessModes)
		sum.claims = append(sum.claims, c.BucketClaimName)
		byID[id] = sum
		if len(sum.claims) < 2 {
			continue
		}
		of := conditions.Names("BucketClaim", sum.claims...) + " together, which share one bucket"
		if p := modesProblem(f.class, sum.modes, of); p != nil {
			return p
		}
	}
	return nil
}

// handedOffProblem checks whether the claims of an access are unchanged since its hand-off.
func handedOffProblem(access *cosiapi.BucketAccess, f facts) *conditions.Problem {
	for _, b := range access.Status.AccessedBuckets {
		claim := f.claims[b.BucketClaimName]
		switch {
		case claim == nil:
			return conditions.Refuse(conditions.BucketClaimMissing, "BucketClaim %q does not exist. Delete this BucketAccess.", b.BucketClaimName)
		case !claim.DeletionTimestamp.IsZero():
			return conditions.Refuse(conditions.BucketClaimDeleting, "BucketClaim %q is being deleted and waits for this BucketAccess. Delete this BucketAccess, too.", claim.Name)
		case claim.Status.BoundBucketName != b.BucketName:
			return conditions.Refuse(conditions.BindingInvalid,
				"BucketClaim %q is not bound to Bucket %q, which this BucketAccess was granted for. Delete this BucketAccess and create it again.", claim.Name, b.BucketName)
		}
	}
	return nil
}
