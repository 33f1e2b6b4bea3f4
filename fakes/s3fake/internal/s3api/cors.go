// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"cmp"
	"encoding/xml"
	"net/http"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// corsBody is CORSConfiguration.
type corsBody struct {
	XMLName xml.Name   `xml:"CORSConfiguration"`
	Rule    []corsRule `xml:"CORSRule"`
}

type corsRule struct {
	ID             string   `xml:"ID,omitempty"`
	AllowedHeaders []string `xml:"AllowedHeader"`
	AllowedMethods []string `xml:"AllowedMethod"`
	AllowedOrigins []string `xml:"AllowedOrigin"`
	ExposeHeaders  []string `xml:"ExposeHeader"`
	MaxAge         *int     `xml:"MaxAgeSeconds,omitempty"`
}

var corsMethods = []string{"GET", "PUT", "POST", "DELETE", "HEAD"}

func (q *request) putCORS() error {
	var body corsBody
	if err := q.readXML(&body); err != nil {
		return err
	}
	if len(body.Rule) == 0 || len(body.Rule) > 100 {
		return errMalformedXML
	}
	for _, r := range body.Rule {
		if err := r.validate(); err != nil {
			return err
		}
	}
	return q.statusUnless(q.setConfig(configCORS, encodeXML("CORSConfiguration", body)), http.StatusOK)
}

func (r corsRule) validate() error {
	if len(r.AllowedMethods) == 0 || len(r.AllowedOrigins) == 0 {
		return errMalformedXML
	}
	for _, m := range r.AllowedMethods {
		if !slices.Contains(corsMethods, m) {
			return invalidRequest("Found unsupported HTTP method in CORS config. Unsupported method is " + m)
		}
	}
	for _, o := range r.AllowedOrigins {
		if strings.Count(o, "*") > 1 {
			return invalidRequest(`AllowedOrigin "` + o + `" can not have more than one wildcard.`)
		}
	}
	for _, h := range r.AllowedHeaders {
		if strings.Count(h, "*") > 1 {
			return invalidRequest(`AllowedHeader "` + h + `" can not have more than one wildcard.`)
		}
		if strings.Trim(h, headerCharacters) != "" {
			return invalidRequest(`AllowedHeader "` + h + `" contains invalid character.`)
		}
	}
	return nil
}

const headerCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"

// matchCORS returns the rule for an origin, a method and the headers that the browser wants to send.
func (q *request) matchCORS(origin, method string, headers []string) *corsRule {
	for _, r := range configOf[corsBody](q.state, configCORS).Rule {
		matches := func(patterns []string, v string) bool {
			return slices.ContainsFunc(patterns, func(p string) bool { return iampolicy.Match(strings.ToLower(p), strings.ToLower(v)) })
		}
		if !matches(r.AllowedOrigins, origin) || !slices.Contains(r.AllowedMethods, method) {
			continue
		}
		if slices.ContainsFunc(headers, func(h string) bool { return !matches(r.AllowedHeaders, h) }) {
			continue
		}
		return &r
	}
	return nil
}

// allowOrigin adds CORS headers to the response of an ordinary request. Recordings show that S3 evaluates the headers
// Access-Control-Request-Method and Access-Control-Request-Headers of such a request, as in a preflight request.
func (q *request) allowOrigin() {
	origin := q.r.Header.Get("Origin")
	if origin == "" || q.state.Config[configCORS] == nil {
		return
	}
	if r := q.matchCORS(origin, cmp.Or(q.r.Header.Get(askedMethod), q.r.Method), q.askedHeaders()); r != nil {
		q.corsHeaders(r, origin)
	}
}

const (
	askedMethod  = "Access-Control-Request-Method"
	askedHeaders = "Access-Control-Request-Headers"
)

// askedHeaders are the names of headers that the browser wants to send.
func (q *request) askedHeaders() []string {
	var names []string
	for name := range strings.SplitSeq(q.r.Header.Get(askedHeaders), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (q *request) corsHeaders(r *corsRule, origin string) {
	h := q.w.Header()
	if slices.Contains(r.AllowedOrigins, "*") {
		h.Set("Access-Control-Allow-Origin", "*")
	} else {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(r.AllowedMethods, ", "))
	if len(r.ExposeHeaders) > 0 {
		h.Set("Access-Control-Expose-Headers", strings.Join(r.ExposeHeaders, ", "))
	}
	if r.MaxAge != nil {
		h.Set("Access-Control-Max-Age", itoa(*r.MaxAge))
	}
	h.Set("Vary", "Origin, "+askedHeaders+", "+askedMethod)
}

func corsForbidden(message, method, kind string) error {
	return awserr.New(http.StatusForbidden, "AccessForbidden", message).With("Method", method).With("ResourceType", kind)
}

// preflight responds to a browser's OPTIONS request from the bucket's CORS rules.
func (q *request) preflight() error {
	origin, method := q.r.Header.Get("Origin"), q.r.Header.Get(askedMethod)
	if origin == "" {
		return awserr.New(http.StatusBadRequest, "BadRequest", "Insufficient information. Origin request header needed.")
	}
	if err := q.findBucket(); err != nil {
		if is(err, store.ErrNoBucket) {
			return corsForbidden("CORSResponse: Bucket not found", cmp.Or(method, q.r.Method), "BUCKET")
		}
		return err
	}
	if q.state.Config[configCORS] == nil {
		return corsForbidden("CORSResponse: CORS is not enabled for this bucket.", cmp.Or(method, q.r.Method), "BUCKET")
	}
	if !slices.Contains(corsMethods, method) {
		return awserr.New(http.StatusBadRequest, "BadRequest", "Invalid Access-Control-Request-Method: "+method)
	}
	headers := q.askedHeaders()
	for _, h := range headers {
		if strings.Trim(h, headerCharacters) != "" {
			return awserr.New(http.StatusBadRequest, "BadRequest", askedHeaders+` "`+h+`" contains invalid character.`)
		}
	}
	r := q.matchCORS(origin, method, headers)
	if r == nil {
		kind := "BUCKET"
		if q.key != "" {
			kind = "OBJECT"
		}
		return corsForbidden("CORSResponse: This CORS request is not allowed. This is usually because the evalution of Origin, request method / Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec.", method, kind)
	}
	q.corsHeaders(r, origin)
	if len(headers) > 0 {
		q.w.Header().Set("Access-Control-Allow-Headers", strings.ToLower(strings.Join(headers, ", ")))
	}
	return q.status(http.StatusOK)
}
