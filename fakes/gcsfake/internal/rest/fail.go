// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/internal/xmltext"
)

// Fail responds with an error in the format of the endpoint.
func (c *Call) Fail(w http.ResponseWriter, e *gcserr.Error) {
	w.Header().Del("Content-Length")
	c.cacheHeaders(w.Header(), true)
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://accounts.google.com/"`)
	}
	if e.Status == http.StatusNotModified || c.r.Method == http.MethodHead {
		w.WriteHeader(e.Status)
		return
	}
	if c.flavour == inXML {
		failXML(w, e)
		return
	}
	raw, err := json.Marshal(c.failure(e))
	if err != nil { // strings only: cannot be
		raw = []byte("{}")
	}
	writeJSON(w, e.Status, raw)
}

type errorItem struct {
	Message      string `json:"message"`
	Domain       string `json:"domain"`
	Reason       string `json:"reason"`
	LocationType string `json:"locationType,omitempty"`
	Location     string `json:"location,omitempty"`
}

// itemOf names the header that an error of the JSON API is about.
func itemOf(e *gcserr.Error) errorItem {
	item := errorItem{Message: e.Message, Domain: "global", Reason: reasonOf(e)}
	switch {
	case e.Status == http.StatusUnauthorized:
		item.LocationType, item.Location = "header", "Authorization"
	case e.Reason == gcserr.Precondition.Reason:
		item.LocationType, item.Location = "header", "If-Match"
	}
	return item
}

// failure is the document of an error that is not XML.
func (c *Call) failure(e *gcserr.Error) any {
	switch c.flavour {
	case inOAuth:
		return map[string]string{"error": e.Reason, "error_description": e.Message}
	case inRPC:
		return map[string]any{"error": map[string]any{
			"code": e.Status, "message": e.Message, "status": e.RPCStatus(),
			"errors": []errorItem{{Message: e.Message, Domain: "global", Reason: reasonOf(e)}},
		}}
	}
	return map[string]any{"error": map[string]any{
		"code": e.Status, "message": e.Message, "errors": []errorItem{itemOf(e)},
	}}
}

// reasonOf returns the error's reason in the JSON API, even if the error was defined for XML.
func reasonOf(e *gcserr.Error) string {
	if e.Reason != "" {
		return e.Reason
	}
	return map[int]string{http.StatusBadRequest: "invalid", http.StatusForbidden: "forbidden", http.StatusUnauthorized: "authError"}[e.Status]
}

func failXML(w http.ResponseWriter, e *gcserr.Error) {
	out := struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
		Details       string `xml:",omitempty"`
		StringToSign  string `xml:",omitempty"`
	}{Code: cmp.Or(e.Code, e.Reason), Message: cmp.Or(e.Title, e.Message), Details: e.Details, StringToSign: e.StringToSign}
	if e.Title != "" {
		out.Details = cmp.Or(e.Details, e.Message)
	}
	raw, _ := xml.Marshal(out) // strings only: never fails
	writeXML(w, e.Status, xmltext.Plain(string(raw)))
}
