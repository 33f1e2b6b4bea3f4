// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/s3api"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/sqsapi"
)

// exchange is a call to any service whose operation has been determined.
type exchange interface {
	// Describe describes the call with the information available so far.
	Describe() calls.Description
	// Serve writes the response and returns its error, or nil for success.
	Serve(w http.ResponseWriter, requestID string) *awserr.Error
	// Fail writes an injected error.
	Fail(w http.ResponseWriter, requestID string, e *awserr.Error)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := newRequestID()
	w.Header()["x-amz-request-id"] = []string{requestID} // in lower case, as S3 sends them
	w.Header()["x-amz-id-2"] = []string{s3api.HostID}
	w.Header().Set("Server", "AmazonS3")
	held := s.state()
	desk := calls.Desk{Faults: &s.Faults, Recorder: &s.recorder, Now: s.options.Now, Backing: &held.backing, Before: func(was journal.Journal, r *http.Request) (calls.Exchange, error) {
		past, err := held.options.load(held.backing.Before(was))
		if err != nil {
			return nil, err
		}
		return handling{past.exchange(r), requestID}, nil
	}}
	desk.Handle(w, r, requestID, func() (calls.Exchange, []string) {
		return handling{held.exchange(r), requestID}, []string{accessKeyOf(r), held.userOf(accessKeyOf(r))}
	})
}

// handling is an exchange with the ID of its request.
type handling struct {
	exchange

	requestID string
}

// Serve implements calls.Exchange.
func (a handling) Serve(w http.ResponseWriter) string {
	if e := a.exchange.Serve(w, a.requestID); e != nil {
		return e.Code
	}
	return ""
}

// Fail implements calls.Exchange.
func (a handling) Fail(w http.ResponseWriter, rule *fault.Rule) {
	a.exchange.Fail(w, a.requestID, injected(rule))
}

// injected returns the error of a rule.
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

// exchange determines the service of a request by the scope of its signature or by its form.
func (s *state) exchange(r *http.Request) exchange {
	switch sigv4.ServiceOf(r) {
	case "iam", "sts":
		return s.newQuery(r)
	case "eks", "eks-auth":
		return s.newEKS(r)
	case "sqs":
		return s.newSQS(r)
	case "":
		if sqsapi.IsTarget(r.Header.Get("X-Amz-Target")) {
			return s.newSQS(r)
		}
	}
	if x, ok := newElsewhere(r); ok {
		return x
	}
	if isQuery(r) {
		return s.newQuery(r)
	}
	return s.s3.Prepare(r)
}

// isQuery reports whether a request uses the Query protocol.
func isQuery(r *http.Request) bool {
	if r.URL.Path != "/" && r.URL.Path != "" {
		return false
	}
	form := strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
	return (r.Method == http.MethodPost && form) || r.URL.Query().Has("Action")
}

func (s *state) userOf(accessKeyID string) string {
	k, err := s.account.Key(accessKeyID)
	if err != nil {
		return ""
	}
	return k.User
}

// accessKeyOf returns the claimed access key without verifying anything.
func accessKeyOf(r *http.Request) string {
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	rest = cmp.Or(rest, r.URL.Query().Get("X-Amz-Credential"))
	id, _, _ := strings.Cut(rest, "/")
	return id
}

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand crashes the process instead
	return strings.ToUpper(hex.EncodeToString(b[:]))
}
