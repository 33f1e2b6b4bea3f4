// SPDX-License-Identifier: Apache-2.0

// Package index registers the field indexes of the Controller's cache. When an object changes, the Controller uses them
// to find the objects that depend on it.
package index

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// Names of the indexes, for client.MatchingFields.
const (
	// ClaimByClass finds BucketClaims by spec.bucketClassName. It omits bound claims, of which there are thousands,
	// because they have a copy of the class.
	ClaimByClass = "claim.class"
	// ClaimByBucket finds BucketClaims by the name of the Bucket that they request or would get. To save memory, it
	// omits the thousands of claims that are bound to a valid Bucket that was created for them. For those, the Bucket
	// references its claim.
	ClaimByBucket = "claim.bucket"
	// BucketByClaim finds Buckets by spec.bucketClaimRef; see ClaimKey.
	BucketByClaim = "bucket.claim"
	// AccessByClaim finds BucketAccesses by the names of their BucketClaims.
	AccessByClaim = "access.claim"
	// AccessByClass finds BucketAccesses by spec.bucketAccessClassName. It omits accesses that are handed off, because
	// they have a copy of the class.
	AccessByClass = "access.class"
)

// ClaimKey returns the value of BucketByClaim for a claim.
func ClaimKey(claim types.NamespacedName) string { return claim.String() }

// Register adds all indexes to an indexer, once for each manager.
func Register(ctx context.Context, indexer client.FieldIndexer) error {
	for _, i := range []struct {
		name    string
		object  client.Object
		extract client.IndexerFunc
	}{
		{ClaimByClass, &cosiapi.BucketClaim{}, claimClass},
		{ClaimByBucket, &cosiapi.BucketClaim{}, claimBucket},
		{BucketByClaim, &cosiapi.Bucket{}, bucketClaim},
		{AccessByClaim, &cosiapi.BucketAccess{}, accessClaims},
		{AccessByClass, &cosiapi.BucketAccess{}, accessClass},
	} {
		if err := indexer.IndexField(ctx, i.object, i.name, i.extract); err != nil {
			return fmt.Errorf("add index %s (a manager can run only one controller): %w", i.name, err)
		}
	}
	return nil
}

func claimClass(obj client.Object) []string {
	claim, ok := obj.(*cosiapi.BucketClaim)
	if !ok || claim.Spec.BucketClassName == "" || claim.Status.BoundBucketName != "" {
		return nil
	}
	return []string{claim.Spec.BucketClassName}
}

func claimBucket(obj client.Object) []string {
	claim, ok := obj.(*cosiapi.BucketClaim)
	if !ok {
		return nil
	}
	bound, asked := claim.Status.BoundBucketName, claim.Spec.ExistingBucketName
	switch {
	case bound != "" && asked == "" && claim.DeletionTimestamp.IsZero() &&
		conditions.Is(claim.Status.Conditions, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue):
		return nil
	case bound != "":
		return []string{bound}
	case asked != "":
		return []string{asked}
	}
	return []string{cosiapi.BucketNameFor(claim.UID)}
}

func bucketClaim(obj client.Object) []string {
	bucket, ok := obj.(*cosiapi.Bucket)
	if !ok {
		return nil
	}
	ref := bucket.Spec.BucketClaimRef
	return []string{ClaimKey(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})}
}

func accessClaims(obj client.Object) []string {
	access, ok := obj.(*cosiapi.BucketAccess)
	if !ok {
		return nil
	}
	names := make([]string, 0, len(access.Spec.BucketClaims))
	for _, c := range access.Spec.BucketClaims {
		names = append(names, c.BucketClaimName)
	}
	return names
}

func accessClass(obj client.Object) []string {
	access, ok := obj.(*cosiapi.BucketAccess)
	if !ok || access.Status.DriverName != "" {
		return nil
	}
	return []string{access.Spec.BucketAccessClassName}
}
