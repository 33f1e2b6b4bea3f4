// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"fmt"
	"slices"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Belongs returns the sentence for two objects that do not fit. All three are
// named as Names does it.
func Belongs(what, to, notTo string) string {
	return fmt.Sprintf("%s belongs to %s and not to %s.", what, to, notTo)
}

// AnotherClaim stands, in what users read, for a claim that is perhaps not theirs.
const AnotherClaim = "another BucketClaim"

// ClaimOf names the claim that a Bucket is bound to or, without a UID, reserved
// for. It is for administrators, who may read Buckets, and for the user of that
// very claim: any other must not learn of it.
func ClaimOf(bucket *cosiapi.Bucket) string {
	ref := bucket.Spec.BucketClaimRef
	name := Names("BucketClaim", ref.Namespace+"/"+ref.Name)
	if ref.UID == "" {
		return name
	}
	return fmt.Sprintf("%s with UID %q", name, ref.UID)
}

// Lacks returns the sentence for an object or a driver that lacks protocols which
// another object asks for; empty means that it has them all.
func Lacks(what string, has, asked []cosiapi.Protocol, by string) string {
	lacking := slices.DeleteFunc(slices.Clone(asked), func(p cosiapi.Protocol) bool { return slices.Contains(has, p) })
	if len(lacking) == 0 {
		return ""
	}
	return fmt.Sprintf("%s supports %s and not %s, which %s asks for.", what, List(has), List(lacking), by)
}

// RepeatedSecret returns the sentences for an access that names one Secret for two
// claims; empty means that it does not.
func RepeatedSecret(access *cosiapi.BucketAccess) string {
	seen := map[string]bool{}
	for _, c := range access.Spec.BucketClaims {
		if seen[c.AccessSecretName] {
			return fmt.Sprintf("Secret %q is named for two claims. Delete this BucketAccess and create it again with one accessSecretName for each claim.", c.AccessSecretName)
		}
		seen[c.AccessSecretName] = true
	}
	return ""
}

// WithoutMode returns the message for an access that has no accessModes for one of its
// claims. Our CRDs refuse that: it was created under those of another project, which
// have another field. Empty means that it has modes for all claims.
func WithoutMode(access *cosiapi.BucketAccess) string {
	for _, c := range access.Spec.BucketClaims {
		if c.AccessModes == (cosiapi.BucketAccessModes{}) {
			return fmt.Sprintf("This BucketAccess has no accessModes for BucketClaim %q. It was created under another project's "+
				"CustomResourceDefinitions. Its credential keeps working, but is not granted again. Create another BucketAccess, "+
				"and delete this one when nothing uses its Secret.", c.BucketClaimName)
		}
	}
	return ""
}
