// SPDX-License-Identifier: Apache-2.0

// Package apierror translates the errors of Google's APIs into errors for users. Its table is the only place that
// maps their error codes to meanings.
package apierror

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"github.com/cooper-cosi/cooper/drivers/driverkit/backenderror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
)

// Translate returns err as an error for the user about the subject, such as "bucket bc-1". See backenderror.Table.
func Translate(subject string, err error) error { return table.Translate(subject, err) }

// read extracts the failure from the error of a call.
func read(err error) backenderror.Failure {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil && refused.Response.StatusCode >= http.StatusInternalServerError {
		return backenderror.Failure{Called: true, Meaning: backenderror.Down, Label: "no token"}
	} else if ok || errors.Is(err, call.ErrCredentials) {
		return backenderror.Failure{Called: true, Meaning: backenderror.Login, Label: "no token"}
	}
	failure := backenderror.Failure{Codes: Codes(err), Status: Status(err)}
	if made, ok := errors.AsType[*call.Error](err); ok {
		failure.Called, failure.Operation = true, made.API+"."+made.Operation
	}
	return failure
}

// Status returns the HTTP status of an API's response, or 0 without a response.
func Status(err error) int {
	var answer *googleapi.Error
	if !errors.As(err, &answer) {
		return 0
	}
	return answer.Code
}

// Is reports whether the HTTP status of an API's response is one of statuses.
func Is(err error, statuses ...int) bool { return err != nil && slices.Contains(statuses, Status(err)) }

// IsMissing reports whether the requested resource does not exist.
func IsMissing(err error) bool { return Is(err, http.StatusNotFound) }

// Message returns the API's own message. Use it for logs and decisions, and do not show it to users.
func Message(err error) string {
	var answer *googleapi.Error
	if !errors.As(err, &answer) {
		return ""
	}
	return answer.Message
}

// Codes returns the API's error codes: the reasons of the storage API, such as notFound, and the statuses of the
// other APIs, such as NOT_FOUND.
func Codes(err error) []string {
	var answer *googleapi.Error
	if !errors.As(err, &answer) {
		return nil
	}
	var found []string
	for _, item := range answer.Errors {
		if item.Reason != "" {
			found = append(found, item.Reason)
		}
	}
	var body struct {
		Error struct {
			Status string `json:"status"`
		} `json:"error"`
	}
	// A body that is not JSON, for example from a proxy, has no status.
	if json.Unmarshal([]byte(answer.Body), &body) == nil && body.Error.Status != "" {
		found = append(found, body.Error.Status)
	}
	return found
}
