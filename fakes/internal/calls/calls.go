// SPDX-License-Identifier: Apache-2.0

// Package calls handles each call to a fake: it records the call, applies fault rules and writes the response.
package calls

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/internal/backing"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Exchange is a call whose operation has been determined, independent of the service.
type Exchange interface {
	// Describe returns the description of the call. It is complete only after Serve.
	Describe() Description
	// Serve performs the call and responds. It returns the code of the error in the response, or "" if the call
	// succeeded.
	Serve(w http.ResponseWriter) string
	// Fail responds with the error of a rule without performing the call.
	Fail(w http.ResponseWriter, rule *fault.Rule)
}

// Description contains the fields of a recorded call that depend on the service.
type Description struct{ Operation, Resource, Principal string }

// Desk handles the calls of one server.
type Desk struct {
	Faults   *fault.Injector
	Recorder *fault.Recorder
	Now      func() time.Time
	// Backing is the fake's storage. Its Past, which can be nil, provides the earlier states for stale reads.
	Backing *backing.Backing
	// Before returns an exchange with a fake in the earlier state that the journal contains.
	Before func(was journal.Journal, r *http.Request) (Exchange, error)
}

// maxBody is how much of a body is kept for a stale read; no read has more.
const maxBody = 1 << 20

// Handle handles a call. After Handle has recorded the start of the call, it calls begin, which returns the exchange
// and the names of the caller, verified or not, that fault rules can match. Handle panics with http.ErrAbortHandler
// if a rule drops the connection. A client that has received a complete response finds the call in the record.
func (d Desk) Handle(w http.ResponseWriter, r *http.Request, requestID string, begin func() (x Exchange, principals []string)) {
	seen := &statusWriter{ResponseWriter: w}
	d.handle(seen, r, requestID, begin)
	seen.finish()
}

// handle is Handle without the last byte of the response. It has recorded the call when it returns.
func (d Desk) handle(seen *statusWriter, r *http.Request, requestID string, begin func() (x Exchange, principals []string)) {
	call := d.Recorder.Begin(d.Now())
	call.RequestID = requestID
	d.Backing.Call()
	again := d.keepBody(r)
	x, principals := begin()
	defer func() {
		is := x.Describe()
		call.Operation, call.Resource, call.Principal = is.Operation, is.Resource, is.Principal
		call.Status = seen.status
		d.Recorder.End(call, d.Now())
	}()
	is := x.Describe()
	rule := d.Faults.Decide(fault.Subject{Operation: is.Operation, Resource: is.Resource, Principals: principals, Read: reads(r.Method, is.Operation)})
	if rule == nil {
		call.Code = x.Serve(seen)
		return
	}
	call.Fault = rule.Name
	if !sleep(r, time.Duration(rule.Latency)) {
		call.Performed = false
		panic(http.ErrAbortHandler)
	}
	if rule.Effect == fault.Stale {
		call.Code = d.serveStale(seen, again(), rule)
		return
	}
	inject(x, seen, &call, rule)
}

// keepBody keeps the body of a request. The returned function returns the request with this body, so that it can be
// served again.
func (d Desk) keepBody(r *http.Request) (again func() *http.Request) {
	if d.Backing.Past == nil || r.Body == nil {
		return func() *http.Request { return r }
	}
	body := r.Body
	// Later readers get the same error.
	kept, _ := io.ReadAll(io.LimitReader(body, maxBody))
	r.Body = readCloser{io.MultiReader(bytes.NewReader(kept), body), body}
	return func() *http.Request {
		second := r.Clone(r.Context())
		second.Body = io.NopCloser(bytes.NewReader(kept))
		return second
	}
}

type readCloser struct {
	io.Reader
	io.Closer
}

// serveStale responds from the earlier state that the rule selects.
func (d Desk) serveStale(w http.ResponseWriter, r *http.Request, rule *fault.Rule) string {
	x, err := d.Before(d.Backing.Past.Before(rule.Lag, d.Now().Add(-time.Duration(rule.LagTime))), r)
	if err != nil {
		http.Error(w, "read the past state: "+err.Error(), http.StatusInternalServerError)
		return "InternalError"
	}
	return x.Serve(w)
}

// reads reports whether a call changes nothing: by its method or, where calls of all kinds are POST, by its name.
func reads(method, operation string) bool {
	name := strings.ToLower(operation[strings.LastIndexAny(operation, ":.")+1:])
	return method == http.MethodGet || method == http.MethodHead ||
		slices.ContainsFunc([]string{"get", "list", "describe"}, func(verb string) bool { return strings.HasPrefix(name, verb) })
}

func inject(x Exchange, w http.ResponseWriter, call *fault.Call, rule *fault.Rule) {
	switch rule.Effect {
	case fault.Delay:
		call.Code = x.Serve(w)
	case fault.Drop:
		call.Performed = false
		panic(http.ErrAbortHandler)
	case fault.DropAfter:
		call.Code = x.Serve(Discard{})
		panic(http.ErrAbortHandler)
	case fault.FailAfter:
		_ = x.Serve(Discard{}) // the response is lost, whatever it is
		call.Code = rule.Code
		x.Fail(w, rule)
	default:
		call.Code, call.Performed = rule.Code, false
		x.Fail(w, rule)
	}
}

// sleep waits, or returns early if the client disconnects.
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

// statusWriter records the status of a response. If the length of the response is known, it withholds the last byte until
// finish, so that no client has a complete response before the call is recorded.
type statusWriter struct {
	http.ResponseWriter

	status int
	// left is the number of bytes that are not written yet, or 0 if it is unknown. last is the withheld byte.
	left int64
	last []byte
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.left, _ = strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64) // an unknown length is 0
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.left == 0 || int64(len(p)) < w.left {
		w.left = max(0, w.left-int64(len(p)))
		return w.ResponseWriter.Write(p)
	}
	end := len(p) - 1
	n, err := w.ResponseWriter.Write(p[:end])
	if w.left = 0; err != nil {
		return n, err
	}
	w.last = bytes.Clone(p[end:])
	return len(p), nil
}

// finish sends the last byte.
func (w *statusWriter) finish() {
	if w.last != nil {
		_, _ = w.ResponseWriter.Write(w.last) // the client may have disconnected
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Discard is an http.ResponseWriter that keeps only the header of the response.
type Discard http.Header

// Header implements http.ResponseWriter.
func (d Discard) Header() http.Header { return http.Header(d) }

// WriteHeader implements http.ResponseWriter.
func (Discard) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (Discard) Write(p []byte) (int, error) { return len(p), nil }
