// SPDX-License-Identifier: Apache-2.0

package s3api

import "github.com/cooper-cosi/cooper/fakes/internal/accept"

// Inputs that several operations have.
var (
	ownerHeaders = accept.Names("x-amz-expected-bucket-owner")
	payerHeaders = ownerHeaders.With("x-amz-request-payer")
	sumHeaders   = accept.Names("x-amz-checksum-crc32", "x-amz-checksum-crc32c", "x-amz-checksum-crc64nvme", "x-amz-checksum-md5", "x-amz-checksum-sha1", "x-amz-checksum-sha256",
		"x-amz-checksum-sha512", "x-amz-checksum-xxhash128", "x-amz-checksum-xxhash3", "x-amz-checksum-xxhash64")
	bodyHeaders     = sumHeaders.With("x-amz-sdk-checksum-algorithm")
	grantHeaders    = accept.Names("x-amz-acl", "x-amz-grant-full-control", "x-amz-grant-read", "x-amz-grant-read-acp", "x-amz-grant-write-acp")
	bucketGrants    = grantHeaders.With("x-amz-grant-write")
	customerHeaders = accept.Names("x-amz-server-side-encryption-customer-algorithm", "x-amz-server-side-encryption-customer-key",
		"x-amz-server-side-encryption-customer-key-md5")
	objectHeaders = grantHeaders.And(customerHeaders).Prefix(metadataPrefix).With("x-amz-object-lock-legal-hold", "x-amz-object-lock-mode", "x-amz-object-lock-retain-until-date",
		"x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id", "x-amz-server-side-encryption-bucket-key-enabled", "x-amz-storage-class",
		"x-amz-tagging", "x-amz-website-redirect-location")
	sourceHeaders = accept.Names("x-amz-copy-source", "x-amz-copy-source-if-match", "x-amz-copy-source-if-modified-since", "x-amz-copy-source-if-none-match",
		"x-amz-copy-source-if-unmodified-since", "x-amz-source-expected-bucket-owner", "x-amz-copy-source-server-side-encryption-customer-algorithm",
		"x-amz-copy-source-server-side-encryption-customer-key", "x-amz-copy-source-server-side-encryption-customer-key-md5")

	ofVersion   = accept.Names("versionId")
	ofPart      = accept.Names("partNumber", "uploadId")
	listQuery   = accept.Names("delimiter", "encoding-type", "max-keys", "prefix")
	listHeaders = payerHeaders.With("x-amz-optional-object-attributes")

	ofAccount = accept.Names("x-amz-account-id")

	ofOwner          = accept.Inputs{Headers: ownerHeaders}
	ofConfiguration  = accept.Inputs{Query: accept.Names("id"), Headers: ownerHeaders}
	ofConfigurations = accept.Inputs{Query: accept.Names("continuation-token"), Headers: ownerHeaders}

	ofDocument  = accept.Inputs{Headers: ownerHeaders.And(bodyHeaders)}
	readSetting = accept.Inputs{Query: ofVersion, Headers: payerHeaders}
	putSetting  = accept.Inputs{Query: ofVersion, Headers: payerHeaders.And(bodyHeaders)}
	readObject  = accept.Inputs{
		Query: accept.Names("partNumber", "versionId", "response-cache-control", "response-content-disposition", "response-content-encoding", "response-content-language",
			"response-content-type", "response-expires"),
		Headers: payerHeaders.And(customerHeaders).With("x-amz-checksum-mode").Refused("x-amz-server-side-encryption"),
	}
)

