// SPDX-License-Identifier: Apache-2.0

// Package backenderror translates the errors of a storage backend into errors for users. Each driver provides a table
// that maps its backend's error codes to meanings. The package implements the logic that all backends share.
//
// The user sees the subject of the call, a sentence from the table and the backend's error code, for example:
//
//	bucket b: the store denies the driver this action; an administrator has to grant the permission to the driver's own account (AccessDenied)
//
// The backend's own error text and request ID may contain information that is not intended for users, so they appear
// only in the driver's log. Each meaning has a gRPC code, which decides whether the sidecar retries the call. See the
// constructors of driverkit.Error.
//
// The package is independent of any particular backend.
package backenderror

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Meaning is the meaning of a backend error: its gRPC code and the text for the user.
type Meaning struct {
	// Kind is the constructor for the gRPC code, such as driverkit.NotFound.
	Kind func(format string, args ...any) *driverkit.Error
	// Text describes the problem and the action for the user or administrator. {backend} is replaced by the table's
	// Backend. The text follows the subject of the call and a colon, so it begins in lower case.
	Text string
}

// Meanings that apply to most backends.
var (
	Login     = Meaning{driverkit.Unauthenticated, "{backend} does not accept the driver's own credentials; an administrator has to renew them"}
	Denied    = Meaning{driverkit.PermissionDenied, "{backend} denies the driver this action; an administrator has to grant the permission to the driver's own account"}
	Throttled = Meaning{driverkit.ResourceExhausted, "{backend} limits the rate of requests; the driver tries again later"}
	Quota     = Meaning{driverkit.ResourceExhausted, "a quota of {backend} is exhausted; an administrator has to raise it or delete unused objects"}
	Down      = Meaning{driverkit.Unavailable, "{backend} has an internal problem; the driver tries again"}
	ClockSkew = Meaning{driverkit.Unavailable, "the clocks of the driver and {backend} differ too much; an administrator has to synchronize them"}
	// Settling means that an earlier change has not yet propagated to the whole backend.
	Settling = Meaning{driverkit.Unavailable, "an earlier change has not propagated in {backend} yet; the driver tries again"}
	// Changing means that another client is changing the resource concurrently.
	Changing = Meaning{driverkit.Aborted, "another change is in progress; the driver tries again"}
	// Value means that the backend rejects a value that may come from a class parameter.
	Value     = Meaning{driverkit.InvalidArgument, "{backend} does not accept a value of the request; check the class parameters"}
	Foreign   = Meaning{driverkit.AlreadyExists, "this name has another owner at {backend}"}
	NotEmpty  = Meaning{driverkit.FailedPrecondition, "it is not empty"}
	Protected = Meaning{driverkit.FailedPrecondition, "{backend} prevents this change"}
	Missing   = Meaning{driverkit.NotFound, "it does not exist at {backend}"}
	// Unknown is the meaning of codes and statuses that are in no table.
	Unknown = Meaning{driverkit.Internal, "{backend} returned an unexpected response; see the driver's log for details"}
)

var (
	unreachable = Meaning{driverkit.Unavailable, "{backend} cannot be reached; the driver tries again; if this persists, check its endpoint and the network"}
	untrusted   = Meaning{driverkit.Unavailable, "the certificate of {backend} is not trusted; an administrator has to configure its certificate authority (caFile)"}
	failed      = Meaning{driverkit.Internal, "the driver failed; see its log for details"}
)

// Failure describes the failed call, as extracted from an error of the backend's SDK.
type Failure struct {
	// Called reports whether the error comes from a call to the backend. If Called is false and there are no codes
	// and no status, the driver has a bug.
	Called bool
	// Operation is the name of the call in the backend's API reference. Optional.
	Operation string
	// Codes are the backend's own codes for the error, in descending order of precedence.
	Codes []string
	// Status is the HTTP status, or 0 if there was no response.
	Status int
	// RequestID identifies the call in the backend's log. Optional.
	RequestID string
	// Meaning, if its Kind is set, overrides all tables. Use it for errors that no table can describe. Label is then
	// the text in parentheses.
	Meaning Meaning
	// Label is the text in parentheses at the end of the sentence. It is used only with Meaning.
	Label string
}

