// SPDX-License-Identifier: Apache-2.0

// Package backenderror turns the errors of a storage backend into errors for users, by tables: a driver lists what
// the codes of its backend mean, and the package does what is the same for every backend.
//
// The user reads a sentence of the table about the subject of the call and the backend's code, such as
//
//	bucket b: the store denies the driver this action; an administrator has to allow it (AccessDenied)
//
// while the backend's own text, which may hold what is not for users, its code and its request ID are in the detail
// that only the driver's log shows. The gRPC code of a meaning decides whether the call is retried: see the
// constructors of driverkit.Error.
//
// It must not know any backend.
package backenderror

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Meaning is what an error of a backend means.
type Meaning struct {
	// Kind is the constructor of the gRPC code, such as driverkit.NotFound.
	Kind func(format string, args ...any) *driverkit.Error
	// Text says what happened and who has to do what. {backend} in it stands for the table's Backend. It follows
	// the subject of the call and a colon, so it begins in lower case.
	Text string
}

// The meanings that most backends have errors for.
var (
	Login     = Meaning{driverkit.Unauthenticated, "{backend} does not accept the driver's own credentials; an administrator has to renew them"}
	Denied    = Meaning{driverkit.PermissionDenied, "{backend} denies the driver this action; an administrator has to allow it"}
	Throttled = Meaning{driverkit.ResourceExhausted, "{backend} asks for fewer requests; the driver tries again later"}
	Quota     = Meaning{driverkit.ResourceExhausted, "a quota of {backend} is used up; an administrator has to raise it or remove something"}
	Down      = Meaning{driverkit.Unavailable, "{backend} has an internal problem; the driver tries again"}
	ClockSkew = Meaning{driverkit.Unavailable, "the clocks of the driver and {backend} differ; an administrator has to set them"}
	// Settling is for an earlier change that has not reached all of the backend.
	Settling = Meaning{driverkit.Unavailable, "{backend} has not yet settled an earlier change; the driver tries again"}
	// Changing is for a change by somebody else at the same time.
	Changing = Meaning{driverkit.Aborted, "another change is under way; the driver tries again"}
	// Value is for what a class parameter can be the reason of.
	Value     = Meaning{driverkit.InvalidArgument, "{backend} does not accept a value of the request; check the class parameters"}
	Foreign   = Meaning{driverkit.AlreadyExists, "this name belongs to somebody else at {backend}"}
	NotEmpty  = Meaning{driverkit.FailedPrecondition, "it is not empty"}
	Protected = Meaning{driverkit.FailedPrecondition, "{backend} protects it from this change"}
	Missing   = Meaning{driverkit.NotFound, "it does not exist at {backend}"}
	// Unknown is for codes and statuses that no table has.
	Unknown = Meaning{driverkit.Internal, "{backend} returned a response that the driver does not expect; its log has the details"}
)

var (
	unreachable = Meaning{driverkit.Unavailable, "{backend} cannot be reached"}
	untrusted   = Meaning{driverkit.Unavailable, "the certificate of {backend} is not trusted; an administrator has to configure the authority that signed it (caFile)"}
	failed      = Meaning{driverkit.Internal, "the driver failed; its log has the details"}
)

// Failure is what the error of a backend's SDK says about the call that failed.
type Failure struct {
	// Called reports whether the error comes from a call to the backend. An error that does not, and has no codes
	// and no status, is a defect of the driver.
	Called bool
	// Operation is the name of the call, as the backend's reference has it. Optional.
	Operation string
	// Codes are the backend's own codes for the error, the one that counts first.
	Codes []string
	// Status is the HTTP status, 0 without a response.
	Status int
	// RequestID finds the call in the backend's log. Optional.
	RequestID string
	// Meaning, if its Kind is set, is the meaning of an error that no table can hold, and Label what the sentence
	// shows in brackets.
	Meaning Meaning
	// Label is described at Meaning.
	Label string
}

// Table gives the errors of one backend their meanings. The first of these counts: Failure.Meaning, Operations, Codes,
// Statuses, and the standard meaning of the HTTP status. Without a response the backend cannot be reached.
type Table struct {
	// Backend is what sentences call the backend, such as "the store".
	Backend string
	// Read takes apart an error, which is not nil.
	Read func(err error) Failure
	// Codes are the meanings of the backend's codes.
	Codes map[string]Meaning
	// Operations are the meanings of codes that mean something else in one call, by "Operation/Code".
	Operations map[string]Meaning
	// Statuses are the meanings of HTTP statuses that mean something else than usual.
	Statuses map[int]Meaning
}

// Translate returns err as a *driverkit.Error about the subject, such as "bucket b". It returns nil, an error that is
// a *driverkit.Error already, and one of the caller's context as they are.
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

// find returns the meaning of a failure and what the sentence shows in brackets.
func (t Table) find(failure Failure, err error) (meaning Meaning, label string) {
	switch {
	case failure.Meaning.Kind != nil:
		return failure.Meaning, failure.Label
	case len(failure.Codes) > 0 || failure.Status != 0:
	case !failure.Called:
		return failed, ""
	case strings.Contains(err.Error(), "x509: "): // SDKs lose the type where they ask for a token
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

// standard is the meaning of a status that comes without a code of the table.
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

// detail puts in front of an error what finds the call in the backend's log.
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
