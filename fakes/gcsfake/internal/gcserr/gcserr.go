// SPDX-License-Identifier: Apache-2.0

// Package gcserr defines the errors of Google's services. One Error contains the fields for all forms of an error
// response: the JSON API, the XML API, the newer APIs (google.rpc.Status) and the token endpoints. Each API writes
// the fields of its own form.
package gcserr

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// Error is an error with the text of the real service.
type Error struct {
	// Status is the HTTP status of the response.
	Status int
	// Reason is the reason of the JSON API, for example notFound, and the error of a token endpoint.
	Reason string
	// Code is the code of the XML API, for example NoSuchKey.
	Code string
	// RPC is the status of the newer APIs, for example NOT_FOUND. If it is empty, it is derived from Status.
	RPC string
	// Message is the human-readable message.
	Message string
	// Title is the general message of an error whose Message is about one request. The XML API returns the latter as
	// details.
	Title string
	// Details is the element after the message in XML responses.
	Details string
	// StringToSign is the text that the signature of an XML request must cover, or "".
	StringToSign string
}

// New returns an error.
func New(status int, reason, code, message string) *Error {
	return &Error{Status: status, Reason: reason, Code: code, Message: message}
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d): %s", e.Name(), e.Status, e.Message) }

// Name returns the reason of the JSON API, or the code of the XML API if there is no reason.
func (e *Error) Name() string {
	if e.Reason != "" {
		return e.Reason
	}
	return e.Code
}

// Is compares the status, reason and code, so that errors.Is matches copies of the declared errors.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Status == e.Status && t.Reason == e.Reason && t.Code == e.Code
}

// Say returns a copy with another message.
func (e *Error) Say(format string, args ...any) *Error {
	c := *e
	c.Title = cmp.Or(e.Title, e.Message)
	c.Message = fmt.Sprintf(format, args...)
	return &c
}

// RPCStatus returns the status of the newer APIs (google.rpc.Status), such as NOT_FOUND.
func (e *Error) RPCStatus() string {
	if e.RPC != "" {
		return e.RPC
	}
	names := map[int]string{
		http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED",
		http.StatusNotFound: "NOT_FOUND", http.StatusConflict: "ALREADY_EXISTS", http.StatusPreconditionFailed: "FAILED_PRECONDITION",
		http.StatusTooManyRequests: "RESOURCE_EXHAUSTED", http.StatusServiceUnavailable: "UNAVAILABLE",
		http.StatusGatewayTimeout: "DEADLINE_EXCEEDED", http.StatusRequestedRangeNotSatisfiable: "OUT_OF_RANGE",
	}
	if name := names[e.Status]; name != "" {
		return name
	}
	return "INTERNAL"
}

// From returns err as an *Error. It converts errors of package sigv4; all other errors become an internal error of
// the service.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*awserr.Error](err); ok {
		return New(e.Status, "", e.Code, e.Message)
	}
	return New(http.StatusInternalServerError, "backendError", "InternalError", "We encountered an internal error. Please try again. ("+err.Error()+")")
}

