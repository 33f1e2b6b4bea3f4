// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is an error with a gRPC code and a sentence for the user. Create it with the constructor for its code.
type Error struct {
	code    codes.Code
	message string
	detail  error
}

// Error returns the sentence and the detail, for logs.
func (e *Error) Error() string {
	if e.detail == nil {
		return e.message
	}
	return e.message + ": " + e.detail.Error()
}

// Unwrap returns the detail.
func (e *Error) Unwrap() error { return e.detail }

// Code returns the gRPC code.
func (e *Error) Code() codes.Code { return e.code }

// GRPCStatus returns the status that the sidecar and the user see: code and sentence, without the detail.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.code, e.message) }

// WithDetail returns the error with a cause that appears only in the log, because texts of backends may contain
// information that is not intended for users.
func (e *Error) WithDetail(detail error) *Error {
	return &Error{code: e.code, message: e.message, detail: detail}
}

func errorf(code codes.Code, format string, args []any) *Error {
	return &Error{code: code, message: fmt.Sprintf(format, args...)}
}

// InvalidArgument returns an error about a value that the driver or backend does not support. It is terminal. Name
// the field and list the supported values. Users see the arguments, so do not pass secrets or backend texts.
func InvalidArgument(format string, args ...any) *Error {
	return errorf(codes.InvalidArgument, format, args)
}

// AlreadyExists returns an error for a bucket or account that already exists under this ID and does not match the
// request or has another owner. It is terminal.
func AlreadyExists(format string, args ...any) *Error {
	return errorf(codes.AlreadyExists, format, args)
}

// OutOfRange returns an error for a request for several buckets that one account cannot access together. It is
// terminal. The kit returns it based on Info.MultiBucket. Use it only if the answer depends on details of the
// request.
func OutOfRange(format string, args ...any) *Error { return errorf(codes.OutOfRange, format, args) }

// Unimplemented returns an error for an operation that the driver does not support at all. It is terminal until the
// driver is replaced.
func Unimplemented(format string, args ...any) *Error {
	return errorf(codes.Unimplemented, format, args)
}

// NotFound returns an error for a bucket that the request needs and that does not exist. It is retried.
func NotFound(format string, args ...any) *Error { return errorf(codes.NotFound, format, args) }

// FailedPrecondition returns an error for a backend state that prevents the call until it is changed, such as a
// bucket that is not empty. It is retried.
func FailedPrecondition(format string, args ...any) *Error {
	return errorf(codes.FailedPrecondition, format, args)
}

// PermissionDenied returns an error for an action that the backend denies to the driver's own identity. It is
// retried.
func PermissionDenied(format string, args ...any) *Error {
	return errorf(codes.PermissionDenied, format, args)
}

// Unauthenticated returns an error for driver credentials that the backend does not accept. It is retried.
func Unauthenticated(format string, args ...any) *Error {
	return errorf(codes.Unauthenticated, format, args)
}

// ResourceExhausted returns an error for throttling or an exceeded quota. It is retried.
func ResourceExhausted(format string, args ...any) *Error {
	return errorf(codes.ResourceExhausted, format, args)
}

// Unavailable returns an error for a backend that cannot be reached or that reports an internal error. It is retried.
func Unavailable(format string, args ...any) *Error { return errorf(codes.Unavailable, format, args) }

// Aborted returns an error for a concurrent change of the same resource. It is retried.
func Aborted(format string, args ...any) *Error { return errorf(codes.Aborted, format, args) }

// DeadlineExceeded returns an error for work that one call could not complete and that the next call continues. It is
// retried.
func DeadlineExceeded(format string, args ...any) *Error {
	return errorf(codes.DeadlineExceeded, format, args)
}

// Internal returns an error for a failure of the driver itself. It is retried.
func Internal(format string, args ...any) *Error { return errorf(codes.Internal, format, args) }

// FromStatus returns the error for a failed call to another program that reports to the same users, such as a driver
// that this driver calls. The code and the message reach the user unchanged, so the message must not contain secrets.
func FromStatus(s *status.Status) *Error { return &Error{code: s.Code(), message: s.Message()} }

// classify converts err to an *Error: unchanged if a constructor made it, by the context's error if the context
// ended, and otherwise INTERNAL with err as the detail.
func classify(ctx context.Context, err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		// Text added by wrapping is only logged.
		if err != error(known) { //nolint:errorlint // asks whether anything wraps it
			return known.WithDetail(err)
		}
		return known
	}
	ended := ctx.Err()
	switch {
	case errors.Is(ended, context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded):
		return DeadlineExceeded("the call did not finish within its deadline; a repeated call continues the work").WithDetail(err)
	case errors.Is(ended, context.Canceled) || errors.Is(err, context.Canceled):
		return errorf(codes.Canceled, "the call was cancelled", nil).WithDetail(err)
	default:
		return Internal("the driver failed; see its log for details").WithDetail(err)
	}
}
