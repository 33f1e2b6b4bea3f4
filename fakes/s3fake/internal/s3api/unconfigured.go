// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// unconfigured are the reads of settings that this fake cannot store. It responds as S3 does for a bucket without them,
// because tools such as Terraform read all settings of a bucket. Writes of these settings are not implemented.
func unconfigured() map[string]*operation {
	empty := func(root string) func(*request) error {
		return func(q *request) error { return q.send(newDocument(root)) }
	}
	missing := func(code, message string) func(*request) error {
		return func(q *request) error {
			return awserr.New(http.StatusNotFound, code, message).With("BucketName", q.bucket)
		}
	}
	list := func(root string) func(*request) error {
		return func(q *request) error { return q.send(newDocument(root).bool("IsTruncated", false)) }
	}
	payer := func(q *request) error {
		return q.send(newDocument("RequestPaymentConfiguration").text("Payer", "BucketOwner"))
	}
	table := map[string]*operation{}
	for _, read := range []struct {
		sub, name, action string
		run               func(*request) error
	}{
		{"accelerate", "GetBucketAccelerateConfiguration", "s3:GetAccelerateConfiguration", empty("AccelerateConfiguration")},
		{"logging", "GetBucketLogging", "s3:GetBucketLogging", empty("BucketLoggingStatus")},
		{"requestPayment", "GetBucketRequestPayment", "s3:GetBucketRequestPayment", payer},
		{
			"website", "GetBucketWebsite", "s3:GetBucketWebsite",
			missing("NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration"),
		},
		{
			"replication", "GetBucketReplication", "s3:GetReplicationConfiguration",
			missing("ReplicationConfigurationNotFoundError", "The replication configuration was not found"),
		},
	} {
		table["GET bucket "+read.sub] = &operation{name: read.name, permissions: bucketPermission(read.action), run: read.run}
	}
	for sub, lists := range configurationLists {
		action := bucketPermission("s3:Get" + lists.kind + "Configuration")
		table["GET bucket "+sub] = &operation{name: "ListBucket" + lists.kind + "Configurations", permissions: action, run: list(lists.root)}
		table["GETID bucket "+sub] = &operation{
			name: "GetBucket" + lists.kind + "Configuration", permissions: action,
			run: refuse(awserr.New(http.StatusNotFound, "NoSuchConfiguration", "The specified configuration does not exist.")),
		}
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
