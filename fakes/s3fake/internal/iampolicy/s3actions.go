// SPDX-License-Identifier: Apache-2.0

package iampolicy

import "strings"

// scopes of an S3 action: which kind of ARN it applies to.
const (
	onBucket = 1 << iota
	onObject
	// onService actions take no bucket and are refused in bucket policies.
	onService
)

// s3Actions are the actions of Amazon S3 for general purpose buckets ("Actions, resources, and condition keys for
// Amazon S3" in the Service Authorization Reference), in lower case.
var s3Actions = s3ActionTable()

func s3ActionTable() map[string]int {
	table := map[string]int{}
	add := func(scope int, names string) {
		for name := range strings.FieldsSeq(names) {
			table["s3:"+strings.ToLower(name)] = scope
		}
	}
	add(onObject, `AbortMultipartUpload BypassGovernanceRetention DeleteObject DeleteObjectTagging DeleteObjectVersion
		DeleteObjectVersionTagging GetObject GetObjectAcl GetObjectAttributes GetObjectLegalHold GetObjectRetention
		GetObjectTagging GetObjectTorrent GetObjectVersion GetObjectVersionAcl GetObjectVersionAttributes
		GetObjectVersionForReplication GetObjectVersionTagging GetObjectVersionTorrent InitiateReplication
		ListMultipartUploadParts ObjectOwnerOverrideToBucketOwner PutObject PutObjectAcl PutObjectLegalHold
		PutObjectRetention PutObjectTagging PutObjectVersionAcl PutObjectVersionTagging ReplicateDelete ReplicateObject
		ReplicateTags RestoreObject UpdateObjectEncryption RenameObject`)
	add(onBucket, `CreateBucket CreateBucketMetadataTableConfiguration DeleteBucket DeleteBucketPolicy DeleteBucketWebsite
		DeleteBucketMetadataTableConfiguration GetAccelerateConfiguration GetAnalyticsConfiguration GetBucketAbac PutBucketAbac
		GetBucketAcl GetBucketCORS GetBucketLocation GetBucketLogging GetBucketMetadataTableConfiguration GetBucketNotification
		GetBucketObjectLockConfiguration GetBucketOwnershipControls GetBucketPolicy GetBucketPolicyStatus
		GetBucketPublicAccessBlock GetBucketRequestPayment GetBucketTagging GetBucketVersioning GetBucketWebsite
		GetEncryptionConfiguration GetIntelligentTieringConfiguration GetInventoryConfiguration GetLifecycleConfiguration
		GetMetricsConfiguration GetReplicationConfiguration ListBucket ListBucketMultipartUploads ListBucketVersions
		PutAccelerateConfiguration PutAnalyticsConfiguration PutBucketAcl PutBucketCORS PutBucketLogging
		PutBucketNotification PutBucketObjectLockConfiguration PutBucketOwnershipControls PutBucketPolicy
		PutBucketPublicAccessBlock PutBucketRequestPayment PutBucketTagging PutBucketVersioning PutBucketWebsite
		PutEncryptionConfiguration PutIntelligentTieringConfiguration PutInventoryConfiguration
		PutLifecycleConfiguration PutMetricsConfiguration PutReplicationConfiguration TagResource UntagResource
		ListTagsForResource`)
	add(onService, `ListAllMyBuckets GetAccountPublicAccessBlock PutAccountPublicAccessBlock ListAccessPoints ListJobs CreateJob
		ListStorageLensConfigurations`)
	return table
}

// s3Scopes returns the union of the scopes of every action that the pattern matches; 0 means an invalid action.
// A '?' that is not followed by something to complete a known action matches nothing and is invalid as well.
func s3Scopes(pattern string) int {
	lower := strings.ToLower(pattern)
	if lower == "*" || lower == "s3:*" {
		return onBucket | onObject
	}
	if !strings.HasPrefix(lower, "s3:") {
		return 0
	}
	if !strings.ContainsAny(lower, "*?") {
		return s3Actions[lower] &^ onService
	}
	scopes := 0
	for name, scope := range s3Actions {
		if Match(lower, name) {
			scopes |= scope
		}
	}
	return scopes &^ onService
}
