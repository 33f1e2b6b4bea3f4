// SPDX-License-Identifier: Apache-2.0

// Package azerr defines the errors of the Blob service. An error has an HTTP status, an error code and a message. The
// package declares only the errors that several packages return.
package azerr

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/xmltext"
)

// Error is an error response of the service.
type Error struct {
	Status  int
	Code    string
	Message string
	// Detail is the AuthenticationErrorDetail, or "" if there is none.
	Detail string
	// URIPath is a path that does not represent a resource, or "".
	URIPath string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// New returns an error with status, code and message.
func New(status int, code, message string) *Error {
	return &Error{Status: status, Code: code, Message: message}
}

// From returns the *Error in err, or an internal error of the service if there is none.
func From(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return New(http.StatusInternalServerError, "InternalError", "The server encountered an internal error. Please retry the request.")
}

// Errors that several packages return, with the texts in the Blob service's lists of error codes.
var (
	ContainerNotFound      = New(http.StatusNotFound, "ContainerNotFound", "The specified container does not exist.")
	ContainerAlreadyExists = New(http.StatusConflict, "ContainerAlreadyExists", "The specified container already exists.")
	ContainerBeingDeleted  = New(http.StatusConflict, "ContainerBeingDeleted", "The specified container is being deleted. Try operation later.")
	BlobNotFound           = New(http.StatusNotFound, "BlobNotFound", "The specified blob does not exist.")
	ConditionNotMet        = New(http.StatusPreconditionFailed, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")
	PermissionMismatch     = New(http.StatusForbidden, "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission.")
	AuthorizationFailure   = New(http.StatusForbidden, "AuthorizationFailure", "This request is not authorized to perform this operation.")
	InvalidHeaderValue     = New(http.StatusBadRequest, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.")
	InvalidQueryValue      = New(http.StatusBadRequest, "InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid.")
	MissingHeader          = New(http.StatusBadRequest, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified.")
	MissingQuery           = New(http.StatusBadRequest, "MissingRequiredQueryParameter", "A query parameter that's mandatory for this request is not specified.")
	InvalidXML             = New(http.StatusBadRequest, "InvalidXmlDocument", "XML specified is not syntactically valid.")
	InvalidInput           = New(http.StatusBadRequest, "InvalidInput", "One of the request inputs is not valid.")
	InvalidBlobType        = New(http.StatusConflict, "InvalidBlobType", "The blob type is invalid for this operation.")
)

// NotServed returns the error for a feature of the service that the fake does not implement. Azure clients do not
// retry it.
func NotServed(what string) *Error {
	return New(http.StatusBadRequest, "NotImplemented", "This fake does not support "+what+".")
}

// InvalidURI returns the error for a path that cannot be a resource's. The path is optional.
func InvalidURI(path string) *Error {
	e := New(http.StatusBadRequest, "InvalidUri", "The requested URI does not represent any resource on the server.")
	e.URIPath = path
	return e
}

// AuthenticationFailed returns the error for a failed authentication. The arguments format its Detail.
func AuthenticationFailed(format string, args ...any) *Error {
	e := New(http.StatusForbidden, "AuthenticationFailed", "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.")
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

// Write sends the error as the response, without a body if head is true.
func (e *Error) Write(w http.ResponseWriter, requestID string, now time.Time, head bool) {
	w.Header().Set("X-Ms-Error-Code", e.Code)
	if head || e.Status == http.StatusNotModified {
		w.WriteHeader(e.Status)
		return
	}
	body, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
		Detail  string `xml:"AuthenticationErrorDetail,omitempty"`
		URIPath string `xml:"UriPath,omitempty"`
	}{Code: e.Code, Message: fmt.Sprintf("%s\nRequestId:%s\nTime:%s", e.Message, requestID, now.UTC().Format("2006-01-02T15:04:05.0000000Z")), Detail: e.Detail, URIPath: e.URIPath})
	if err != nil { // strings only: cannot be
		body = nil
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(e.Status)
	_, _ = io.WriteString(w, xml.Header+xmltext.Plain(string(body))) // fails only if the client has disconnected
}
