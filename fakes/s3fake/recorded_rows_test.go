// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recordedRows names, for rows of TestBehaviour's table, the recording from which the row's result for a caller with all
// permissions comes. The results of all other rows come from the documentation.
func recordedRows() map[string]string {
	return map[string]string{
		"ListBuckets": "test_s3_list_operations/test_list_buckets_with_max_buckets", "CreateBucket": "test_s3/test_create_bucket_head_bucket",
		"CreateBucket tagged": "test_s3_api/test_create_bucket_with_tags", "CreateBucket of one's own": "test_s3_api/test_create_bucket_with_tags_us_east_1_idempotency",
		"HeadBucket": "test_s3/test_create_bucket_head_bucket", "DeleteBucket": "test_s3_api/test_delete_bucket_with_objects",
		"ListObjects": "test_s3_list_operations/test_list_objects_next_marker", "ListObjectsV2": "test_s3_list_operations/test_list_objects_v2_with_prefix",
		"ListObjectVersions": "test_s3_list_operations/test_list_objects_versions_markers", "ListMultipartUploads": "test_s3_list_operations/test_list_multiparts_next_marker",
		"GetBucketLocation": "test_s3/test_different_location_constraint",

		"GetBucketPolicy": "test_s3_api/test_bucket_policy_crud", "PutBucketPolicy": "test_s3_api/test_bucket_policy_crud", "DeleteBucketPolicy": "test_s3_api/test_bucket_policy_crud",
		"GetBucketTagging": "test_s3_api/test_bucket_tagging_crud", "PutBucketTagging": "test_s3_api/test_bucket_tagging_crud", "DeleteBucketTagging": "test_s3_api/test_bucket_tagging_crud",
		"GetBucketVersioning": "test_s3_api/test_bucket_versioning_crud", "PutBucketVersioning": "test_s3_api/test_bucket_versioning_crud",
		"PutBucketVersioning off": "test_s3_api/test_disable_versioning_on_locked_bucket",
		"GetPublicAccessBlock":    "test_s3_api/test_crud_public_access_block", "PutPublicAccessBlock": "test_s3_api/test_crud_public_access_block",
		"DeletePublicAccessBlock": "test_s3_api/test_crud_public_access_block", "GetBucketOwnershipControls": "test_s3_api/test_crud_bucket_ownership_controls",
		"PutBucketOwnershipControls": "test_s3_api/test_crud_bucket_ownership_controls", "DeleteBucketOwnershipControls": "test_s3_api/test_crud_bucket_ownership_controls",
		"GetBucketEncryption": "test_s3_api/test_s3_default_bucket_encryption", "PutBucketEncryption": "test_s3_api/test_s3_bucket_encryption_sse_s3",
		"DeleteBucketEncryption": "test_s3_api/test_s3_default_bucket_encryption", "GetBucketLifecycleConfiguration": "test_s3/test_bucket_lifecycle_multiple_rules",
		"PutBucketLifecycleConfiguration": "test_s3/test_s3_transition_default_minimum_object_size", "DeleteBucketLifecycle": "test_s3/test_delete_bucket_lifecycle_configuration",
		"GetBucketCors": "test_s3_cors/test_get_cors", "PutBucketCors": "test_s3_cors/test_put_cors", "DeleteBucketCors": "test_s3_cors/test_delete_cors",
		"GetObjectLockConfiguration": "test_s3_api/test_get_put_object_lock_configuration", "PutObjectLockConfiguration": "test_s3_api/test_get_put_object_lock_configuration",
		"GetBucketNotificationConfiguration": "test_s3_notifications_sqs/test_notifications_with_filter",
		"GetBucketMetricsConfiguration":      "test_s3_api/test_get_bucket_metrics_configuration_not_exist",

		"GetBucketAcl": "test_s3/test_s3_bucket_acl", "PutBucketAcl with two ACLs": "test_s3/test_s3_bucket_acl_exceptions",
		"PutBucketAcl with a body, too": "test_s3/test_s3_bucket_acl_exceptions", "PutBucketAcl of nothing": "test_s3/test_s3_bucket_acl_exceptions",
		"GetObjectAcl": "test_s3/test_s3_object_acl", "PutObjectAcl with two ACLs": "test_s3/test_s3_object_acl_exceptions",
		"PutObjectAcl with a body, too": "test_s3/test_s3_object_acl_exceptions",

		"GetObject": "test_s3/test_put_object", "GetObject version": "test_s3_api/test_delete_object_versioned", "GetObject range": "test_s3_api/test_get_object_range",
		"GetObject not modified": "test_s3/test_s3_get_object_preconditions[get_object]", "HeadObject not modified": "test_s3/test_s3_get_object_preconditions[head_object]",
		"GetObject of an archived object": "test_s3/test_put_object_storage_class[GLACIER-False]",
		"GetObject of a deep archive":     "test_s3/test_put_object_storage_class[DEEP_ARCHIVE-False]",
		"GetObjectTagging":                "test_s3_api/test_object_tagging_crud", "PutObjectTagging": "test_s3_api/test_object_tagging_crud", "DeleteObjectTagging": "test_s3_api/test_object_tagging_crud",
		"GetObjectTagging version": "test_s3_api/test_object_tagging_versioned", "PutObjectTagging version": "test_s3_api/test_object_tagging_versioned",
		"GetObjectRetention": "test_s3/test_s3_object_retention", "PutObjectRetention": "test_s3/test_s3_object_retention",
		"PutObjectRetention shorter": "test_s3/test_s3_object_retention", "PutObjectRetention around it": "test_s3/test_s3_object_retention",
		"DeleteObject of a held version": "test_s3/test_delete_locked_object", "DeleteObject of a kept version": "test_s3/test_s3_object_retention",
		"DeleteObject around governance": "test_s3/test_s3_object_retention",

		"PutObject over a known object": "test_s3_api/test_put_object_if_match", "PutObject over another object": "test_s3_api/test_put_object_if_match",
		"PutObject over nothing": "test_s3_api/test_put_object_if_match", "PutObject where nothing is": "test_s3_api/test_put_object_if_none_match",
		"PutObject where something is":                "test_s3_api/test_put_object_if_none_match",
		"CopyObject over a known object":              "test_s3_api/test_copy_object_if_match",
		"CompleteMultipartUpload over a known object": "test_s3_api/test_multipart_if_match_etag", "CompleteMultipartUpload where something is": "test_s3_api/test_multipart_if_none_match_with_put",
		"DeleteObject of another object": "test_s3_api/test_delete_object_if_match_non_express",
	}
}

