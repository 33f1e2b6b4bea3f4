// SPDX-License-Identifier: Apache-2.0

// Package call wraps the calls to Google's APIs. It names each call for errors, metrics and traces, and retries
// transient failures.
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

// ErrCredentials means that the driver's own credentials are unusable.
var ErrCredentials = errors.New("the driver's credentials cannot be used")

// Error is a failed call. It wraps the client's error.
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

// named is the call that a context is for.
type named struct {
	api, operation string
	once           bool
}

// Do makes one call: it calls run with a context that names the call. Do returns errors of type *Error, except for
// errors of the context.
func Do[T any](ctx context.Context, api, operation string, run func(context.Context) (T, error)) (T, error) {
	return do(ctx, named{api: api, operation: operation}, run)
}

// DoOnce makes a call that must not be retried after a lost response, because each call creates something new.
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

// Name returns the call that a request's context is for, or empty strings if there is none.
func Name(ctx context.Context) (api, operation string) {
	name, _ := ctx.Value(contextKey{}).(named)
	return name.api, name.operation
}

func once(ctx context.Context) bool {
	name, _ := ctx.Value(contextKey{}).(named)
	return name.once
}
