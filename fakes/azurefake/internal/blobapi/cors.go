// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// The limits of "Cross-Origin Resource Sharing (CORS) support for Azure Storage". The size is without the XML tags.
const (
	maxCORSRules    = 5
	maxCORSSize     = 2 << 10
	maxCORSEntries  = 64
	maxCORSPrefixes = 2
	maxCORSEntry    = 256
)

var corsMethods = []string{"DELETE", "GET", "HEAD", "MERGE", "PATCH", "POST", "OPTIONS", "PUT"}

// corsRuleXML is a rule, whose elements are all required. Lists are separated by commas.
type corsRuleXML struct {
	Origins *string `xml:"AllowedOrigins"`
	Methods *string `xml:"AllowedMethods"`
	Headers *string `xml:"AllowedHeaders"`
	Exposed *string `xml:"ExposedHeaders"`
	MaxAge  *int    `xml:"MaxAgeInSeconds"`
}

// check applies "Set Blob Service Properties".
func (x *corsXML) check() error {
	if x == nil {
		return nil
	}
	size := 0
	for _, r := range x.Rules {
		if r.Origins == nil || r.Methods == nil || r.Headers == nil || r.Exposed == nil || r.MaxAge == nil {
			return missingNode
		}
		if err := r.check(); err != nil {
			return err
		}
		size += len(*r.Origins) + len(*r.Methods) + len(*r.Headers) + len(*r.Exposed) + len(strconv.Itoa(*r.MaxAge))
	}
	if len(x.Rules) > maxCORSRules || size > maxCORSSize {
		return azerr.InvalidXML
	}
	return nil
}

func (r corsRuleXML) check() error {
	origins, methods := commas(*r.Origins), commas(*r.Methods)
	if len(origins) == 0 || len(methods) == 0 || len(origins) > maxCORSEntries || *r.MaxAge < 0 {
		return invalidNode
	}
	for _, method := range methods {
		if !slices.Contains(corsMethods, method) {
			return invalidNode
		}
	}
	for _, list := range [][]string{commas(*r.Headers), commas(*r.Exposed)} {
		prefixes := 0
		for _, header := range list {
			if strings.HasSuffix(header, "*") && header != "*" {
				prefixes++
			}
		}
		if prefixes > maxCORSPrefixes || len(list)-prefixes > maxCORSEntries {
			return invalidNode
		}
	}
	for _, entry := range slices.Concat(origins, commas(*r.Headers), commas(*r.Exposed)) {
		if len(entry) > maxCORSEntry {
			return invalidNode
		}
	}
	return nil
}

// commas splits a list without its empty elements.
func commas(list string) []string {
	var out []string
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}

// forAll reports whether the rule allows all origins.
func (r corsRuleXML) forAll() bool { return slices.Contains(commas(*r.Origins), "*") }

// allows reports whether the rule is for the origin and the method. An origin is case-sensitive, unless the rule has a
// wildcard for its subdomains.
func (r corsRuleXML) allows(origin, method string) bool {
	of := func(one string) bool {
		before, after, wild := strings.Cut(strings.ToLower(one), "*")
		lower := strings.ToLower(origin)
		return one == origin || wild && len(lower) > len(before)+len(after) && strings.HasPrefix(lower, before) && strings.HasSuffix(lower, after)
	}
	return (r.forAll() || origin != "" && slices.ContainsFunc(commas(*r.Origins), of)) && slices.Contains(commas(*r.Methods), method)
}

// covers reports whether a list of headers contains a header, itself or a prefix that ends in *.
func covers(list []string, header string) bool {
	return slices.ContainsFunc(list, func(one string) bool {
		prefix, open := strings.CutSuffix(strings.ToLower(one), "*")
		header := strings.ToLower(header)
		return header == prefix || open && strings.HasPrefix(header, prefix)
	})
}

// corsRules returns the rules of the account.
func (c *Call) corsRules() []corsRuleXML {
	account, _ := c.api.Directory.Account(c.Target.Account)
	if !strings.Contains(account.Service, "<CorsRule>") {
		return nil
	}
	stored, err := storedService(account)
	if err != nil || stored.CORS == nil {
		return nil
	}
	return stored.CORS.Rules
}

// preflight implements Preflight Blob Request, which browsers send without credentials. The first rule that allows the
// request applies.
func (c *Call) preflight(w http.ResponseWriter) error {
	origin, method := c.r.Header.Get("Origin"), c.r.Header.Get("Access-Control-Request-Method")
	if origin == "" || method == "" {
		return azerr.New(http.StatusBadRequest, azerr.InvalidHeaderValue.Code, "A required CORS header is not present.")
	}
	asked := strings.Join(c.r.Header.Values("Access-Control-Request-Headers"), ",")
	for _, r := range c.corsRules() {
		allowed := commas(*r.Headers)
		if !r.allows(origin, method) || slices.ContainsFunc(commas(asked), func(header string) bool { return !covers(allowed, header) }) {
			continue
		}
		r.allowOrigin(w.Header(), origin)
		w.Header().Set("Access-Control-Allow-Methods", method)
		if asked != "" {
			w.Header().Set("Access-Control-Allow-Headers", asked)
		}
		w.Header().Set("Access-Control-Max-Age", strconv.Itoa(*r.MaxAge))
		w.WriteHeader(http.StatusOK)
		return nil
	}
	return azerr.New(http.StatusForbidden, "CorsPreflightFailure", "CORS not enabled or no matching rule found for this request.")
}

func (r corsRuleXML) allowOrigin(h http.Header, origin string) {
	if r.forAll() {
		h.Set("Access-Control-Allow-Origin", "*")
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Vary", "Origin")
}

// withCORS returns a writer that adds the headers that let a browser read the response. If their values or their absence
// depend on the origin, the response has the header Vary.
func (c *Call) withCORS(w http.ResponseWriter) http.ResponseWriter {
	rules := c.corsRules()
	if len(rules) == 0 || c.r.Method == http.MethodOptions {
		return w
	}
	origin := c.r.Header.Get("Origin")
	for _, r := range rules {
		if r.allows(origin, c.r.Method) {
			return &corsWriter{w, func(h http.Header) {
				r.allowOrigin(h, origin)
				if exposed := r.exposed(h); exposed != "" {
					h.Set("Access-Control-Expose-Headers", exposed)
				}
			}}
		}
	}
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		w.Header().Set("Vary", "Origin")
	}
	return w
}

// exposed returns the headers of a response that scripts can read: those of the rule, with prefixes replaced by the
// headers that begin with them.
func (r corsRuleXML) exposed(h http.Header) string {
	var out []string
	for _, one := range commas(*r.Exposed) {
		if !strings.HasSuffix(one, "*") {
			out = append(out, one)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(h)) {
			if covers([]string{one}, name) && !strings.HasPrefix(name, "Access-Control-") {
				out = append(out, strings.ToLower(name))
			}
		}
	}
	return strings.Join(out, ",")
}

// corsWriter adds headers when the other headers are complete.
type corsWriter struct {
	http.ResponseWriter

	add func(http.Header)
}

// WriteHeader implements http.ResponseWriter.
func (w *corsWriter) WriteHeader(status int) {
	w.add(w.Header())
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the writer below, for http.ResponseController.
func (w *corsWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