// noted matches the notes of rows in other tables.
var noted = regexp.MustCompile(`As recorded in (test_\w+/[^\s;,]+)`)

// TestRecordedRows checks that the recording of each row contains such a request, answered with the row's status and code.
// All recordings that are named in comments of other tables must exist.
func TestRecordedRows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(recordings, "*.txt"))
	wantNoError(t, err)
	all := map[string]recording{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		wantNoError(t, err)
		for _, r := range parseRecordings(t, string(raw)) {
			all[r.name] = r
		}
	}
	sources, err := filepath.Glob("*_test.go")
	wantNoError(t, err)
	for _, file := range sources {
		raw, err := os.ReadFile(file)
		wantNoError(t, err)
		for _, note := range noted.FindAllStringSubmatch(string(raw), -1) {
			if _, ok := all[note[1]]; !ok {
				t.Errorf("%s: there is no recording %s", file, note[1])
			}
		}
	}
	table := operations()
	for name, source := range recordedRows() {
		op, ok := table[name]
		if !ok {
			t.Errorf("the table has no row %s", name)
		}
		if !slices.ContainsFunc(all[source].exchanges, func(e *exchange) bool { return e.decides(t, op) }) {
			t.Errorf("%s: %s has no answer to %s %s with %d %s", name, source, op.method, op.path, op.status, op.code)
		}
	}
}

// decides reports whether e is a request of the same kind as op with the answer that op expects.
func (e *exchange) decides(t *testing.T, op operation) bool {
	t.Helper()
	code := "Error.Code: " + op.code
	return e.request.method == op.method && kindOf(t, e.request.path) == kindOf(t, op.path) && e.status == op.status &&
		(op.code == "" || op.method == "HEAD" || slices.Contains(e.want, code))
}

// kindOf is what a URL names: the account, a bucket or an object, and its sub-resource.
func kindOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(raw))
	wantNoError(t, err)
	kind := []string{"account", "bucket", "object"}[min(2, len(strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })))]
	for _, name := range []string{
		"acl", "cors", "encryption", "legal-hold", "lifecycle", "list-type", "location", "metrics", "notification", "object-lock", "ownershipControls", "policy",
		"publicAccessBlock", "retention", "tagging", "uploadId", "uploads", "versionId", "versioning", "versions",
	} {
		if u.Query().Has(name) {
			kind += " " + name
		}
	}
	return kind
}
