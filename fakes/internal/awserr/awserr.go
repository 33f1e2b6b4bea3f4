// SPDX-License-Identifier: Apache-2.0

// Package awserr defines the errors of AWS-like services. An error has an HTTP status, a code, a message, and for
// some codes additional fields. The HTTP layer of each fake encodes the errors.
package awserr

import (
	"errors"
	"fmt"
	"net/http"
)

// Field is an additional element of an error response, for example BucketName or HeadersNotSigned.
type Field struct {
	Name  string
	Value string
}

// Error is an error with the text of the real service.
type Error struct {
	// Status is the HTTP status of the response.
	Status int
	// Code is the machine-readable code, for example NoSuchKey.
	Code string
	// Message is the text in the service's documentation.
	Message string
	// Fields follow the message in the response, in this order.
	Fields []Field
	// Header is added to the response; nil adds nothing.
	Header http.Header
}

// New returns an error with status, code and message.
func New(status int, code, message string) *Error {
	return &Error{Status: status, Code: code, Message: message}
}

// Newf is New with a formatted message.
func Newf(status int, code, format string, args ...any) *Error {
	return New(status, code, fmt.Sprintf(format, args...))
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d): %s", e.Code, e.Status, e.Message) }

// With returns a copy of e with one more field.
func (e *Error) With(name, value string) *Error {
	c := *e
	c.Fields = append(append([]Field(nil), e.Fields...), Field{name, value})
	return &c
}

// WithHeader returns a copy of e that also sets a header of the response.
func (e *Error) WithHeader(name, value string) *Error {
	c := *e
	c.Header = e.Header.Clone()
	if c.Header == nil {
		c.Header = http.Header{}
	}
	c.Header.Set(name, value)
	return &c
}

// Is compares the status and code, so that errors.Is matches copies of the declared errors.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Status == e.Status
}

// From returns err as an *Error. If err does not contain one, From returns the service's InternalError with err's
// text in the message.
func From(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return New(http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again. ("+err.Error()+")")
}
