// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"encoding/xml"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

// elsewhere is a call to a service of AWS that users of S3 call too and that is not served: the response is
// NotImplemented, and not that the signature is for another service, which is S3's response to a mistake.
type elsewhere struct {
	service string
	r       *http.Request
	// json tells how the service writes errors; the others write XML.
	json bool
}

// newElsewhere finds such a call by the scope of its signature.
func newElsewhere(r *http.Request) (exchange, bool) {
	service := sigv4.ServiceOf(r)
	json, known := map[string]bool{
		"s3express": false, "s3-object-lambda": false, "s3-outposts": false, "s3tables": true, "s3vectors": true, "s3files": true, "kms": true,
	}[service]
	return &elsewhere{service: service, r: r, json: json}, known
}

func (x *elsewhere) describe() description {
	return description{operation: x.service + ":" + x.r.Method, resource: x.r.URL.Path}
}

func (x *elsewhere) serve(w http.ResponseWriter, requestID string) *awserr.Error {
	e := awserr.Newf(http.StatusNotImplemented, "NotImplemented", "%s is not served by this fake.", x.service)
	x.fail(w, requestID, e)
	return e
}

func (x *elsewhere) fail(w http.ResponseWriter, requestID string, e *awserr.Error) {
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
	_, _ = w.Write(body) // the client is gone if this fails
}
