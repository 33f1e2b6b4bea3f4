// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"fmt"
	"slices"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Belongs returns the message for two objects that do not match. The arguments have the format of Names.
func Belongs(what, to, notTo string) string {
	return fmt.Sprintf("%s belongs to %s, not to %s.", what, to, notTo)
}

// AnotherClaim replaces, in messages, the name of a claim that the reader may not be allowed to see.
const AnotherClaim = "another BucketClaim"

// ClaimOf returns the name and UID of the claim that a Bucket is bound to. If the Bucket is only reserved for a claim,
// its reference has no UID, and ClaimOf returns only the name. Show the result only to administrators, who may read
// Buckets, and to the user of that claim.
func ClaimOf(bucket *cosiapi.Bucket) string {
	ref := bucket.Spec.BucketClaimRef
	name := Names("BucketClaim", ref.Namespace+"/"+ref.Name)
	if ref.UID == "" {
		return name
	}
	return fmt.Sprintf("%s with UID %q", name, ref.UID)
}

// Lacks returns the message for an object or a driver that does not support all protocols that another object requests.
// It returns an empty string if nothing is missing.
func Lacks(what string, has, asked []cosiapi.Protocol, by string) string {
	lacking := slices.DeleteFunc(slices.Clone(asked), func(p cosiapi.Protocol) bool { return slices.Contains(has, p) })
	if len(lacking) == 0 {
		return ""
	}
	return fmt.Sprintf("%s supports %s, but not %s, which %s requests.", what, List(has), List(lacking), by)
}

// RepeatedSecret returns the message for an access that uses the same Secret name for two claims. It returns an empty
// string for any other access.
func RepeatedSecret(access *cosiapi.BucketAccess) string {
	seen := map[string]bool{}
	for _, c := range access.Spec.BucketClaims {
		if seen[c.AccessSecretName] {
			return fmt.Sprintf("spec.bucketClaims names Secret %q for two claims. Delete this BucketAccess and create it again with one accessSecretName for each claim.", c.AccessSecretName)
		}
		seen[c.AccessSecretName] = true
	}
	return ""
}

// WithoutMode returns the message for an access that has no accessModes for one of its claims. It returns an empty
// string for any other access. Our CRDs reject an access without accessModes, so it was created under the CRDs of
// another project, which have a different field.
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