// inputs are the query parameters and the headers with the prefix x-amz- of each operation in the API description
// from which AWS generates its SDKs. The table omits inputs for signatures (signing), those that select the
// operation, and those that no operation supports (refusedHeaders).
var inputs = map[string]accept.Inputs{
	"DeleteBucket": ofOwner, "DeleteBucketCors": ofOwner, "DeleteBucketEncryption": ofOwner, "DeleteBucketLifecycle": ofOwner, "DeleteBucketOwnershipControls": ofOwner,
	"DeleteBucketPolicy": ofOwner, "DeleteBucketTagging": ofOwner, "DeletePublicAccessBlock": ofOwner, "GetBucketAbac": ofOwner, "GetBucketAcl": ofOwner,
	"GetBucketCors": ofOwner, "GetBucketEncryption": ofOwner, "GetBucketLifecycleConfiguration": ofOwner, "GetBucketLocation": ofOwner, "GetBucketOwnershipControls": ofOwner,
	"GetBucketPolicy": ofOwner, "GetBucketPolicyStatus": ofOwner, "GetBucketTagging": ofOwner, "GetBucketVersioning": ofOwner, "GetObjectLockConfiguration": ofOwner,
	"GetPublicAccessBlock": ofOwner, "HeadBucket": ofOwner,

	"GetBucketAccelerateConfiguration": ofOwner, "GetBucketLogging": ofOwner, "GetBucketNotificationConfiguration": ofOwner,
	"GetBucketMetadataConfiguration": ofOwner, "GetBucketMetadataTableConfiguration": ofOwner,
	"GetBucketReplication": ofOwner, "GetBucketRequestPayment": ofOwner, "GetBucketWebsite": ofOwner,
	"DeleteBucketReplication": ofOwner, "DeleteBucketWebsite": ofOwner,
	"GetBucketAnalyticsConfiguration": ofConfiguration, "GetBucketIntelligentTieringConfiguration": ofConfiguration,
	"GetBucketInventoryConfiguration": ofConfiguration, "GetBucketMetricsConfiguration": ofConfiguration,
	"ListBucketAnalyticsConfigurations": ofConfigurations, "ListBucketIntelligentTieringConfigurations": ofConfigurations,
	"ListBucketInventoryConfigurations": ofConfigurations, "ListBucketMetricsConfigurations": ofConfigurations,

	"PutBucketAbac": ofDocument, "PutBucketCors": ofDocument, "PutBucketEncryption": ofDocument, "PutBucketOwnershipControls": ofDocument, "PutBucketTagging": ofDocument,
	"PutBucketVersioning": ofDocument, "PutPublicAccessBlock": ofDocument,
	"PutBucketAcl":                    {Headers: ofDocument.Headers.And(bucketGrants)},
	"PutBucketLifecycleConfiguration": {Headers: ofDocument.Headers.With("x-amz-transition-default-minimum-object-size")},
	"PutBucketPolicy":                 {Headers: ofDocument.Headers.With("x-amz-confirm-remove-self-bucket-access")},
	"PutObjectLockConfiguration":      {Headers: payerHeaders.And(bodyHeaders)},

	"PutBucketNotificationConfiguration": {Headers: ownerHeaders.With("x-amz-skip-destination-validation")},

	"s3control:ListTagsForResource": {Headers: ofAccount}, "s3control:TagResource": {Headers: ofAccount.And(bodyHeaders)},
	"s3control:UntagResource": {Query: accept.Names("tagKeys"), Headers: ofAccount},

	"CreateBucket":         {Headers: bucketGrants.With("x-amz-bucket-namespace", "x-amz-bucket-object-lock-enabled", "x-amz-object-ownership")},
	"ListBuckets":          {Query: accept.Names("bucket-region", "continuation-token", "max-buckets", "prefix")},
	"ListMultipartUploads": {Query: accept.Names("delimiter", "encoding-type", "key-marker", "max-uploads", "prefix", "upload-id-marker"), Headers: payerHeaders},
	"ListObjects":          {Query: listQuery.With("marker"), Headers: listHeaders},
	"ListObjectsV2":        {Query: listQuery.With("continuation-token", "fetch-owner", "start-after"), Headers: listHeaders},
	"ListObjectVersions":   {Query: listQuery.With("key-marker", "version-id-marker"), Headers: listHeaders},

	"CopyObject":    {Headers: payerHeaders.And(objectHeaders, sourceHeaders).With("x-amz-checksum-algorithm", "x-amz-metadata-directive", "x-amz-tagging-directive")},
	"DeleteObject":  {Query: ofVersion, Headers: payerHeaders.With("x-amz-bypass-governance-retention")},
	"DeleteObjects": {Headers: payerHeaders.And(bodyHeaders).With("x-amz-bypass-governance-retention")},
	"GetObject":     readObject, "HeadObject": readObject,
	"PostObject": {Headers: objectHeaders.And(sumHeaders).With("x-amz-checksum-algorithm")},
	"PutObject":  {Query: accept.List{}.Refused("partNumber"), Headers: payerHeaders.And(bodyHeaders, objectHeaders).With("x-amz-checksum-algorithm").Refused("x-amz-copy-source")},

	"GetObjectAcl": readSetting, "GetObjectLegalHold": readSetting, "GetObjectRetention": readSetting, "GetObjectTagging": readSetting,
	"GetObjectAttributes": {Query: ofVersion, Headers: payerHeaders.And(customerHeaders).With("x-amz-max-parts", "x-amz-object-attributes", "x-amz-part-number-marker")},
	"PutObjectLegalHold":  putSetting, "PutObjectTagging": putSetting,
	"DeleteObjectTagging": {Query: ofVersion, Headers: ownerHeaders},
	"PutObjectAcl":        {Query: ofVersion, Headers: putSetting.Headers.And(bucketGrants)},
	"PutObjectRetention":  {Query: ofVersion, Headers: putSetting.Headers.With("x-amz-bypass-governance-retention")},

	"AbortMultipartUpload":    {Query: accept.Names("uploadId"), Headers: payerHeaders},
	"CompleteMultipartUpload": {Query: accept.Names("uploadId"), Headers: payerHeaders.And(sumHeaders, customerHeaders).With("x-amz-checksum-type", "x-amz-mp-object-size")},
	"CreateMultipartUpload":   {Headers: payerHeaders.And(objectHeaders).With("x-amz-checksum-algorithm", "x-amz-checksum-type")},
	"ListParts":               {Query: accept.Names("max-parts", "part-number-marker", "uploadId"), Headers: payerHeaders.And(customerHeaders)},
	"UploadPart":              {Query: ofPart, Headers: payerHeaders.And(bodyHeaders, customerHeaders)},
	"UploadPartCopy":          {Query: ofPart, Headers: payerHeaders.And(sourceHeaders, customerHeaders).With("x-amz-copy-source-range")},
}
