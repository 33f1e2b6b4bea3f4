// SPDX-License-Identifier: Apache-2.0

package gcsfake

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/grpcapi"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/rest"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case grpcapi.IsCall(r):
		s.grpc.ServeHTTP(w, r)
		return
	case r.URL.Path == batchPath:
		s.serveBatch(w, r)
		return
	}
	requestID := newRequestID()
	w.Header().Set("X-Guploader-Uploadid", requestID)
	w.Header().Set("Server", "UploadServer")
	held := s.state()
	desk := calls.Desk{Faults: &s.Faults, Recorder: &s.recorder, Now: s.options.Now, Backing: &held.backing, Before: func(was journal.Journal, r *http.Request) (calls.Exchange, error) {
		past, err := held.options.load(held.backing.Before(was))
		if err != nil {
			return nil, err
		}
		return handling{past.api.Prepare(r)}, nil
	}}
	desk.Handle(w, r, requestID, func() (calls.Exchange, []string) {
		c := held.api.Prepare(r)
		return handling{c}, []string{c.Principal(), c.Claimed()}
	})
}

// handling adapts a call for package calls.
type handling struct{ call *rest.Call }

// Describe implements calls.Exchange.
func (a handling) Describe() calls.Description {
	return calls.Description{Operation: a.call.Operation, Resource: a.call.Resource(), Principal: a.call.Principal()}
}

// Serve implements calls.Exchange.
func (a handling) Serve(w http.ResponseWriter) string {
	if e := a.call.Serve(w); e != nil {
		return e.Name()
	}
	return ""
}

// Fail implements calls.Exchange.
func (a handling) Fail(w http.ResponseWriter, rule *fault.Rule) { a.call.Fail(w, injected(rule)) }

func newRequestID() string {
	var b [18]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand crashes the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// injected returns the error of a rule. Its code is a reason of the JSON API, or any other code with a status in the
// rule.
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
