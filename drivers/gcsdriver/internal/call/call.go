// SPDX-License-Identifier: Apache-2.0

// Package call makes the calls to Google's APIs: it names each one, for errors, metrics and traces,
// and repeats those that failed for a moment. It must not know what the calls are for.
package call

import (
	"context"
	"errors"
)

// The APIs that the driver uses.
const (
	Storage = "storage"
	IAM     = "iam"
)

// ErrCredentials says that the driver has no usable credentials of its own.
var ErrCredentials = errors.New("the driver's credentials cannot be used")

// Error is the failure of a call. The error of the client is inside.
type Error struct {
	// API and Operation name the call, such as storage and buckets.get.
	API, Operation string
	// Err is the client's error.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return e.API + "." + e.Operation + ": " + e.Err.Error() }

// Unwrap returns the client's error.
func (e *Error) Unwrap() error { return e.Err }

type contextKey struct{}

// named is what a context says of the call that it is for.
type named struct {
	api, operation string
	once           bool
}

// Do makes one call, which run does with the context that it gets. Its errors are *Error, except for
// those of the context.
func Do[T any](ctx context.Context, api, operation string, run func(context.Context) (T, error)) (T, error) {
	return do(ctx, named{api: api, operation: operation}, run)
}

// DoOnce makes a call that must not be repeated after a lost response, since each makes something new.
func DoOnce[T any](ctx context.Context, api, operation string, run func(context.Context) (T, error)) (T, error) {
	return do(ctx, named{api: api, operation: operation, once: true}, run)
}

func do[T any](ctx context.Context, name named, run func(context.Context) (T, error)) (T, error) {
	answer, err := run(context.WithValue(ctx, contextKey{}, name))
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		var none T
		return none, ctx.Err()
	default:
		var none T
		return none, &Error{API: name.api, Operation: name.operation, Err: err}
	}
}

// Name returns the call that a request's context is for; empty outside of one.
func Name(ctx context.Context) (api, operation string) {
	name, _ := ctx.Value(contextKey{}).(named)
	return name.api, name.operation
}

func once(ctx context.Context) bool {
	name, _ := ctx.Value(contextKey{}).(named)
	return name.once
}
