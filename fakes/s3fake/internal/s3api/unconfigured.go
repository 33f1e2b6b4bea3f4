// SPDX-License-Identifier: Apache-2.0

package s3api

import "net/http"

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

// configurationLists are the sub-resources with configurations that have IDs.
var configurationLists = map[string]struct{ kind, root string }{
	"analytics":           {"Analytics", "ListBucketAnalyticsConfigurationResult"},
	"inventory":           {"Inventory", "ListInventoryConfigurationsResult"},
	"metrics":             {"Metrics", "ListMetricsConfigurationsResult"},
	"intelligent-tiering": {"IntelligentTiering", "ListBucketIntelligentTieringConfigurationsOutput"},
}
