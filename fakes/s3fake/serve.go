// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/s3api"
)

// exchange is a call whose operation is known, whatever service it is for.
type exchange interface {
	// describe names the call by what is known at the moment.
	describe() description
	// serve answers and returns the error that was answered, nil for success.
	serve(w http.ResponseWriter, requestID string) *awserr.Error
	// fail answers with an injected error.
	fail(w http.ResponseWriter, requestID string, e *awserr.Error)
}

type description struct {
	operation, resource, principal, accessKeyID string
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := s.recorder.Begin(s.options.Now())
	call.RequestID = newRequestID()
	w.Header().Set("X-Amz-Request-Id", call.RequestID)
	w.Header().Set("X-Amz-Id-2", call.RequestID+"cooper")
	w.Header().Set("Server", "AmazonS3")
	x := s.exchange(r)
	seen := &statusWriter{ResponseWriter: w}
	defer func() {
		d := x.describe()
		call.Operation, call.Resource, call.Principal = d.operation, d.resource, cmp.Or(d.principal, d.accessKeyID)
		call.Status = seen.status
		s.recorder.End(call, s.options.Now())
	}()
	s.perform(x, seen, r, &call)
}

// perform answers the call, with the fault that a rule wants.
func (s *Server) perform(x exchange, w *statusWriter, r *http.Request, call *fault.Call) {
	d := x.describe()
	rule := s.Faults.Decide(fault.Subject{Operation: d.operation, Resource: d.resource, Principals: []string{accessKeyOf(r), s.userOf(accessKeyOf(r))}})
	if rule == nil {
		if e := x.serve(w, call.RequestID); e != nil {
			call.Code = e.Code
		}
		return
	}
	call.Fault = rule.Name
	if !sleep(r, time.Duration(rule.Latency)) {
		call.Performed = false
		panic(http.ErrAbortHandler)
	}
	s.inject(x, w, call, rule)
}

func (s *Server) inject(x exchange, w *statusWriter, call *fault.Call, rule *fault.Rule) {
	switch rule.Effect {
	case fault.Delay:
		if e := x.serve(w, call.RequestID); e != nil {
			call.Code = e.Code
		}
	case fault.Drop:
		call.Performed = false
		panic(http.ErrAbortHandler)
	case fault.DropAfter:
		if e := x.serve(newSwallower(), call.RequestID); e != nil {
			call.Code = e.Code
		}
		panic(http.ErrAbortHandler)
	case fault.FailAfter:
		_ = x.serve(newSwallower(), call.RequestID) // the answer is lost, whatever it is
		call.Code = rule.Code
		x.fail(w, call.RequestID, injected(rule))
	default:
		call.Code, call.Performed = rule.Code, false
		x.fail(w, call.RequestID, injected(rule))
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
func injected(rule *fault.Rule) *awserr.Error {
	known := map[string]*awserr.Error{
		"SlowDown":                      awserr.New(http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate."),
		"ServiceUnavailable":            awserr.New(http.StatusServiceUnavailable, "ServiceUnavailable", "Service is unable to handle request."),
		"InternalError":                 awserr.New(http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again."),
		"RequestTimeout":                awserr.New(http.StatusBadRequest, "RequestTimeout", "Your socket connection to the server was not read from or written to within the timeout period."),
		"OperationAborted":              awserr.New(http.StatusConflict, "OperationAborted", "A conflicting conditional operation is currently in progress against this resource. Please try again."),
		"Throttling":                    awserr.New(http.StatusBadRequest, "Throttling", "Rate exceeded"),
		"ServiceFailure":                awserr.New(http.StatusInternalServerError, "ServiceFailure", "The request processing has failed because of an unknown error, exception or failure."),
		"AccessDenied":                  awserr.New(http.StatusForbidden, "AccessDenied", "Access Denied"),
		"InvalidAccessKeyId":            awserr.New(http.StatusForbidden, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records."),
		"LimitExceeded":                 awserr.New(http.StatusConflict, "LimitExceeded", "Cannot exceed quota."),
		"EntityTemporarilyUnmodifiable": awserr.New(http.StatusConflict, "EntityTemporarilyUnmodifiable", "The entity is temporarily unmodifiable. Please try again later."),
		"ConcurrentModification":        awserr.New(http.StatusConflict, "ConcurrentModification", "The request was rejected because multiple requests to change this object were submitted simultaneously."),
	}
	e := known[rule.Code]
	if e == nil {
		e = awserr.New(http.StatusInternalServerError, rule.Code, "Injected fault.")
	}
	out := *e
	out.Status = cmp.Or(rule.Status, e.Status)
	out.Message = cmp.Or(rule.Message, e.Message)
	return &out
}

// exchange finds out which service a request is for: by the scope of its signature, or by its shape.
func (s *Server) exchange(r *http.Request) exchange {
	switch sigv4.ServiceOf(r) {
	case "iam", "sts":
		return s.newQuery(r)
	case "eks", "eks-auth":
		return s.newEKS(r)
	}
	if isQuery(r) {
		return s.newQuery(r)
	}
	return &s3Exchange{server: s, r: r, p: s.s3.Prepare(r)}
}

// isQuery reports whether a request has the shape of the Query protocol.
func isQuery(r *http.Request) bool {
	if r.URL.Path != "/" && r.URL.Path != "" {
		return false
	}
	form := strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
	return (r.Method == http.MethodPost && form) || r.URL.Query().Has("Action")
}

// s3Exchange is a call to S3.
type s3Exchange struct {
	server *Server
	r      *http.Request
	p      *s3api.Prepared
}

func (x *s3Exchange) describe() description {
	c := x.p.Call()
	d := description{operation: c.Operation, resource: c.Bucket, principal: c.Principal, accessKeyID: c.AccessKeyID}
	if c.Key != "" {
		d.resource += "/" + c.Key
	}
	return d
}

func (x *s3Exchange) serve(w http.ResponseWriter, requestID string) *awserr.Error {
	return x.p.Serve(w, requestID)
}

func (x *s3Exchange) fail(w http.ResponseWriter, requestID string, e *awserr.Error) {
	x.p.Fail(w, requestID, e)
}

func (s *Server) userOf(accessKeyID string) string {
	k, err := s.account.Key(accessKeyID)
	if err != nil {
		return ""
	}
	return k.User
}

// accessKeyOf reads the claimed access key without verifying anything.
func accessKeyOf(r *http.Request) string {
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	if rest == "" {
		rest = r.URL.Query().Get("X-Amz-Credential")
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return strings.ToUpper(hex.EncodeToString(b[:]))
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
