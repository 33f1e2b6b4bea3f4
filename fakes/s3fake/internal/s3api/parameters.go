// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/once"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

// refusedHeaders maps headers of unimplemented features to the features. If the fake ignored such a header, the
// operation would not do what the client requested.
var refusedHeaders = map[string]string{ //nolint:gosec // names of headers, no credentials
	"x-amz-mfa":                                   "Deletion with a second factor is not supported by this fake.",
	"x-amz-bucket-object-lock-token":              "Tokens for Object Lock are not supported by this fake.",
	"x-amz-object-annotation-directive":           "Annotations are not supported by this fake.",
	"x-amz-object-lock-event-hold":                "Event holds are not supported by this fake.",
	"x-amz-object-lock-event-hold-duration-days":  "Event holds are not supported by this fake.",
	"x-amz-object-lock-event-hold-duration-years": "Event holds are not supported by this fake.",
	"x-amz-server-side-encryption-context":        "Encryption contexts are not supported by this fake.",

	"x-amz-write-offset-bytes":          noDirectory,
	"x-amz-if-match-last-modified-time": noDirectory,
	"x-amz-if-match-size":               noDirectory,
	"x-amz-if-match-initiated-time":     noDirectory,
}

// noDirectory is for the headers that are "supported only for directory buckets" (PutObject, DeleteObject and
// AbortMultipartUpload in the API Reference).
const noDirectory = "This header is for directory buckets, which are not supported by this fake."

// signing are the headers of signatures and framed bodies, which every operation accepts, and those with which
// clients describe themselves.
var signing = accept.Names("x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "x-amz-decoded-content-length", "x-amz-trailer", "x-amz-user-agent",
	"x-amz-algorithm", "x-amz-credential", "x-amz-signature", "x-amz-expires", "x-amz-signedheaders")

// conditionalHeaders are the operations that support conditional headers. For other operations, the AWS documentation
// does not say whether S3 ignores or rejects these headers. The fake rejects them, because ignoring a condition would
// be worse.
var conditionalHeaders = map[string][]string{
	"If-Match":            {"GetObject", "HeadObject", "PutObject", "CopyObject", "CreateMultipartUpload", "CompleteMultipartUpload", "DeleteObject"},
	"If-None-Match":       {"GetObject", "HeadObject", "PutObject", "CopyObject", "CreateMultipartUpload", "CompleteMultipartUpload"},
	"If-Modified-Since":   {"GetObject", "HeadObject"},
	"If-Unmodified-Since": {"GetObject", "HeadObject"},
	"If-Range":            {"GetObject", "HeadObject"},
}

// checkHeaders rejects headers for unimplemented features, unknown headers, which belong to newer features, and
// conditions of other operations.
func (q *request) checkHeaders() error {
	if _, listed := inputs[q.op.name]; !listed { // refused as a whole
		return nil
	}
	for header, operations := range conditionalHeaders {
		if q.r.Header.Get(header) != "" && !slices.Contains(operations, q.op.name) {
			return notImplemented(header, q.op.name+" does not support this conditional header.")
		}
	}
	for name := range q.r.Header {
		lower := strings.ToLower(name)
		if q.op.form && strings.HasPrefix(lower, "x-amz-") && !signing.Has(lower) {
			return notImplemented(lower, "Send this header as a field of the form.")
		}
		if err := q.checkHeader(lower); err != nil {
			return err
		}
	}
	for name := range q.query {
		if err := q.checkParameter(name); err != nil {
			return err
		}
	}
	return nil
}

// checkParameter rejects a parameter that the operation does not support. For reads of objects it accepts unknown
// ones, which clients use to bypass caches.
func (q *request) checkParameter(name string) error {
	lower := strings.ToLower(name)
	amz := strings.HasPrefix(lower, "x-amz-")
	reads := q.op.name == "GetObject" || q.op.name == "HeadObject"
	presigned := q.signed != nil && q.signed.Mode == sigv4.Query
	switch {
	case name == "" || name == "x-id" || name == minioParameter || name == q.op.selector || inputs[q.op.name].Query.Has(name):
		return nil
	case presigned && (amz || conditionalHeaders[http.CanonicalHeaderKey(name)] != nil): // those that are not part of the signature have become headers
		return nil
	case q.signed != nil && q.signed.Version2 && slices.Contains(version2Parameters, lower):
		return nil
	case reads && !amz && !strings.HasPrefix(lower, "response-") && !slices.Contains(parameters, name):
		return nil
	}
	return notImplemented(name, q.op.name+" does not support this parameter.")
}

