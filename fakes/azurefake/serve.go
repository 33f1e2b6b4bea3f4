// SPDX-License-Identifier: Apache-2.0

package azurefake

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// exchange is a call to any service whose operation has been determined.
type exchange interface {
	// Describe describes the call with the information available so far.
	Describe() calls.Description
	// Serve writes the response and returns its error, or nil for success.
	Serve(w http.ResponseWriter) *azerr.Error
	// Fail writes an injected error.
	Fail(w http.ResponseWriter, e *azerr.Error)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := uuid.NewString()
	w.Header().Set("X-Ms-Request-Id", requestID)
	w.Header().Set("Server", "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0")
	held := s.state()
	w.Header().Set("Date", held.now().Format(http.TimeFormat))
	desk := calls.Desk{Faults: &s.Faults, Recorder: &s.recorder, Now: s.options.Now, Backing: &held.backing, Before: func(was journal.Journal, r *http.Request) (calls.Exchange, error) {
		past, err := held.options.load(held.backing.Before(was))
		if err != nil {
			return nil, err
		}
		return handling{past.exchange(r, requestID)}, nil
	}}
	desk.Handle(w, r, requestID, func() (calls.Exchange, []string) {
		x := held.exchange(r, requestID)
		return handling{x}, []string{x.Describe().Principal}
	})
}

// handling adapts an exchange for package calls.
type handling struct{ exchange }

// Serve implements calls.Exchange.
func (a handling) Serve(w http.ResponseWriter) string {
	if e := a.exchange.Serve(w); e != nil {
		return e.Code
	}
	return ""
}

// Fail implements calls.Exchange.
func (a handling) Fail(w http.ResponseWriter, rule *fault.Rule) {
	a.exchange.Fail(w, injected(rule))
}

// injected returns the error of a rule.
func injected(rule *fault.Rule) *azerr.Error {
	known := map[string]*azerr.Error{
		"ServerBusy":                      azerr.New(http.StatusServiceUnavailable, "ServerBusy", "The server is currently unable to receive requests. Please retry your request."),
		"InternalError":                   azerr.New(http.StatusInternalServerError, "InternalError", "The server encountered an internal error. Please retry the request."),
		"OperationTimedOut":               azerr.New(http.StatusInternalServerError, "OperationTimedOut", "The operation could not be completed within the permitted time."),
		"AuthenticationFailed":            azerr.AuthenticationFailed("Injected fault."),
		"AuthorizationFailure":            azerr.AuthorizationFailure,
		"AuthorizationPermissionMismatch": azerr.PermissionMismatch,
		"ContainerBeingDeleted":           azerr.ContainerBeingDeleted,
		"ContainerNotFound":               azerr.ContainerNotFound,
		"ConditionNotMet":                 azerr.ConditionNotMet,
		"AccountIsDisabled":               azerr.New(http.StatusForbidden, "AccountIsDisabled", "The specified account is disabled."),
		"PrincipalNotFound":               azerr.New(http.StatusBadRequest, "PrincipalNotFound", "The principal does not exist in the directory. If the principal is new, replication may not be complete."),
		"TooManyRequests":                 azerr.New(http.StatusTooManyRequests, "TooManyRequests", "The number of requests has exceeded the limit. Please retry later."),
		"LeaseAlreadyPresent":             azerr.New(http.StatusConflict, "LeaseAlreadyPresent", "There is already a lease present."),
	}
	e := known[rule.Code]
	if e == nil {
		e = azerr.New(http.StatusInternalServerError, rule.Code, "Injected fault.")
	}
	out := *e
	out.Status = cmp.Or(rule.Status, e.Status)
	out.Message = cmp.Or(rule.Message, e.Message)
	return &out
}

// managementRoot is the first path segment of management calls, which is not a valid account name.
const managementRoot = "subscriptions"

// exchange determines the service of a request.
func (s *state) exchange(r *http.Request, requestID string) exchange {
	if isLogin(r.URL.Path) {
		return &loginExchange{server: s, r: r}
	}
	if first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); first == managementRoot {
		return s.management.Prepare(r)
	}
	return s.blobs.Prepare(r, requestID)
}
