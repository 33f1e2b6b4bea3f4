// SPDX-License-Identifier: Apache-2.0

// Package apierror translates the errors of the Blob service and Azure Resource Manager into errors for users. Its
// table is the only place that maps their error codes to meanings.
package apierror

import (
	"errors"
	"net"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/cooper-cosi/cooper/drivers/driverkit/backenderror"
)

// Translate returns err as an error for the user about the subject, such as "bucket bc-1". See backenderror.Table.
func Translate(subject string, err error) error { return table.Translate(subject, err) }

// read extracts the failure from an SDK error.
func read(err error) backenderror.Failure {
	if refused, ok := errors.AsType[*azidentity.AuthenticationFailedError](err); ok && refused.RawResponse != nil {
		return backenderror.Failure{Called: true, Meaning: backenderror.Login, Label: "Microsoft Entra"}
	}
	answered, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		_, called := errors.AsType[net.Error](err)
		return backenderror.Failure{Called: called}
	}
	failure := backenderror.Failure{Called: true, Status: answered.StatusCode}
	if answered.ErrorCode != "" {
		failure.Codes = []string{answered.ErrorCode}
	}
	if answered.RawResponse != nil {
		failure.RequestID = answered.RawResponse.Header.Get("X-Ms-Request-Id")
	}
	return failure
}

// Code returns the service's own code for the error, such as ContainerNotFound, or "" if it did not respond.
func Code(err error) string {
	if answered, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return answered.ErrorCode
	}
	return ""
}

// Status returns the HTTP status of the service's response, or 0 without a response.
func Status(err error) int {
	if answered, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return answered.StatusCode
	}
	return 0
}

// Is reports whether the service's code is one of codes.
func Is(err error, codes ...string) bool {
	return err != nil && slices.Contains(codes, Code(err))
}

// Gone reports whether the container does not exist or is being deleted.
func Gone(err error) bool {
	return Is(err, "ContainerNotFound", "ContainerBeingDeleted", "ResourceNotFound")
}
