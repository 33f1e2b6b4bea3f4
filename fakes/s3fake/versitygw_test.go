// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// guests is the account of the suite's users. In versitygw each of them is an account of its own, known to bucket
// policies alone.
const guests = "111122223333"

// versityAdmin handles the two calls of versitygw's own admin API that its test suite needs, and leaves everything else
// to the fake. Responses stay as they are, but for x-amz-object-size: versitygw sends it after every PutObject, S3 after
// appends only, and the suite ends with a nil pointer without it.
func versityAdmin(s *s3fake.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			if err := administrate(s, r); err != nil {
				http.Error(w, err.Error(), http.StatusConflict)
				return
			}
			w.WriteHeader(http.StatusCreated)
			return
		}
		if r.Method == http.MethodPut && r.URL.Query().Has("policy") {
			translatePrincipals(s, r)
		}
		if r.Method == http.MethodDelete && r.Header.Get("X-Amz-Bypass-Governance-Retention") != "" {
			withoutBypass(s, r)
		}
		s.ServeHTTP(&sizeWriter{ResponseWriter: w, r: r}, r)
	})
}

// withoutBypass removes the header that bypasses governance retention, with which the suite deletes all objects: S3 rejects it
// in a bucket without Object Lock. The request is signed again with the root credentials, which the suite uses for it.
func withoutBypass(s *s3fake.Server, r *http.Request) {
	bucket, _, _ := strings.Cut(r.URL.Path[1:], "/")
	locked := func(b s3fake.BucketInventory) bool { return b.Name == bucket && b.ObjectLock }
	if strings.Contains(r.Header.Get("Authorization"), s.Root().AccessKeyID) && !slices.ContainsFunc(s.Inventory().Buckets, locked) {
		signAgain(s, r, nil, http.Header{})
	}
}

