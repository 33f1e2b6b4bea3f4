// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is an error with a gRPC code and a sentence for the user. Make it with the constructor of
// its code.
type Error struct {
	code    codes.Code
	message string
	detail  error
}

// Error returns sentence and detail, for logs.
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

// GRPCStatus returns what the sidecar, and so the user, gets to see: code and sentence, not the
// detail.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.code, e.message) }

// WithDetail returns the error with a cause that only the log shows, since the texts of backends
// may hold what is not for users.
func (e *Error) WithDetail(detail error) *Error {
	return &Error{code: e.code, message: e.message, detail: detail}
}

func errorf(code codes.Code, format string, args []any) *Error {
	return &Error{code: code, message: fmt.Sprintf(format, args...)}
}

// InvalidArgument returns an error about a value that driver or backend do not support. It is
// terminal. Name the field and what is supported. The arguments appear in front of users: no secrets,
// no backend texts.
func InvalidArgument(format string, args ...any) *Error {
	return errorf(codes.InvalidArgument, format, args)
}

// AlreadyExists returns an error about something of this identity that exists and does not fit, or
// belongs to somebody else. It is terminal.
func AlreadyExists(format string, args ...any) *Error {
	return errorf(codes.AlreadyExists, format, args)
}

// OutOfRange returns the error that one account cannot reach several buckets. It is terminal. The kit
// returns it for drivers that declare so; use it where only the request's details tell.
func OutOfRange(format string, args ...any) *Error { return errorf(codes.OutOfRange, format, args) }

// Unimplemented returns an error about what the driver cannot do at all. It is terminal until the
// driver is replaced.
func Unimplemented(format string, args ...any) *Error {
	return errorf(codes.Unimplemented, format, args)
}

// NotFound returns an error about a bucket that the request needs and that does not exist. It is
// retried.
func NotFound(format string, args ...any) *Error { return errorf(codes.NotFound, format, args) }

// FailedPrecondition returns an error about a state of the backend that forbids the call until
// somebody changes it, such as a bucket that is not empty. It is retried.
func FailedPrecondition(format string, args ...any) *Error {
	return errorf(codes.FailedPrecondition, format, args)
}

// PermissionDenied returns an error about an action that the backend denies the driver's own identity.
// It is retried.
func PermissionDenied(format string, args ...any) *Error {
	return errorf(codes.PermissionDenied, format, args)
}

// Unauthenticated returns the error that the backend does not accept the driver's own credentials. It
// is retried.
func Unauthenticated(format string, args ...any) *Error {
	return errorf(codes.Unauthenticated, format, args)
}

// ResourceExhausted returns an error about throttling or a quota. It is retried.
func ResourceExhausted(format string, args ...any) *Error {
	return errorf(codes.ResourceExhausted, format, args)
}

// Unavailable returns an error about a backend that cannot be reached or responds with an error of its
// own. It is retried.
func Unavailable(format string, args ...any) *Error { return errorf(codes.Unavailable, format, args) }

// Aborted returns the error that another change of the same resource is under way. It is retried.
func Aborted(format string, args ...any) *Error { return errorf(codes.Aborted, format, args) }

// DeadlineExceeded returns an error about work that needs another call to go on. It is retried.
func DeadlineExceeded(format string, args ...any) *Error {
	return errorf(codes.DeadlineExceeded, format, args)
}

// Internal returns an error about a failure of the driver itself. It is retried.
func Internal(format string, args ...any) *Error { return errorf(codes.Internal, format, args) }

// classify returns err as an *Error: as it is if a constructor made it, by the context if that
// ended, and else as INTERNAL with err as the detail.
func classify(ctx context.Context, err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		// What wraps it is for the log.
		if err != error(known) { //nolint:errorlint // asks whether anything wraps it
			return known.WithDetail(err)
		}
		return known
	}
	ended := ctx.Err()
	switch {
	case errors.Is(ended, context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded):
		return DeadlineExceeded("the call did not finish within its deadline; the next one continues").WithDetail(err)
	case errors.Is(ended, context.Canceled) || errors.Is(err, context.Canceled):
		return errorf(codes.Canceled, "the call was cancelled before its end", nil).WithDetail(err)
	default:
		return Internal("the driver failed; its log has the details").WithDetail(err)
	}
}
