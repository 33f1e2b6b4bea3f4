// SPDX-License-Identifier: Apache-2.0

package gcsfake

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/rest"
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := s.recorder.Begin(s.options.Now())
	call.RequestID = newRequestID()
	w.Header().Set("X-Guploader-Uploadid", call.RequestID)
	w.Header().Set("Server", "UploadServer")
	c := s.api.Prepare(r)
	seen := &statusWriter{ResponseWriter: w}
	defer func() {
		call.Operation, call.Resource, call.Principal = c.Operation, c.Resource(), c.Principal()
		call.Status = seen.status
		s.recorder.End(call, s.options.Now())
	}()
	s.perform(c, seen, r, &call)
}

func newRequestID() string {
	var b [18]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// perform answers the call, with the fault that a rule wants.
func (s *Server) perform(c *rest.Call, w *statusWriter, r *http.Request, call *fault.Call) {
	rule := s.Faults.Decide(fault.Subject{Operation: c.Operation, Resource: c.Resource(), Principals: []string{c.Principal(), c.Claimed()}})
	if rule == nil {
		record(call, c.Serve(w))
		return
	}
	call.Fault = rule.Name
	if !sleep(r, time.Duration(rule.Latency)) {
		call.Performed = false
		panic(http.ErrAbortHandler)
	}
	switch rule.Effect {
	case fault.Delay:
		record(call, c.Serve(w))
	case fault.Drop:
		call.Performed = false
		panic(http.ErrAbortHandler)
	case fault.DropAfter:
		record(call, c.Serve(newSwallower()))
		panic(http.ErrAbortHandler)
	case fault.FailAfter:
		record(call, c.Serve(newSwallower()))
		call.Code = rule.Code
		c.Fail(w, injected(rule))
	default:
		call.Code, call.Performed = rule.Code, false
		c.Fail(w, injected(rule))
	}
}

func record(call *fault.Call, e *gcserr.Error) {
	if e != nil {
		call.Code = e.Name()
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

// injected words the error of a rule. Its code is a reason of the JSON API, or any other with a status of the rule's.
func injected(rule *fault.Rule) *gcserr.Error {
	known := map[string]*gcserr.Error{
		"rateLimitExceeded":  gcserr.New(http.StatusTooManyRequests, "rateLimitExceeded", "SlowDown", "The rate of requests is too high. Please reduce it."),
		"backendError":       gcserr.New(http.StatusServiceUnavailable, "backendError", "ServiceUnavailable", "Backend error. Please try again."),
		"internalError":      gcserr.New(http.StatusInternalServerError, "internalError", "InternalError", "We encountered an internal error. Please try again."),
		"gatewayTimeout":     gcserr.New(http.StatusGatewayTimeout, "gatewayTimeout", "GatewayTimeout", "The request has timed out."),
		"requestTimeout":     gcserr.New(http.StatusRequestTimeout, "uploadBrokenConnection", "RequestTimeout", "The request has timed out."),
		"authError":          gcserr.Unauthorized,
		"forbidden":          gcserr.Forbidden,
		"notFound":           gcserr.NotFound,
		"invalid":            gcserr.Invalid,
		"conflict":           gcserr.Conflict,
		"conditionNotMet":    gcserr.Precondition,
		"aborted":            {Status: http.StatusConflict, Reason: "aborted", Code: "Aborted", RPC: "ABORTED", Message: "The operation was aborted. Please try again."},
		"failedPrecondition": gcserr.FailedPrecondition,
		"quotaExceeded":      gcserr.New(http.StatusForbidden, "quotaExceeded", "QuotaExceeded", "The quota has been exceeded."),
	}
	e := known[rule.Code]
	if e == nil {
		e = gcserr.New(http.StatusInternalServerError, rule.Code, rule.Code, "Injected fault.")
	}
	out := *e
	if rule.Status != 0 && rule.Status != e.Status {
		out.RPC = ""
	}
	out.Status = cmp.Or(rule.Status, e.Status)
	out.Message = cmp.Or(rule.Message, e.Message)
	return &out
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