// Table maps the errors of one backend to their meanings. The first match applies, in this order: Failure.Meaning,
// Operations, Codes, Statuses, and the standard meaning of the HTTP status. If a call to the backend got no response,
// Translate reports that the backend cannot be reached.
type Table struct {
	// Backend is the backend's name in error sentences, such as "the store".
	Backend string
	// Read extracts the Failure from an error, which is not nil.
	Read func(err error) Failure
	// Codes maps backend error codes to meanings.
	Codes map[string]Meaning
	// Operations overrides Codes for particular calls. Keys are "Operation/Code".
	Operations map[string]Meaning
	// Statuses overrides the standard meanings of HTTP statuses.
	Statuses map[int]Meaning
}

// Translate returns err as a *driverkit.Error about the subject, such as "bucket b". It returns err unchanged if err
// is nil, is already a *driverkit.Error, or is an error of the caller's context.
func (t Table) Translate(subject string, err error) error {
	if _, known := errors.AsType[*driverkit.Error](err); err == nil || known || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	failure := t.Read(err)
	meaning, label := t.find(failure, err)
	text := subject + ": " + strings.ReplaceAll(meaning.Text, "{backend}", t.Backend)
	if label != "" {
		text += " (" + label + ")"
	}
	return meaning.Kind("%s", text).WithDetail(failure.detail(err))
}

// find returns the meaning of a failure and the text in parentheses.
func (t Table) find(failure Failure, err error) (meaning Meaning, label string) {
	switch {
	case failure.Meaning.Kind != nil:
		return failure.Meaning, failure.Label
	case len(failure.Codes) > 0 || failure.Status != 0:
	case !failure.Called:
		return failed, ""
	case strings.Contains(err.Error(), "x509: "): // SDKs lose the error's type when they request a token
		return untrusted, ""
	default:
		return unreachable, ""
	}
	for _, code := range failure.Codes {
		if found, ok := t.Operations[failure.Operation+"/"+code]; ok {
			return found, code
		}
	}
	for _, code := range failure.Codes {
		if found, ok := t.Codes[code]; ok {
			return found, code
		}
	}
	label = fmt.Sprintf("HTTP status %d", failure.Status)
	if len(failure.Codes) > 0 {
		label = failure.Codes[0]
	}
	if found, ok := t.Statuses[failure.Status]; ok {
		return found, label
	}
	return standard(failure.Status), label
}

// standard returns the standard meaning of an HTTP status, for codes that are not in the table.
func standard(status int) Meaning {
	switch {
	case status == http.StatusUnauthorized:
		return Login
	case status == http.StatusForbidden:
		return Denied
	case status == http.StatusNotFound || status == http.StatusGone:
		return Missing
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		return Changing
	case status == http.StatusTooManyRequests:
		return Throttled
	case status == http.StatusRequestTimeout || status >= http.StatusInternalServerError:
		return Down
	default:
		return Unknown
	}
}

// detail prefixes an error with the facts that identify the call in the backend's log.
func (f Failure) detail(err error) error {
	var facts []string
	add := func(known bool, format string, value any) {
		if known {
			facts = append(facts, fmt.Sprintf(format, value))
		}
	}
	add(f.Operation != "", "operation %q", f.Operation)
	add(len(f.Codes) > 0, "codes %q", f.Codes)
	add(f.Status != 0, "status %d", f.Status)
	add(f.RequestID != "", "request ID %q", f.RequestID)
	if len(facts) == 0 {
		return err
	}
	return fmt.Errorf("%s: %w", strings.Join(facts, ", "), err)
}
