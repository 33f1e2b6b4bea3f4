// SPDX-License-Identifier: Apache-2.0

// Package apierror turns the errors of Google's APIs into errors for users. The table is the one
// place where an error gets its meaning; a row says the same in every call, except for the few calls
// where it means something else.
package apierror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
)

// Status answers the HTTP status of an API's answer, 0 without one.
func Status(err error) int {
	var answer *googleapi.Error
	if !errors.As(err, &answer) {
		return 0
	}
	return answer.Code
}

// Is says whether an API answered one of the HTTP statuses.
func Is(err error, statuses ...int) bool { return err != nil && slices.Contains(statuses, Status(err)) }

// IsMissing says whether an API answered that what was asked for does not exist.
func IsMissing(err error) bool { return Is(err, http.StatusNotFound) }

// Message answers the API's own sentence. It is for the log and for decisions, not for users.
func Message(err error) string {
	var answer *googleapi.Error
	if !errors.As(err, &answer) {
		return ""
	}
	return answer.Message
}

// Codes answers the codes that the API gave: the reasons of the storage API, such as notFound, and
// the status of the others, such as NOT_FOUND.
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
	// A body that is not JSON, as proxies send, has no status.
	if json.Unmarshal([]byte(answer.Body), &body) == nil && body.Error.Status != "" {
		found = append(found, body.Error.Status)
	}
	return found
}

// Translate answers err as an error for the user: about subject, such as "bucket bc-1", with the
// code of the table. The text of the API is in the detail, which only the log shows. An error that is
// for the user already, and one of the caller's context, are answered as they are.
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
	return rule.kind("%s", text).WithDetail(err)
}

// find answers the rule for an error and what the sentence names in brackets.
func find(err error) (rule, string) {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil && refused.Response.StatusCode >= http.StatusInternalServerError {
		return down, "no token"
	} else if ok || errors.Is(err, call.ErrCredentials) {
		return login, "no token"
	}
	status := Status(err)
	if status == 0 {
		return unreachable(err)
	}
	operation, codes := "", Codes(err)
	if made, ok := errors.AsType[*call.Error](err); ok {
		operation = made.API + "." + made.Operation
	}
	for _, code := range codes {
		if found, ok := byOperation[operation+"/"+code]; ok {
			return found, code
		}
	}
	for _, code := range codes {
		if found, ok := byCode[code]; ok {
			return found, code
		}
	}
	label := fmt.Sprintf("HTTP status %d", status)
	if len(codes) > 0 {
		label = codes[0]
	}
	return byStatus(status), label
}

// unreachable is the case without an answer. An error that did not come from a call at all is the
// driver's own.
func unreachable(err error) (rule, string) {
	if _, called := errors.AsType[*call.Error](err); !called {
		return rule{driverkit.Internal, "the driver failed; its log has the details"}, ""
	}
	if strings.Contains(err.Error(), "x509: ") { // the type is lost where the token was asked for
		return rule{driverkit.Unavailable, "the certificate of the endpoint is not trusted; an administrator has to set the backend's caFile"}, ""
	}
	return rule{driverkit.Unavailable, "Google Cloud cannot be reached"}, ""
}
