// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/eksapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

// eksExchange is a call to EKS.
type eksExchange struct {
	*query
	body []byte
}

func (s *state) newEKS(r *http.Request) *eksExchange {
	q := &query{server: s, r: r, service: sigv4.ServiceOf(r)}
	x := &eksExchange{query: q}
	var queryErr error
	q.form, queryErr = url.ParseQuery(r.URL.RawQuery)
	x.body, q.bodyHash, q.err = readAll(r)
	switch {
	case q.err != nil:
	case queryErr != nil:
		q.err = errMalformedQuery
	default:
		q.err = single(r, q.form)
	}
	return x
}

// Describe implements exchange.
func (x *eksExchange) Describe() calls.Description {
	operation := cmp.Or(eksapi.Operation(x.r.Method, x.r.URL.Path), x.service+":"+x.r.Method)
	return calls.Description{Operation: operation, Resource: x.r.URL.Path, Principal: x.caller()}
}

// Serve implements exchange.
func (x *eksExchange) Serve(w http.ResponseWriter, requestID string) *awserr.Error {
	response, err := x.response()
	if err != nil {
		e := awserr.From(err)
		x.Fail(w, requestID, e)
		return e
	}
	writeJSON(w, http.StatusOK, response)
	return nil
}

func (x *eksExchange) response() (any, error) {
	if x.err != nil {
		return nil, x.err
	}
	if err := x.authenticate(); err != nil {
		return nil, err
	}
	return x.server.eks.Serve(eksapi.Request{Method: x.r.Method, Path: x.r.URL.Path, Query: x.form, Body: x.body, Principal: *x.principal, Context: x.conditions()})
}

// Fail implements exchange.
func (x *eksExchange) Fail(w http.ResponseWriter, _ string, e *awserr.Error) {
	switch {
	case e.Is(iam.ErrInvalidClientToken):
		e = awserr.New(http.StatusForbidden, "UnrecognizedClientException", e.Message)
	case e.Is(errMalformedQuery), e.Code == "InvalidQueryParameter": // which only the Query protocol has
		e = awserr.New(http.StatusBadRequest, "InvalidParameterException", e.Message)
	}
	w.Header().Set("X-Amzn-Errortype", e.Code)
	writeJSON(w, e.Status, map[string]string{"message": e.Message})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
