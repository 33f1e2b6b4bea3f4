// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// unconfigured are the reads and the deletions of settings that this fake cannot store. It responds as S3 does for a bucket
// without them: Terraform reads all settings of a bucket, and ACK deletes the replication before it changes the versioning.
// Writes of these settings are not implemented.
func unconfigured() map[string]*operation {
	empty := func(root string) func(*request) error {
		return func(q *request) error { return q.send(newDocument(root)) }
	}
	deleted := func(q *request) error { return q.status(http.StatusNoContent) }
	table := map[string]*operation{
		"GET bucket accelerate": bucketOperation("GetBucketAccelerateConfiguration", "s3:GetAccelerateConfiguration", empty("AccelerateConfiguration")),
		"GET bucket logging":    bucketOperation("GetBucketLogging", "s3:GetBucketLogging", empty("BucketLoggingStatus")),
		"GET bucket requestPayment": bucketOperation("GetBucketRequestPayment", "s3:GetBucketRequestPayment", func(q *request) error {
			return q.send(newDocument("RequestPaymentConfiguration").text("Payer", "BucketOwner"))
		}),
		"GET bucket website": bucketOperation("GetBucketWebsite", "s3:GetBucketWebsite",
			storedConfig("website", notFound("NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration"))),
		"GET bucket replication": bucketOperation("GetBucketReplication", "s3:GetReplicationConfiguration",
			storedConfig("replication", notFound("ReplicationConfigurationNotFoundError", "The replication configuration was not found"))),
		// One permission is for both versions of the operation.
		"GET bucket metadataConfiguration": bucketOperation("GetBucketMetadataConfiguration", "s3:GetBucketMetadataTableConfiguration",
			storedConfig("metadataConfiguration", notFound("MetadataConfigurationNotFound", "The metadata configuration was not found"))),
		"GET bucket metadataTable":  bucketOperation("GetBucketMetadataTableConfiguration", "s3:GetBucketMetadataTableConfiguration", refuse(errOldMetadata)),
		"DELETE bucket website":     bucketOperation("DeleteBucketWebsite", "s3:DeleteBucketWebsite", deleted),
		"DELETE bucket replication": bucketOperation("DeleteBucketReplication", "s3:PutReplicationConfiguration", deleted),
	}
	for sub, lists := range configurationLists {
		action := "s3:Get" + lists.kind + "Configuration"
		table["GET bucket "+sub] = bucketOperation("ListBucket"+lists.kind+"Configurations", action, func(q *request) error {
			return q.send(newDocument(lists.root).bool("IsTruncated", false))
		})
		table["GETID bucket "+sub] = bucketOperation("GetBucket"+lists.kind+"Configuration", action,
			refuse(notFound("NoSuchConfiguration", "The specified configuration does not exist.")))
	}
	return table
}

// errOldMetadata is the answer of Amazon S3 to accounts that did not use the first version of S3 Metadata.
var errOldMetadata = awserr.New(http.StatusMethodNotAllowed, "V1APIsNotAllowed",
	"The V1 GetBucketMetadataTableConfiguration API operation isn't available for this account. Use the corresponding V2 GetBucketMetadataConfiguration API operation instead.").
	With("Method", http.MethodGet)

// metadataTables are the sub-resources of a bucket that can only be written, by the type that errors name.
var metadataTables = map[string]string{
	"metadataAnnotationTable": "BUCKET_METADATA_ANNOTATION_TABLE_CONFIGURATION",
	"metadataInventoryTable":  "BUCKET_METADATA_INVENTORY_TABLE_CONFIGURATION",
	"metadataJournalTable":    "BUCKET_METADATA_JOURNAL_TABLE_CONFIGURATION",
}

// configurationLists are the sub-resources with configurations that have IDs.
var configurationLists = map[string]struct{ kind, root string }{
	"analytics":           {"Analytics", "ListBucketAnalyticsConfigurationResult"},
	"inventory":           {"Inventory", "ListInventoryConfigurationsResult"},
	"metrics":             {"Metrics", "ListMetricsConfigurationsResult"},
	"intelligent-tiering": {"IntelligentTiering", "ListIntelligentTieringConfigurationsResult"},
}
