// SPDX-License-Identifier: Apache-2.0

// Package apierror turns the errors of the Blob service into errors for users. The table is the one
// place where a code of the service gets its meaning.
package apierror

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Code answers the service's own code for the error, such as ContainerNotFound; empty if it did not
// answer.
func Code(err error) string {
	if answered, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return answered.ErrorCode
	}
	return ""
}

// Status answers the HTTP status of the service's answer, 0 without one.
func Status(err error) int {
	if answered, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return answered.StatusCode
	}
	return 0
}

// Is says whether the service answered one of the codes.
func Is(err error, codes ...string) bool {
	return err != nil && slices.Contains(codes, Code(err))
}

// Gone says whether the container does not exist, or will not in a moment.
func Gone(err error) bool {
	return Is(err, "ContainerNotFound", "ContainerBeingDeleted", "ResourceNotFound")
}

// Translate answers err as an error for the user: about subject, such as "bucket bc-1", with the
// code of the table. The text of the service, its code and its request ID are in the detail, which
// only the log shows. An error that is for the user already, and one of the caller's context, are
// answered as they are.
func Translate(subject string, err error) error {
	var known *driverkit.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	rule, label := find(err)
	text := subject + ": " + rule.sentence
	if label != "" {
		text += " (" + label + ")"
	}
	return rule.kind("%s", text).WithDetail(withIDs(err))
}

// find answers the rule for an error and what the sentence names in brackets.
func find(err error) (rule, string) {
	if refused, ok := errors.AsType[*azidentity.AuthenticationFailedError](err); ok && refused.RawResponse != nil {
		return login, "Microsoft Entra"
	}
	answered, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		return unreachable(err), ""
	}
	if found, ok := byCode[answered.ErrorCode]; ok {
		return found, answered.ErrorCode
	}
	label := answered.ErrorCode
	if label == "" {
		label = fmt.Sprintf("HTTP status %d", answered.StatusCode)
	}
	return byStatus(answered.StatusCode), label
}

// unreachable is the case without an answer from the service. An error that did not come from a call
// at all is the driver's own.
func unreachable(err error) rule {
	if _, called := errors.AsType[net.Error](err); !called {
		return failed
	}
	return absent
}

// withIDs puts in front what an operator needs to find the call in the service's own log.
func withIDs(err error) error {
	answered, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		return err
	}
	requestID := ""
	if answered.RawResponse != nil {
		requestID = answered.RawResponse.Header.Get("X-Ms-Request-Id")
	}
	return fmt.Errorf("code %q, status %d, request ID %q: %w", answered.ErrorCode, answered.StatusCode, requestID, err)
}

// byStatus is the meaning of an answer whose code the table does not have.
func byStatus(status int) rule {
	switch {
	case status == http.StatusUnauthorized:
		return login
	case status == http.StatusForbidden:
		return denied
	case status == http.StatusNotFound:
		return missing
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		return changing
	case status == http.StatusTooManyRequests:
		return throttled
	case status >= http.StatusInternalServerError:
		return down
	}
	return unknown
}
