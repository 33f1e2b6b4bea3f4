// SPDX-License-Identifier: Apache-2.0

package azurefake

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/blobapi"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/management"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// exchange is a call to any service whose operation has been determined.
type exchange interface {
	// describe describes the call with the information available so far.
	describe() description
	// serve writes the response and returns its error, or nil for success.
	serve(w http.ResponseWriter) *azerr.Error
	// fail writes an injected error.
	fail(w http.ResponseWriter, e *azerr.Error)
}

type description struct{ operation, resource, principal string }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := uuid.NewString()
	w.Header().Set("X-Ms-Request-Id", requestID)
	w.Header().Set("Server", "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0")
	held := s.state()
	w.Header().Set("Date", held.now().Format(http.TimeFormat))
	desk := calls.Desk{Faults: &s.Faults, Recorder: &s.recorder, Now: s.options.Now, Backing: &held.backing, Before: func(was journal.Journal, r *http.Request) (calls.Exchange, error) {
		past, err := held.before(was)
		if err != nil {
			return nil, err
		}
		return handling{past.exchange(r, requestID)}, nil
	}}
	desk.Handle(w, r, requestID, func() (calls.Exchange, []string) {
		x := held.exchange(r, requestID)
		return handling{x}, []string{x.describe().principal}
	})
}

// handling adapts an exchange for package calls.
type handling struct{ exchange }

// Describe implements calls.Exchange.
func (a handling) Describe() calls.Description {
	d := a.describe()
	return calls.Description{Operation: d.operation, Resource: d.resource, Principal: d.principal}
}

// Serve implements calls.Exchange.
func (a handling) Serve(w http.ResponseWriter) string {
	if e := a.serve(w); e != nil {
		return e.Code
	}
	return ""
}

// Fail implements calls.Exchange.
func (a handling) Fail(w http.ResponseWriter, rule *fault.Rule) { a.fail(w, injected(rule)) }

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
		return &managementExchange{s.management.Prepare(r)}
	}
	return &blobExchange{p: s.blobs.Prepare(r, requestID), claimed: claimed(r)}
}

// blobExchange is a call to the Blob service.
type blobExchange struct {
	p *blobapi.Call
	// claimed is the caller's claimed identity, before verification.
	claimed string
}

func (x *blobExchange) describe() description {
	d := description{operation: string(x.p.Operation), resource: x.p.Resource(), principal: x.claimed}
	if x.p.Caller != nil && x.p.Caller.Name != "" {
		d.principal = x.p.Caller.Name
	}
	return d
}

func (x *blobExchange) serve(w http.ResponseWriter) *azerr.Error { return x.p.Serve(w) }

func (x *blobExchange) fail(w http.ResponseWriter, e *azerr.Error) { x.p.Fail(w, e) }

// managementExchange is a call to Azure Resource Manager.
type managementExchange struct{ c *management.Call }

func (x *managementExchange) describe() description {
	return description{operation: x.c.Operation, resource: x.c.Resource, principal: x.c.Caller}
}

func (x *managementExchange) serve(w http.ResponseWriter) *azerr.Error { return x.c.Serve(w) }

func (x *managementExchange) fail(w http.ResponseWriter, e *azerr.Error) { management.Fail(w, e) }

// claimed returns the caller's claimed name without verifying anything.
func claimed(r *http.Request) string {
	if _, value, ok := strings.Cut(r.Header.Get("Authorization"), "SharedKey "); ok {
		name, _, _ := strings.Cut(value, ":")
		return name
	}
	return r.URL.Query().Get("si")
}
