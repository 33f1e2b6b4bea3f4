// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/sqsapi"
)

// sqsExchange is a call to SQS.
type sqsExchange struct {
	*query

	call sqsapi.Call
}

func (s *state) newSQS(r *http.Request) *sqsExchange {
	q := &query{server: s, r: r, service: "sqs"}
	x := &sqsExchange{query: q}
	var body []byte
	target := r.Header.Get("X-Amz-Target")
	if sqsapi.IsTarget(target) {
		body, q.bodyHash, q.err = readAll(r)
	} else {
		q.form, q.bodyHash, q.err = readForm(r)
	}
	call, err := sqsapi.Parse(target, q.form, body)
	x.call = call
	if q.err == nil {
		q.err = single(r, q.form)
	}
	if q.err == nil {
		q.err = err
	}
	q.form = nil // only conditions of IAM read it
	return x
}

// Describe implements exchange.
func (x *sqsExchange) Describe() calls.Description {
	in := x.call.Input
	queue := cmp.Or(in.QueueName, in.QueueURL[strings.LastIndexByte(in.QueueURL, '/')+1:])
	return calls.Description{Operation: "sqs:" + x.call.Action, Resource: queue, Principal: x.caller()}
}

// Serve implements exchange.
func (x *sqsExchange) Serve(w http.ResponseWriter, requestID string) *awserr.Error {
	body, kind, err := x.response(requestID)
	if err != nil {
		e := awserr.From(err)
		x.Fail(w, requestID, e)
		return e
	}
	w.Header().Set("X-Amzn-Requestid", requestID)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // fails only if the client has disconnected
	return nil
}

func (x *sqsExchange) response(requestID string) (body []byte, contentType string, err error) {
	if err := x.authenticate(); err != nil {
		return nil, "", err
	}
	if x.err != nil {
		return nil, "", x.err
	}
	base := "http://" + x.r.Host
	if x.r.TLS != nil {
		base = "https://" + x.r.Host
	}
	result, err := x.server.sqs.Serve(x.r.Context(), sqsapi.Request{Call: x.call, Principal: *x.principal, Context: x.conditions(), Base: base})
	if err != nil {
		return nil, "", err
	}
	return x.call.Encode(result, requestID)
}

// Fail implements exchange.
func (x *sqsExchange) Fail(w http.ResponseWriter, requestID string, e *awserr.Error) {
	w.Header().Set("X-Amzn-Requestid", requestID)
	x.call.WriteError(w, e, requestID)
}
