// SPDX-License-Identifier: Apache-2.0

// Package apierror turns the errors of S3 and IAM into errors for users. The table is the one place
// where a code of a store gets its meaning; a row says the same in every call, except for the few
// calls where a code means something else.
package apierror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Code answers the store's own code for the error, such as NoSuchBucket, without the suffix
// "Exception" that some services add. It is empty if the store did not answer.
func Code(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return ""
	}
	return strings.TrimSuffix(api.ErrorCode(), "Exception")
}

// Is says whether the store answered one of the codes.
func Is(err error, codes ...string) bool {
	return err != nil && slices.Contains(codes, Code(err))
}

// Unsupported says whether the store does not know the call at all.
func Unsupported(err error) bool {
	return Is(err, "NotImplemented", "MethodNotAllowed", "InvalidAction", "UnsupportedOperation", "XNotImplemented") ||
		status(err) == http.StatusNotImplemented
}

// Denied says whether the store knows the driver and denies it the call.
func Denied(err error) bool {
	return Is(err, "AccessDenied", "XAdminAccessDenied", "XMinioAdminAccessDenied", "Forbidden", "UnauthorizedOperation")
}

// Header answers a header of the store's answer, empty without one.
func Header(err error, name string) string {
	var response *awshttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil {
		return ""
	}
	return response.Response.Header.Get(name)
}

func status(err error) int {
	var response *awshttp.ResponseError
	if !errors.As(err, &response) {
		return 0
	}
	return response.HTTPStatusCode()
}

// Translate answers err as an error for the user: about subject, such as "bucket bc-1", with the
// code of the table. The text of the store, its code and its request ID are in the detail, which
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
	code := Code(err)
	if code == "" && status(err) == 0 {
		return unreachable(err)
	}
	if found, ok := byOperation[operation(err)+"/"+code]; ok {
		return found, code
	}
	if found, ok := byCode[code]; ok {
		return found, code
	}
	label := code
	if label == "" {
		label = fmt.Sprintf("HTTP status %d", status(err))
	}
	return byStatus(status(err)), label
}

// unreachable is the case without an answer from the store. An error that did not come from a call
// at all is the driver's own.
func unreachable(err error) (rule, string) {
	if _, called := errors.AsType[*smithy.OperationError](err); !called {
		return rule{driverkit.Internal, "the driver failed; its log has the details"}, ""
	}
	return rule{driverkit.Unavailable, "the store cannot be reached"}, ""
}

func operation(err error) string {
	var call *smithy.OperationError
	if !errors.As(err, &call) {
		return ""
	}
	return call.Operation()
}

// withIDs puts in front what an operator needs to find the call in the store's own log.
func withIDs(err error) error {
	requestID := ""
	if response, answered := errors.AsType[*awshttp.ResponseError](err); answered {
		requestID = response.ServiceRequestID()
	}
	return fmt.Errorf("operation %q, code %q, status %d, request ID %q: %w", operation(err), Code(err), status(err), requestID, err)
}

// Codes answers the codes of the table, for tests and documentation.
func Codes() []string { return slices.Sorted(maps.Keys(byCode)) }
