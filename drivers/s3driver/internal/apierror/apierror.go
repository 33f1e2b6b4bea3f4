// SPDX-License-Identifier: Apache-2.0

// Package apierror translates the errors of S3, IAM and EKS into errors for users. Its table is the only place that
// maps their error codes to meanings.
package apierror

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/cooper-cosi/cooper/drivers/driverkit/backenderror"
)

// Translate returns err as an error for the user about the subject, such as "bucket bc-1". See backenderror.Table.
func Translate(subject string, err error) error { return table.Translate(subject, err) }

// read extracts the failure from an SDK error.
func read(err error) backenderror.Failure {
	failure := backenderror.Failure{}
	if call, ok := errors.AsType[*smithy.OperationError](err); ok {
		failure.Called, failure.Operation = true, call.Operation()
	}
	if code := Code(err); code != "" {
		failure.Codes = []string{code}
	}
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		failure.Status, failure.RequestID = response.HTTPStatusCode(), response.ServiceRequestID()
	}
	return failure
}

// Code returns the store's own code for the error, such as NoSuchBucket, without the suffix "Exception" that some
// services add. It is empty if the store did not respond.
func Code(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return ""
	}
	return strings.TrimSuffix(api.ErrorCode(), "Exception")
}

// Is reports whether the store's code is one of codes.
func Is(err error, codes ...string) bool {
	return err != nil && slices.Contains(codes, Code(err))
}

// Unsupported reports whether the store does not support the call at all.
func Unsupported(err error) bool {
	return Is(err, "NotImplemented", "MethodNotAllowed", "InvalidAction", "UnsupportedOperation", "XNotImplemented") ||
		read(err).Status == http.StatusNotImplemented
}

// NotFound reports whether the HTTP status is 404, regardless of the code.
func NotFound(err error) bool { return read(err).Status == http.StatusNotFound }

// InUse reports whether IAM rejects a deletion because of dependent resources, such as a user's key.
func InUse(err error) bool { return Is(err, "DeleteConflict") }

// Denied reports whether the store recognizes the driver and denies it the call.
func Denied(err error) bool {
	return Is(err, "AccessDenied", "XAdminAccessDenied", "XMinioAdminAccessDenied", "Forbidden", "UnauthorizedOperation")
}

// Header returns a header of the store's response, or "" without a response.
func Header(err error, name string) string {
	var response *awshttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil {
		return ""
	}
	return response.Response.Header.Get(name)
}