// administrate makes a user, or gives him a bucket: he and his account have every right to it then.
func administrate(s *s3fake.Server, r *http.Request) error {
	if strings.HasPrefix(r.URL.Path, "/change-bucket-owner") {
		bucket, owner := r.URL.Query().Get("bucket"), r.URL.Query().Get("owner")
		document := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::` + guests + `:user/` + owner +
			`"},"Action":"s3:*","Resource":["arn:aws:s3:::` + bucket + `","arn:aws:s3:::` + bucket + `/*"]}]}`
		r.Method, r.URL = http.MethodPut, &url.URL{Path: "/" + bucket, RawQuery: "policy="}
		signAgain(s, r, []byte(document), http.Header{})
		got := httptest.NewRecorder()
		s.ServeHTTP(got, r)
		if got.Code != http.StatusNoContent {
			return fmt.Errorf("give away %s: %d %s", bucket, got.Code, got.Body)
		}
		return nil
	}
	var account struct {
		Access string `xml:"Access"`
		Secret string `xml:"Secret"`
		Role   string `xml:"Role"`
	}
	if err := xml.NewDecoder(r.Body).Decode(&account); err != nil {
		return fmt.Errorf("read the user to make: %w", err)
	}
	u := s3fake.ImportedUser{Name: account.Access, Credentials: s3fake.Credentials{AccessKeyID: account.Access, SecretAccessKey: account.Secret}, Policy: allow("*", "*")}
	if account.Role != "admin" {
		u.Account = guests
	}
	return s.ImportUser(u)
}

// sizeWriter adds x-amz-object-size to responses to a PUT, and words errors as the suite does, which compares texts.
type sizeWriter struct {
	http.ResponseWriter
	r      *http.Request
	failed bool
}

// suiteTexts replaces AWS's messages by those that the suite expects.
func suiteTexts() *strings.Replacer {
	pairs := []string{
		"The specified upload does not exist.", "The specified multipart upload does not exist.",
		"The Content-MD5 you specified was invalid.", "The Content-Md5 you specified is not valid.",
	}
	for _, text := range []string{
		"Access Denied", "The specified bucket does not exist", "published schema", "you specified did not hold", "functionality that is not implemented",
		"The TagSet does not exist", "The bucket does not allow ACLs", "does not have a ObjectLock configuration", "The bucket policy does not exist",
		"Object Lock configuration does not exist for this bucket", "The bucket you tried to delete is not empty",
		"The bucket ownership controls were not found", "Request has expired", "Part number must be an integer between 1 and 10000, inclusive",
		"x-amz-object-lock-retain-until-date and x-amz-object-lock-mode must both be supplied",
	} {
		pairs = append(pairs, text+"</Message>", text+".</Message>")
	}
	for _, algorithm := range []string{"crc32c", "crc32", "crc64nvme", "sha1", "sha256", "sha512", "md5", "xxhash128", "xxhash3", "xxhash64"} {
		upper, wrong := strings.ToUpper(algorithm), " you specified did not match the calculated"
		pairs = append(pairs, "checksum Type: "+algorithm, "checksum Type: "+upper, "The "+algorithm+wrong, "The "+upper+wrong)
	}
	return strings.NewReplacer(pairs...)
}

// Write implements http.ResponseWriter.
func (w *sizeWriter) Write(p []byte) (int, error) {
	if w.failed {
		_, err := suiteTexts().WriteString(w.ResponseWriter, string(p))
		return len(p), err
	}
	return w.ResponseWriter.Write(p)
}

func (w *sizeWriter) WriteHeader(status int) {
	if w.r.Method == http.MethodPut {
		size := w.r.Header.Get("X-Amz-Decoded-Content-Length")
		if size == "" {
			size = strconv.FormatInt(w.r.ContentLength, 10)
		}
		w.Header().Set("X-Amz-Object-Size", size)
	}
	if w.failed = status >= http.StatusBadRequest && w.r.Method != http.MethodHead; w.failed {
		w.Header().Del("Content-Length")
	}
	w.ResponseWriter.WriteHeader(status)
}

// translatePrincipals rewrites a bucket policy of the suite: versitygw names principals by access key without a type,
// S3 by ARN under "AWS". The request is signed again with the root credentials, which the suite also uses.
func translatePrincipals(s *s3fake.Server, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(raw))
	var policy map[string]any
	if err != nil || json.Unmarshal(raw, &policy) != nil || !strings.Contains(r.Header.Get("Authorization"), s.Root().AccessKeyID) {
		return
	}
	statements, ok := policy["Statement"].([]any)
	changed := false
	for _, one := range statements {
		if statement, isObject := one.(map[string]any); ok && isObject {
			changed = typed(statement, s.Root().AccessKeyID) || changed
		}
	}
	if !changed {
		return
	}
	if raw, err = json.Marshal(policy); err != nil {
		return
	}
	signAgain(s, r, raw, http.Header{})
}

// signAgain replaces body and headers of a request and signs it with the root credentials.
func signAgain(s *s3fake.Server, r *http.Request, raw []byte, header http.Header) {
	sum, digest := sha256.Sum256(raw), md5.Sum(raw)
	hash := hex.EncodeToString(sum[:])
	header.Set("X-Amz-Content-Sha256", hash)
	header.Set("Content-Md5", base64.StdEncoding.EncodeToString(digest[:]))
	r.Header, r.Body, r.ContentLength = header, io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	r.URL.Host, r.URL.Scheme = r.Host, "http"
	root := aws.Credentials{AccessKeyID: s.Root().AccessKeyID, SecretAccessKey: s.Root().SecretAccessKey}
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }) // S3 signs paths escaped once
	_ = signer.SignHTTP(r.Context(), root, r, hash, "s3", s.Region(), time.Now())         // a failure shows as a refused signature
}

// typed puts a statement's bare principals under "AWS"; users of the suite's own admin API become ARNs.
func typed(statement map[string]any, root string) bool {
	var names []string
	principal := statement["Principal"]
	if by, ok := principal.(map[string]any); ok {
		principal = by["AWS"]
	}
	switch p := principal.(type) {
	case string:
		names = []string{p}
	case []any:
		for _, one := range p {
			name, _ := one.(string)
			names = append(names, name)
		}
	}
	known := false
	for i, name := range names {
		if strings.HasPrefix(name, "test-user-") {
			names[i] = "arn:aws:iam::" + guests + ":user/" + name
			known = true
		}
		if name == root {
			names[i] = "arn:aws:iam::000000000000:root"
			known = true
		}
		known = known || (strings.HasPrefix(name, "arn:") && principal != nil)
	}
	if known {
		statement["Principal"] = map[string]any{"AWS": names}
	}
	return known
}

var (
	ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")
	// verdict is a line of the suite's output.
	verdict = regexp.MustCompile(`(?m)^(PASS|FAIL) (\w+)`)
	// promised are the groups of the suite that the fake is to pass; the others are about versitygw's own things.
	promised = regexp.MustCompile(`^(IAM|Authentication_|PresignedAuth_|SignedStreamingPayload_|SignedStreamingPayloadTrailer_|UnsignedStreamingPayloadTrailer_|PutBucketPolicy_|` +
		`(Put|Get|Delete)(Bucket|Object)Tagging_|Versioning_|VersioningDisabled_|(Put|Get)BucketVersioning_|CreateMultipartUpload_|UploadPart_|UploadPartCopy_|` +
		`ListParts_|ListMultipartUploads_|AbortMultipartUpload_|CompleteMultipartUpload_|CopyObject_|ListObjects_|ListObjectsV2_|ListObjectVersions_)`)
)

// TestVersitygw runs versitygw's own integration tests, as a process, against the fake: see docs/reference/s3fake.md.
// VERSITYGW_OUT names a directory that receives their output.
func TestVersitygw(t *testing.T) {
	t.Parallel()
	binary, err := stores.VersityGW().Find()
	if err != nil {
		t.Skip(err)
	}
	suites := []string{"iam"}
	if fulltest.Soak() || os.Getenv("VERSITYGW_OUT") != "" {
		suites = []string{"iam", "full-flow --versioning-enabled"} // which takes minutes
	}
	for _, suite := range suites {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			judge(t, runSuite(t, binary, suite))
		})
	}
}

// runSuite returns the suite's output for a separate fake.
func runSuite(t *testing.T, binary, suite string) string {
	t.Helper()
	// The suite expects the root user's access key as the owner of buckets, where S3 has the account's number: they
	// are the same.
	s := faketest.Open(t, s3fake.New, s3fake.Options{
		OpenBuckets: true, RefuseSignatureV2: true, RootAccessKeyID: "000000000000", RootSecretAccessKey: "a secret of the root user",
	})
	server := httptest.NewServer(versityAdmin(s))
	t.Cleanup(server.Close)
	root := s.Root()
	args := append([]string{"test", "--access", root.AccessKeyID, "--secret", root.SecretAccessKey, "--endpoint", server.URL}, strings.Fields(suite)...)
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = filepath.Dir(binary) // the suite starts ./versitygw
	// The SDK inside refuses a plain HTTP client when this is set.
	cmd.Env = append(os.Environ(), "AWS_CA_BUNDLE=")
	raw, err := cmd.CombinedOutput() // an exit code other than 0 means that a test failed
	if err != nil && len(raw) == 0 {
		t.Fatal(err)
	}
	text := ansi.ReplaceAllString(string(raw), "")
	if out := os.Getenv("VERSITYGW_OUT"); out != "" {
		wantNoError(t, os.WriteFile(filepath.Join(out, strings.ReplaceAll(t.Name(), "/", "_")+".log"), []byte(text), 0o600))
	}
	return text
}

// judge counts the tests of the promised groups. Each failure must have a reason.
func judge(t *testing.T, text string) {
	t.Helper()
	reasons := map[string]string{}
	for reason, names := range explained() {
		for _, name := range names {
			reasons[name] = reason
		}
	}
	passed, total := 0, 0
	for _, line := range verdict.FindAllStringSubmatch(text, -1) {
		if !promised.MatchString(line[2]) || strings.HasPrefix(line[2], "IAM_") {
			continue
		}
		total++
		switch {
		case line[1] == "PASS":
			passed++
		case reasons[line[2]] == "":
			t.Errorf("%s fails and nothing explains why", line[2])
		}
	}
	t.Logf("%d of %d tests pass (%.1f %%)", passed, total, 100*float64(passed)/float64(max(total, 1)))
	if total == 0 {
		t.Error("no test of the promised groups ran")
	}
}

// explained lists the tests that the fake fails because it follows AWS's documentation or recordings of AWS, by topic. The
// same list is in docs/reference/s3fake.md.
func explained() map[string][]string {
	return map[string][]string{
		"IAM and STS name the explicit deny that decided (Troubleshoot access denied error messages)": {
			"IAMAccessControl_ExplicitDenyOverridesAllow", "IAMAccessControl_MultipleInlinePoliciesExplicitDenyWins", "IAMAccessControl_ActionExplicitDenySubsetOfWildcardAllow",
			"IAMAccessControl_NotActionDenyBlocksEverythingExceptExcluded", "IAMAccessControl_ResourceExplicitDenyOverridesBroaderAllow",
			"IAMAccessControl_NotResourceExcludesTarget", "IAMAccessControl_ConditionIpAddressExplicitDenyOverridesBroaderAllow",
			"IAMAccessControl_ConditionAllowAndDenyBothMatchDenyWins", "IAMAccessControl_UserInlinePolicyWorkflow",
		},
		"access key IDs have 20 characters, not 21, and are listed in the order of their creation": {
			"IAMCreateAccessKey_infers_caller_user_name", "IAMCreateAccessKey_success", "IAMListAccessKeys_infers_caller_user_name", "IAMListAccessKeys_success", "IAMListAccessKeys_pagination",
		},
		"the root user may leave UserName out for his own access keys (API Reference, CreateAccessKey)": {
			"IAMCreateAccessKey_missing_user_name", "IAMUpdateAccessKey_missing_user_name", "IAMDeleteAccessKey_missing_user_name", "IAMListAccessKeys_missing_user_name",
		},
		"an empty versionId is refused, which the suite sends to end a lock":     {"CopyObject_with_legal_hold", "CopyObject_with_retention_lock", "CreateMultipartUpload_with_object_lock"},
		"every service can be trusted, ec2.amazonaws.com too":                    {"IAMCreateRole_trust_policy_document_grammar", "IAMUpdateAssumeRolePolicy_trust_policy_document_grammar"},
		"CreateRole does not return the default MaxSessionDuration, as recorded": {"IAMCreateRole_success", "IAMCreateRole_defaults"},
		"tags at creation need the permission to tag (Tags for IAM resources)":   {"IAMAccessControl_ConditionRequestTagOnCreateUser"},
		"the issuers of a fake have ports and may be out of reach": {
			"IAMCreateOpenIDConnectProvider_invalid_url", "IAMCreateOpenIDConnectProvider_thumbprint_autofetch_communication_error", "IAMAssumeRoleWithWebIdentity_idp_communication_error",
		},
		"session policies by ARN are served, and a missing role is refused before a parameter that is not (API Reference, AssumeRoleWithWebIdentity)": {
			"IAMAssumeRoleWithWebIdentity_policy_arns_rejected", "IAMAssumeRoleWithWebIdentity_provider_id_rejected",
		},
		"NextMarker is sent with a delimiter alone, and the elements of the request are repeated even when empty (API Reference, ListObjects)": {
			"ListObjects_truncated", "ListObjects_list_all_objs", "ListObjects_mp_masking_truncation", "ListObjectsV2_list_all_objs",
		},
		"a server has several regions":                                                           {"Authentication_credentials_incorrect_region", "PresignedAuth_creds_incorrect_region"},
		"a continuation token is opaque (API Reference, ListObjectsV2)":                          {"ListObjectsV2_both_start_after_and_continuation_token"},
		"a failed condition on the source of a copy is 412, not 304 (API Reference, CopyObject)": {"CopyObject_conditional_reads", "UploadPartCopy_conditional_reads"},
		"ACLs are refused by a bucket that enforces its owner, and allow no GetBucketVersioning": {"CopyObject_object_acl_not_supported", "CreateMultipartUpload_object_acl_not_supported", "GetBucketVersioning_with_acl_access"},
		"x-amz-storage-class is left out for STANDARD (API Reference, GetObject and HeadObject)": {
			"CopyObject_should_copy_meta_props", "CopyObject_should_replace_meta_props", "CopyObject_cross_bucket_server_side_copy",
		},
		"callers of another account are told Access Denied and nothing else (Troubleshoot access denied errors)": {"PutBucketPolicy_explicit_deny"},
		"an upload-id-marker counts within its key, and a prefix is listed once (API Reference, ListMultipartUploads)": {
			"ListMultipartUploads_keyMarker_not_from_list", "ListMultipartUploads_delimiter_truncated",
		},
		"x-amz-if-match-initiated-time is for directory buckets (API Reference, AbortMultipartUpload)": {"AbortMultipartUpload_if_match_initiated_time"},
		"the suite swaps the two sizes of the message":                                                 {"CompleteMultipartUpload_mpu_object_size"},
		"s3:*Multipart* does apply to a bucket: s3:ListBucketMultipartUploads":                         {"PutBucketPolicy_action_resource_mismatch"},
		"a version ID that S3 never issued is InvalidArgument, as recorded": {
			"Versioning_HeadObject_non_existing_object_version", "Versioning_GetObject_non_existing_object_version",
			"Versioning_PutObjectTagging_non_existing_object_version", "Versioning_GetObjectTagging_non_existing_object_version",
			"Versioning_DeleteObjectTagging_non_existing_object_version", "Versioning_DeleteObject_non_existing_objects",
			"Versioning_PutObjectRetention_non_existing_object_version", "Versioning_GetObjectRetention_non_existing_object_version",
			"Versioning_PutObjectLegalHold_non_existing_object_version", "Versioning_GetObjectLegalHold_non_existing_object_version",
		},
		"an expected owner that is not an account number is InvalidBucketOwnerAWSAccountID, as recorded": {
			"CopyObject_incorrect_source_bucket_expected_owner", "UploadPartCopy_incorrect_source_bucket_expected_owner",
		},
		"DeleteObjects returns DeleteMarker for delete markers only, as recorded":               {"Versioning_DeleteObjects_success"},
		"a copied range that starts after the end of its source is InvalidRequest, as recorded": {"UploadPartCopy_exceeding_copy_source_range"},
		"a completion without parts is InvalidRequest, as recorded":                             {"CompleteMultipartUpload_empty_parts"},
		"ListParts has no checksum type if the upload has none, as recorded":                    {"ListParts_null_checksums"},
		"a version that is a delete marker is 405 (API Reference, GetObjectAttributes)":         {"Versioning_GetObjectAttributes_delete_marker"},
	}
}