// Errors of Cloud Storage ("HTTP status and error codes" for JSON and for XML).
var (
	Invalid        = New(http.StatusBadRequest, "invalid", "InvalidArgument", "Invalid argument.")
	Required       = New(http.StatusBadRequest, "required", "InvalidArgument", "Required")
	Parse          = New(http.StatusBadRequest, "parseError", "MalformedXML", "Parse Error")
	BadDigest      = New(http.StatusBadRequest, "invalid", "BadDigest", "The provided hash does not match the content.")
	PolicyDocument = New(http.StatusBadRequest, "invalid", "InvalidPolicyDocument", "The content of the form does not meet the conditions specified in the policy document.")
	KeyAlgorithm   = New(http.StatusBadRequest, "customerEncryptionAlgorithmIsInvalid", "CustomerEncryptionAlgorithmIsInvalid", "Missing an encryption algorithm, or the provided algorithm is not \"AES256.\"")
	KeyFormat      = New(http.StatusBadRequest, "customerEncryptionKeyFormatIsInvalid", "CustomerEncryptionKeyFormatIsInvalid", "Missing an encryption key, or it is not base64 encoded, or it does not meet the required length of the encryption algorithm.")
	KeyHash        = New(http.StatusBadRequest, "customerEncryptionKeySha256IsInvalid", "CustomerEncryptionKeySha256IsInvalid", "Missing a SHA256 hash of the encryption key, or it is not base64 encoded, or it does not match the encryption key.")
	KeyIncorrect   = New(http.StatusBadRequest, "customerEncryptionKeyIsIncorrect", "CustomerEncryptionKeyIsIncorrect", "The provided encryption key is incorrect.")
	KeyMissing     = New(http.StatusBadRequest, "resourceIsEncryptedWithCustomerEncryptionKey", "ResourceIsEncryptedWithCustomerEncryptionKey", "The resource is encrypted with a customer encryption key.").Say("The target object is encrypted by a customer-supplied encryption key.")
	KeyNotNeeded   = New(http.StatusBadRequest, "resourceNotEncryptedWithCustomerEncryptionKey", "ResourceNotEncryptedWithCustomerEncryptionKey", "The target object is not encrypted by a customer-supplied encryption key.")
	NoUserProject  = &Error{Status: http.StatusBadRequest, Reason: "required", Code: "UserProjectMissing", Message: "Bucket is a requester pays bucket but no user project provided.", Details: "Bucket is Requester Pays bucket but no billing project id provided for non-owner."}
	BucketName     = New(http.StatusBadRequest, "invalid", "InvalidBucketName", "The specified bucket is not valid.")
	Unauthorized   = New(http.StatusUnauthorized, "authError", "AuthenticationRequired", "Invalid Credentials")
	Forbidden      = New(http.StatusForbidden, "forbidden", "AccessDenied", "Access denied.")
	DeniedProject  = New(http.StatusForbidden, "forbidden", "UserProjectAccessDenied", "Requester does not have serviceusage.services.use permissions on user project.")
	Scope          = New(http.StatusForbidden, "insufficientPermissions", "InsufficientScope", "Provided scope(s) are not authorized")
	Retention      = New(http.StatusForbidden, "retentionPolicyNotMet", "RetentionPolicyNotMet", "The object is subject to the bucket's retention policy or object retention and cannot be deleted or overwritten.")
	Hold           = New(http.StatusForbidden, "objectUnderActiveHold", "ObjectUnderActiveHold", "The object is under active hold and cannot be deleted or overwritten.")
	NoBucket       = New(http.StatusNotFound, "notFound", "NoSuchBucket", "The specified bucket does not exist.")
	NoObject       = New(http.StatusNotFound, "notFound", "NoSuchKey", "The specified key does not exist.")
	NoUpload       = New(http.StatusNotFound, "notFound", "NoSuchUpload", "The requested upload was not found.")
	NotFound       = New(http.StatusNotFound, "notFound", "NotFound", "Not Found")
	Method         = New(http.StatusMethodNotAllowed, "methodNotAllowed", "MethodNotAllowed", "The specified method is not allowed against this resource.")
	BucketExists   = New(http.StatusConflict, "conflict", "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.")
	BucketTaken    = New(http.StatusConflict, "conflict", "BucketAlreadyExists", "The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.")
	BucketNotEmpty = New(http.StatusConflict, "conflict", "BucketNotEmpty", "The bucket you tried to delete is not empty.")
	Conflict       = New(http.StatusConflict, "conflict", "Conflict", "Conflict")
	LengthRequired = New(http.StatusLengthRequired, "required", "MissingContentLength", "You must provide the Content-Length HTTP header.")
	Precondition   = New(http.StatusPreconditionFailed, "conditionNotMet", "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
	NotSoftDeleted = New(http.StatusPreconditionFailed, "objectNotSoftDeleted", "PreconditionFailed", "The object is not soft-deleted: it is live or noncurrent.")
	NoSoftDelete   = New(http.StatusPreconditionFailed, "softDeletePolicyNotSet", "PreconditionFailed", "The bucket does not have a soft delete policy.")
	NotModified    = New(http.StatusNotModified, "notModified", "NotModified", "Not Modified")
	TooLarge       = New(http.StatusRequestEntityTooLarge, "uploadTooLarge", "EntityTooLarge", "The upload is larger than the maximum.")
	Range          = New(http.StatusRequestedRangeNotSatisfiable, "requestedRangeNotSatisfiable", "InvalidRange", "The requested range cannot be satisfied.")
	RateLimit      = New(http.StatusTooManyRequests, "rateLimitExceeded", "SlowDown", "Rate limit exceeded.")
	// Unimplemented has the status 400, not 501. Google's clients retry all 5xx errors, including 501, until their
	// context ends, but do not retry 400.
	Unimplemented       = &Error{Status: http.StatusBadRequest, Reason: "notImplemented", Code: "NotImplemented", RPC: "UNIMPLEMENTED", Message: "This fake does not support that."}
	FailedPrecondition  = &Error{Status: http.StatusBadRequest, Reason: "failedPrecondition", Code: "InvalidArgument", RPC: "FAILED_PRECONDITION", Message: "Precondition check failed."}
	InvalidGrant        = New(http.StatusBadRequest, "invalid_grant", "", "Invalid grant.")
	InvalidTokenRequest = New(http.StatusBadRequest, "invalid_request", "", "Invalid request.")
)
