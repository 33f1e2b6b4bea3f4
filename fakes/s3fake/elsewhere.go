// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"encoding/xml"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

// elsewhere is a call to an AWS service that S3 users also call and that the fake does not implement. The response is
// NotImplemented. Otherwise S3 would report that the signature is for another service, which suggests a mistake in
// the client.
type elsewhere struct {
	service string
	r       *http.Request
	// json means that the service returns errors as JSON; the others return XML.
	json bool
}

// newElsewhere identifies such a call by the scope of its signature.
func newElsewhere(r *http.Request) (exchange, bool) {
	service := sigv4.ServiceOf(r)
	json, known := map[string]bool{
		"s3express": false, "s3-object-lambda": false, "s3-outposts": false, "s3tables": true, "s3vectors": true, "s3files": true, "kms": true,
	}[service]
	return &elsewhere{service: service, r: r, json: json}, known
}

// Describe implements exchange.
func (x *elsewhere) Describe() calls.Description {
	return calls.Description{Operation: x.service + ":" + x.r.Method, Resource: x.r.URL.Path}
}

// Serve implements exchange.
func (x *elsewhere) Serve(w http.ResponseWriter, requestID string) *awserr.Error {
	e := awserr.Newf(http.StatusNotImplemented, "NotImplemented", "%s is not supported by this fake.", x.service)
	x.Fail(w, requestID, e)
	return e
}

// Fail implements exchange.
func (x *elsewhere) Fail(w http.ResponseWriter, requestID string, e *awserr.Error) {
	if x.json {
		w.Header().Set("X-Amzn-Errortype", e.Code)
		writeJSON(w, e.Status, map[string]string{"__type": e.Code, "message": e.Message})
		return
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(e.Status)
	body, _ := xml.Marshal(struct {
		XMLName   xml.Name `xml:"Error"`
		Code      string
		Message   string
		RequestID string `xml:"RequestId"`
	}{Code: e.Code, Message: e.Message, RequestID: requestID})
	_, _ = w.Write(body) // fails only if the client has disconnected
}