// version2Parameters are those of a URL that is presigned with Signature Version 2, in lower case.
var version2Parameters = []string{"awsaccesskeyid", "signature", "expires", "content-md5", "content-type"}

// aboutChecksums are the headers with the same prefix as checksums that are not checksums.
var aboutChecksums = []string{"x-amz-checksum-algorithm", "x-amz-checksum-mode", "x-amz-checksum-type"}

func (q *request) checkHeader(name string) error {
	refusal, refused := refusedHeaders[name]
	headers := inputs[q.op.name].Headers
	switch {
	case !strings.HasPrefix(name, "x-amz-"):
		return nil
	case refusal == noDirectory: // in S3's own words, as recorded
		if q.header("X-Amz-If-Match-Last-Modified-Time") != "" {
			name = "x-amz-if-match-last-modified-time"
		}
		return errNotImplemented.With("Header", name)
	case refused:
		return notImplemented(name, refusal)
	case name == "x-amz-bucket-namespace" && q.header("X-Amz-Bucket-Namespace") != "global":
		return notImplemented(name, "This fake supports only the global namespace of buckets.")
	case signing.Has(name), headers.Has(name):
		return nil
	case headers.Has("x-amz-checksum-crc32") && strings.HasPrefix(name, "x-amz-checksum-") && !slices.Contains(aboutChecksums, name):
		return nil // an algorithm that S3 does not have; S3's own error is returned later
	}
	return notImplemented(name, q.op.name+" does not support this header.")
}

// authentication are the parameters of a presigned URL that are no headers.
var authentication = []string{"x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-signedheaders", "x-amz-signature", "x-amz-security-token"}

// unhoist converts the parameters of a presigned URL that begin with x-amz- to headers. The SDKs move headers to
// these parameters. Recordings show that S3 ignores checksums there: the SDK for JavaScript sends that of an empty body.
func (q *request) unhoist() error {
	if q.signed == nil || q.signed.Mode != sigv4.Query {
		return nil
	}
	r := *q.r
	r.Header = q.r.Header.Clone()
	for _, name := range slices.Sorted(maps.Keys(q.query)) {
		lower, value := strings.ToLower(name), q.param(name)
		switch {
		case lower == "x-amz-checksum-mode", lower == "x-amz-sdk-checksum-algorithm":
		case strings.HasPrefix(lower, "x-amz-checksum-") && !slices.Contains(aboutChecksums, lower):
		case strings.HasPrefix(lower, metadataPrefix):
			r.Header.Add(name, escaped(value))
		case strings.HasPrefix(lower, "x-amz-") && !slices.Contains(authentication, lower):
			r.Header.Add(name, value)
		case conditionalHeaders[http.CanonicalHeaderKey(name)] != nil && r.Header.Get(name) == "":
			r.Header.Set(name, value)
		}
	}
	q.r = &r
	return q.singleHeaders()
}

// single rejects a request with duplicate parameters or headers.
func (q *request) single() error {
	given := q.query
	if q.control {
		given = maps.Clone(given)
		delete(given, "tagKeys") // a list
	}
	if name := once.Parameter(given); name != "" {
		return invalidArgument(name, "", "The parameter occurs more than once.")
	}
	return q.singleHeaders()
}

// singleHeaders joins headers that may be sent in pieces, as S3 does for metadata ("Working with object metadata" in
// the Amazon S3 User Guide), and rejects other duplicates.
func (q *request) singleHeaders() error {
	joined, twice := once.Headers(q.r.Header, []string{"X-Amz-"}, accept.Names("X-Amz-Object-Attributes", "X-Amz-Optional-Object-Attributes").Prefix("X-Amz-Meta-"))
	if twice != "" {
		return errDuplicateHeader.With("Header", twice)
	}
	r := *q.r
	r.Header = joined
	q.r = &r
	return nil
}
