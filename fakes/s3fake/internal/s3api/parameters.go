// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

// refusedHeaders ask for what is not served, by what that is. To ignore one would be to do something else.
var refusedHeaders = map[string]string{ //nolint:gosec // names of headers, no credentials
	"x-amz-mfa":                                   "Deletion with a second factor is not served by this fake.",
	"x-amz-bucket-object-lock-token":              "Tokens for Object Lock are not served by this fake.",
	"x-amz-object-annotation-directive":           "Annotations are not served by this fake.",
	"x-amz-object-lock-event-hold":                "Event holds are not served by this fake.",
	"x-amz-object-lock-event-hold-duration-days":  "Event holds are not served by this fake.",
	"x-amz-object-lock-event-hold-duration-years": "Event holds are not served by this fake.",
	"x-amz-server-side-encryption-context":        "Encryption contexts are not served by this fake.",

	"x-amz-server-side-encryption-customer-algorithm": noCustomerKeys,
	"x-amz-server-side-encryption-customer-key":       noCustomerKeys,
	"x-amz-server-side-encryption-customer-key-md5":   noCustomerKeys,

	"x-amz-copy-source-server-side-encryption-customer-algorithm": noCustomerKeys,
	"x-amz-copy-source-server-side-encryption-customer-key":       noCustomerKeys,
	"x-amz-copy-source-server-side-encryption-customer-key-md5":   noCustomerKeys,

	"x-amz-write-offset-bytes":          noDirectory,
	"x-amz-if-match-last-modified-time": noDirectory,
	"x-amz-if-match-size":               noDirectory,
	"x-amz-if-match-initiated-time":     noDirectory,
}

const (
	noCustomerKeys = "SSE-C is not served by this fake."
	// noDirectory is for the headers that are "supported only for directory buckets" (PutObject, DeleteObject and
	// AbortMultipartUpload in the API Reference).
	noDirectory = "This header is for directory buckets, which are not served by this fake."
)

// servedHeaders are the other headers of S3 that begin with x-amz-. Those that end in "-" are beginnings. One of them on an
// operation that has no use for it is ignored, as S3 does.
var servedHeaders = strings.Fields(`
	x-amz-acl x-amz-bucket-namespace x-amz-bucket-object-lock-enabled x-amz-bypass-governance-retention x-amz-checksum-
	x-amz-confirm-remove-self-bucket-access x-amz-content-sha256 x-amz-copy-source x-amz-copy-source-if-match
	x-amz-copy-source-if-modified-since x-amz-copy-source-if-none-match x-amz-copy-source-if-unmodified-since
	x-amz-copy-source-range x-amz-date x-amz-decoded-content-length x-amz-expected-bucket-owner x-amz-grant-full-control
	x-amz-grant-read x-amz-grant-read-acp x-amz-grant-write x-amz-grant-write-acp x-amz-max-parts x-amz-meta-
	x-amz-metadata-directive x-amz-mp-object-size x-amz-object-attributes x-amz-object-lock-legal-hold x-amz-object-lock-mode
	x-amz-object-lock-retain-until-date x-amz-object-ownership x-amz-optional-object-attributes x-amz-part-number-marker
	x-amz-request-payer x-amz-sdk-checksum-algorithm x-amz-security-token x-amz-server-side-encryption
	x-amz-server-side-encryption-aws-kms-key-id x-amz-server-side-encryption-bucket-key-enabled
	x-amz-source-expected-bucket-owner x-amz-storage-class x-amz-tagging x-amz-tagging-directive x-amz-trailer
	x-amz-transition-default-minimum-object-size x-amz-user-agent x-amz-website-redirect-location
	x-amz-algorithm x-amz-credential x-amz-signature x-amz-expires x-amz-signedheaders`)

// conditionalHeaders are served by these operations only. On others S3 would ignore them or refuse them, which is not
// documented; a condition that is not judged would be worse than a refusal.
var conditionalHeaders = map[string][]string{
	"If-Match":            {"GetObject", "HeadObject", "PutObject", "CopyObject", "CreateMultipartUpload", "CompleteMultipartUpload", "DeleteObject"},
	"If-None-Match":       {"GetObject", "HeadObject", "PutObject", "CopyObject", "CreateMultipartUpload", "CompleteMultipartUpload"},
	"If-Modified-Since":   {"GetObject", "HeadObject"},
	"If-Unmodified-Since": {"GetObject", "HeadObject"},
	"If-Range":            {"GetObject", "HeadObject"},
}

// checkHeaders refuses what is not served: a header for it, a header that nobody knows, which is of a feature newer than
// this fake, and a condition of another operation.
func (q *request) checkHeaders() error {
	for header, operations := range conditionalHeaders {
		if q.r.Header.Get(header) != "" && !slices.Contains(operations, q.op.name) {
			return notImplemented(header, q.op.name+" has no such condition.")
		}
	}
	for name := range q.r.Header {
		if err := q.checkHeader(strings.ToLower(name)); err != nil {
			return err
		}
	}
	return nil
}

func (q *request) checkHeader(name string) error {
	refusal, refused := refusedHeaders[name]
	switch {
	case !strings.HasPrefix(name, "x-amz-"):
		return nil
	case refused:
		return notImplemented(name, refusal)
	case name == "x-amz-bucket-namespace" && q.header("X-Amz-Bucket-Namespace") != "global":
		return notImplemented(name, "Only the global namespace of buckets is served by this fake.")
	case slices.ContainsFunc(servedHeaders, func(s string) bool { return s == name || strings.HasSuffix(s, "-") && strings.HasPrefix(name, s) }):
		return nil
	}
	return notImplemented(name, "This header is not known to this fake.")
}

// authentication are the parameters of a presigned URL that are no headers.
var authentication = []string{"x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-signedheaders", "x-amz-signature", "x-amz-security-token"}

// unhoist makes headers of the other parameters of a presigned URL that begin with x-amz-: the SDKs put them there.
func (q *request) unhoist() {
	if q.signed == nil || q.signed.Mode != sigv4.Query {
		return
	}
	r := *q.r
	r.Header = q.r.Header.Clone()
	for name, values := range q.query {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-amz-") && !slices.Contains(authentication, lower) {
			r.Header.Set(name, cmp.Or(r.Header.Get(name), values[0]))
		}
	}
	q.r = &r
}
