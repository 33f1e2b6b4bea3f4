// SPDX-License-Identifier: Apache-2.0

package s3api

import "strings"

// listed are the headers that begin with x-amz- and the parameters that each operation has, in the description of the API
// from which AWS makes its SDKs. What is not listed is refused by name. Left out is what signs a request (signing), what
// selects the operation, and what no operation serves (refusedHeaders). @NAME is another line, a header that ends in "-" a
// beginning, and "!" says that the operation refuses it in S3's own words.
const listed = `
	@body @sums x-amz-sdk-checksum-algorithm
	@from x-amz-copy-source x-amz-copy-source-if-match x-amz-copy-source-if-modified-since x-amz-copy-source-if-none-match
		x-amz-copy-source-if-unmodified-since x-amz-source-expected-bucket-owner
	@owner x-amz-expected-bucket-owner
	@response response-cache-control response-content-disposition response-content-encoding response-content-language
		response-content-type response-expires
	@sums x-amz-checksum-crc32 x-amz-checksum-crc32c x-amz-checksum-crc64nvme x-amz-checksum-md5 x-amz-checksum-sha1
		x-amz-checksum-sha256 x-amz-checksum-sha512 x-amz-checksum-xxhash128 x-amz-checksum-xxhash3 x-amz-checksum-xxhash64
	@to x-amz-acl x-amz-grant-full-control x-amz-grant-read x-amz-grant-read-acp x-amz-grant-write-acp x-amz-meta-
		x-amz-object-lock-legal-hold x-amz-object-lock-mode x-amz-object-lock-retain-until-date x-amz-server-side-encryption
		x-amz-server-side-encryption-aws-kms-key-id x-amz-server-side-encryption-bucket-key-enabled x-amz-storage-class x-amz-tagging
		x-amz-website-redirect-location

	AbortMultipartUpload @owner x-amz-request-payer uploadId
	CompleteMultipartUpload @owner @sums x-amz-checksum-type x-amz-mp-object-size x-amz-request-payer uploadId
	CopyObject @owner @to @from x-amz-checksum-algorithm x-amz-metadata-directive x-amz-request-payer x-amz-tagging-directive
	CreateBucket x-amz-acl x-amz-bucket-namespace x-amz-bucket-object-lock-enabled x-amz-grant-full-control x-amz-grant-read
		x-amz-grant-read-acp x-amz-grant-write x-amz-grant-write-acp x-amz-object-ownership
	CreateMultipartUpload @owner @to x-amz-checksum-algorithm x-amz-checksum-type x-amz-request-payer
	DeleteBucket @owner
	DeleteBucketCors @owner
	DeleteBucketEncryption @owner
	DeleteBucketLifecycle @owner
	DeleteBucketOwnershipControls @owner
	DeleteBucketPolicy @owner
	DeleteBucketTagging @owner
	DeleteObject @owner x-amz-bypass-governance-retention x-amz-request-payer versionId
	DeleteObjects @owner @body x-amz-bypass-governance-retention x-amz-request-payer
	DeleteObjectTagging @owner versionId
	DeletePublicAccessBlock @owner
	GetBucketAbac @owner
	GetBucketAcl @owner
	GetBucketCors @owner
	GetBucketEncryption @owner
	GetBucketLifecycleConfiguration @owner
	GetBucketLocation @owner
	GetBucketOwnershipControls @owner
	GetBucketPolicy @owner
	GetBucketPolicyStatus @owner
	GetBucketTagging @owner
	GetBucketVersioning @owner
	GetObject @owner @response x-amz-checksum-mode x-amz-request-payer partNumber versionId x-amz-server-side-encryption!
	GetObjectAcl @owner x-amz-request-payer versionId
	GetObjectAttributes @owner x-amz-max-parts x-amz-object-attributes x-amz-part-number-marker x-amz-request-payer versionId
	GetObjectLegalHold @owner x-amz-request-payer versionId
	GetObjectLockConfiguration @owner
	GetObjectRetention @owner x-amz-request-payer versionId
	GetObjectTagging @owner x-amz-request-payer versionId
	GetPublicAccessBlock @owner
	HeadBucket @owner
	HeadObject @owner @response x-amz-checksum-mode x-amz-request-payer partNumber versionId x-amz-server-side-encryption!
	ListBuckets bucket-region continuation-token max-buckets prefix
	ListMultipartUploads @owner x-amz-request-payer delimiter encoding-type key-marker max-uploads prefix upload-id-marker
	ListObjects @owner x-amz-optional-object-attributes x-amz-request-payer delimiter encoding-type marker max-keys prefix
	ListObjectsV2 @owner x-amz-optional-object-attributes x-amz-request-payer continuation-token delimiter encoding-type fetch-owner
		max-keys prefix start-after
	ListObjectVersions @owner x-amz-optional-object-attributes x-amz-request-payer delimiter encoding-type key-marker max-keys prefix
		version-id-marker
	ListParts @owner x-amz-request-payer max-parts part-number-marker uploadId
	PutBucketAbac @owner @body
	PutBucketAcl @owner @body x-amz-acl x-amz-grant-full-control x-amz-grant-read x-amz-grant-read-acp x-amz-grant-write
		x-amz-grant-write-acp
	PutBucketCors @owner @body
	PutBucketEncryption @owner @body
	PutBucketLifecycleConfiguration @owner @body x-amz-transition-default-minimum-object-size
	PutBucketOwnershipControls @owner @body
	PutBucketPolicy @owner @body x-amz-confirm-remove-self-bucket-access
	PutBucketTagging @owner @body
	PutBucketVersioning @owner @body
	PutObject @owner @body @to x-amz-request-payer x-amz-copy-source! partNumber!
	PutObjectAcl @owner @body x-amz-acl x-amz-grant-full-control x-amz-grant-read x-amz-grant-read-acp x-amz-grant-write
		x-amz-grant-write-acp x-amz-request-payer versionId
	PutObjectLegalHold @owner @body x-amz-request-payer versionId
	PutObjectLockConfiguration @owner @body x-amz-request-payer
	PutObjectRetention @owner @body x-amz-bypass-governance-retention x-amz-request-payer versionId
	PutObjectTagging @owner @body x-amz-request-payer versionId
	PutPublicAccessBlock @owner @body
	UploadPart @owner @body x-amz-request-payer partNumber uploadId
	UploadPartCopy @owner @from x-amz-copy-source-range x-amz-request-payer partNumber uploadId
	PostObject @to @sums x-amz-checksum-algorithm
`

// takes are the headers and the parameters of an operation by its name.
func takes() map[string]map[string]bool {
	lines, name := map[string][]string{}, ""
	for line := range strings.Lines(listed) {
		words := strings.Fields(line)
		if len(words) > 0 && !strings.HasPrefix(line, "\t\t") {
			name, words = words[0], words[1:]
		}
		lines[name] = append(lines[name], words...)
	}
	var add func(into map[string]bool, words []string)
	add = func(into map[string]bool, words []string) {
		for _, w := range words {
			if strings.HasPrefix(w, "@") {
				add(into, lines[w])
				continue
			}
			into[strings.TrimSuffix(w, "!")] = true
		}
	}
	out := map[string]map[string]bool{}
	for name, words := range lines {
		out[name] = map[string]bool{}
		add(out[name], words)
	}
	return out
}
