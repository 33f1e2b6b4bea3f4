// SPDX-License-Identifier: Apache-2.0

package azurefake

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/blobapi"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/management"
	"github.com/cooper-cosi/cooper/fakes/fault"
)

// exchange is a call whose operation is known, whatever service it is for.
type exchange interface {
	// describe names the call by what is known at the moment.
	describe() description
	// serve answers and returns the error that was answered, nil for success.
	serve(w http.ResponseWriter) *azerr.Error
	// fail answers with an injected error.
	fail(w http.ResponseWriter, e *azerr.Error)
}

type description struct{ operation, resource, principal string }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := s.recorder.Begin(s.options.Now())
	call.RequestID = uuid.NewString()
	w.Header().Set("X-Ms-Request-Id", call.RequestID)
	w.Header().Set("Server", "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0")
	w.Header().Set("Date", s.now().Format(http.TimeFormat))
	x := s.exchange(r, call.RequestID)
	seen := &statusWriter{ResponseWriter: w}
	defer func() {
		d := x.describe()
		call.Operation, call.Resource, call.Principal = d.operation, d.resource, d.principal
		call.Status = seen.status
		s.recorder.End(call, s.options.Now())
	}()
	s.perform(x, seen, r, &call)
}

// perform answers the call, with the fault that a rule wants.
func (s *Server) perform(x exchange, w *statusWriter, r *http.Request, call *fault.Call) {
	d := x.describe()
	rule := s.Faults.Decide(fault.Subject{Operation: d.operation, Resource: d.resource, Principals: []string{d.principal}})
	if rule == nil {
		record(call, x.serve(w))
		return
	}
	call.Fault = rule.Name
	if !sleep(r, time.Duration(rule.Latency)) {
		call.Performed = false
		panic(http.ErrAbortHandler)
	}
	switch rule.Effect {
	case fault.Delay:
		record(call, x.serve(w))
	case fault.Drop:
		call.Performed = false
		panic(http.ErrAbortHandler)
	case fault.DropAfter:
		record(call, x.serve(newSwallower()))
		panic(http.ErrAbortHandler)
	case fault.FailAfter:
		record(call, x.serve(newSwallower()))
		call.Code = rule.Code
		x.fail(w, injected(rule))
	default:
		call.Code, call.Performed = rule.Code, false
		x.fail(w, injected(rule))
	}
}

func record(call *fault.Call, e *azerr.Error) {
	if e != nil {
		call.Code = e.Code
	}
}

// sleep waits unless the client goes away first.
func sleep(r *http.Request, d time.Duration) bool {
	if d == 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// injected words the error of a rule.
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
		"PrincipalNotFound":               azerr.New(http.StatusBadRequest, "PrincipalNotFound", "The principal does not exist in the directory. If it was made just now, it may take time to be known."),
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

// managementRoot begins the paths of management calls, and can be no account's name.
const managementRoot = "subscriptions"

// exchange finds out which service a request is for.
func (s *Server) exchange(r *http.Request, requestID string) exchange {
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
	// claimed is who the caller says to be, before it is verified.
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

// claimed reads the caller's name without verifying anything.
func claimed(r *http.Request) string {
	if _, value, ok := strings.Cut(r.Header.Get("Authorization"), "SharedKey "); ok {
		name, _, _ := strings.Cut(value, ":")
		return name
	}
	return r.URL.Query().Get("si")
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter

	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// swallower takes an answer that is to be lost.
type swallower struct{ header http.Header }

func newSwallower() *swallower { return &swallower{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (s *swallower) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter.
func (s *swallower) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (s *swallower) Write(p []byte) (int, error) { return len(p), nil }
