// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"errors"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// Errors of Amazon S3 ("Error responses" in the Amazon S3 API Reference), with the service's texts.
var (
	errAccessDenied     = awserr.New(http.StatusForbidden, "AccessDenied", "Access Denied")
	errNoAccessKey      = awserr.New(http.StatusForbidden, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
	errLocked           = awserr.New(http.StatusForbidden, "AccessDenied", "Access Denied because object protected by object lock.")
	errNoSuchBucket     = notFound("NoSuchBucket", "The specified bucket does not exist")
	errNoSuchKey        = notFound("NoSuchKey", "The specified key does not exist.")
	errNoSuchVersion    = notFound("NoSuchVersion", "The specified version does not exist.")
	errNoSuchUpload     = notFound("NoSuchUpload", "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.")
	errMethodNotAllowed = awserr.New(http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.")
	errNotImplemented   = awserr.New(http.StatusNotImplemented, "NotImplemented", "A header you provided implies functionality that is not implemented")
	errMalformedXML     = awserr.New(http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
	errInvalidBucket    = awserr.New(http.StatusBadRequest, "InvalidBucketName", "The specified bucket is not valid.")
	errBucketOwned      = awserr.New(http.StatusConflict, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.")
	errPrecondition     = awserr.New(http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	errConflict         = awserr.New(http.StatusConflict, "ConditionalRequestConflict", "The conditional request cannot succeed due to a conflicting operation against this resource.")
	errNotModified      = awserr.New(http.StatusNotModified, "NotModified", "Not Modified")
	errInvalidRange     = awserr.New(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable")
	errBadDigest        = awserr.New(http.StatusBadRequest, "BadDigest", "The Content-MD5 you specified did not match what we received.")
	errInvalidDigest    = awserr.New(http.StatusBadRequest, "InvalidDigest", "The Content-MD5 you specified was invalid.")
	errNoLength         = awserr.New(http.StatusLengthRequired, "MissingContentLength", "You must provide the Content-Length HTTP header.")
	errTooLarge         = awserr.New(http.StatusBadRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size")
	errNoTags           = notFound("NoSuchTagSet", "The TagSet does not exist")
	errNoACL            = awserr.New(http.StatusBadRequest, "AccessControlListNotSupported", "The bucket does not allow ACLs")
	errMissingBody      = awserr.New(http.StatusBadRequest, "MissingRequestBodyError", "Request Body is empty")
	errPayloadUsage     = invalidRequest("The value of x-amz-content-sha256 header is invalid.")
	errChecksumRequired = invalidRequest("Missing required header for this request: Content-MD5 OR x-amz-checksum-*")
	errNoLock           = notFound("ObjectLockConfigurationNotFoundError", "Object Lock configuration does not exist for this bucket")
	errObjectNoLock     = notFound("NoSuchObjectLockConfiguration", "The specified object does not have a ObjectLock configuration")
	errInvalidURI       = awserr.New(http.StatusBadRequest, "InvalidURI", "Couldn't parse the specified URI.")
	errDuplicateHeader  = awserr.New(http.StatusBadRequest, "DuplicateHeaderName", "Your request contains duplicate headers.")
	errInvalidState     = awserr.New(http.StatusForbidden, "InvalidObjectState", "The operation is not valid for the object's storage class")
	errMissingLock      = invalidRequest("Bucket is missing Object Lock Configuration")
)

func invalidRequest(message string) *awserr.Error {
	return awserr.New(http.StatusBadRequest, "InvalidRequest", message)
}

// invalidArgument returns InvalidArgument with the argument's name and value. It omits an empty value.
func invalidArgument(name, value, message string) *awserr.Error {
	return sigv4.InvalidArgument(name, value, message)
}

func invalidTag(message, key, value string) *awserr.Error {
	e := awserr.New(http.StatusBadRequest, "InvalidTag", message)
	if key != "" {
		e = e.With("TagKey", key)
	}
	if value != "" {
		e = e.With("TagValue", value)
	}
	return e
}

// notImplemented names the unimplemented feature, also in the message, because clients print nothing else.
func notImplemented(header, what string) *awserr.Error {
	e := errNotImplemented.With("Header", header).With("AdditionalMessage", what)
	e.Message += " (" + header + "): " + what
	return e
}

// wireError translates an error of the store to one about q's bucket, key, version or upload.
func (q *request) wireError(err error) *awserr.Error {
	switch {
	case errors.Is(err, store.ErrNoBucket) && q.control:
		return errNoResource
	case errors.Is(err, store.ErrNoBucket):
		return errNoSuchBucket.With("BucketName", q.bucket)
	case errors.Is(err, store.ErrNoKey):
		return errNoSuchKey.With("Key", q.key)
	case errors.Is(err, store.ErrNoVersion):
		return errNoSuchVersion.With("Key", q.key).With("VersionId", q.param("versionId"))
	case errors.Is(err, store.ErrNoUpload):
		return errNoSuchUpload.With("UploadId", q.param("uploadId"))
	case errors.Is(err, store.ErrBucketExists):
		return errBucketOwned.With("BucketName", q.bucket)
	case errors.Is(err, store.ErrBucketNotEmpty):
		message := "The bucket you tried to delete is not empty"
		if q.state.Versioning != "" {
			message += ". You must delete all versions in the bucket."
		}
		return awserr.New(http.StatusConflict, "BucketNotEmpty", message).With("BucketName", q.bucket)
	}
	return awserr.From(err)
}
