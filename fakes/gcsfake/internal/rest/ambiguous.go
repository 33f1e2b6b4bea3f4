// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
)

// RepeatedQuery contains the query parameters that are lists (repeated, in the discovery documents).
var RepeatedQuery = []string{"keyTypes", "permissions"}

// single are the headers that have one value.
var single = accept.Names("authorization", "content-disposition", "content-md5", "content-range", "content-type", "date", "if-modified-since", "if-range", "if-unmodified-since",
	"range", "x-http-method-override").
	Prefix("x-amz-", "x-goog-", "x-upload-content-")

// repeatable are the headers that are lists or have no effect.
var repeatable = accept.Names("x-goog-hash", "x-goog-api-client", "x-goog-request-params", "x-goog-request-reason", "x-goog-storage-go-features").
	Prefix("x-amz-meta-", "x-goog-meta-", "x-goog-custom-audit-")

// ambiguity returns the reason why a request is ambiguous, or "" if it is not. A request is ambiguous if its query
// cannot be parsed completely (unread), or if a single-valued parameter or header occurs more than once. If the fake
// ignored part of the request, the operation would not do what the client requested.
func ambiguity(h http.Header, query url.Values, unread error) string {
	if unread != nil {
		return fmt.Sprintf("The query cannot be read: %v.", unread)
	}
	for name, values := range query {
		if len(values) > 1 && !slices.Contains(RepeatedQuery, name) {
			return fmt.Sprintf("The parameter %s is sent more than once.", name)
		}
	}
	for name, values := range h {
		name = strings.ToLower(name)
		if len(values) > 1 && single.Has(name) && !repeatable.Has(name) {
			return fmt.Sprintf("The header %s is sent more than once.", name)
		}
	}
	return ""
}

// refuseAmbiguity rejects ambiguous requests before anything else.
func (c *Call) refuseAmbiguity() error {
	switch {
	case c.ambiguity == "":
		return nil
	case c.flavour == inOAuth:
		return gcserr.InvalidTokenRequest.Say("%s", c.ambiguity)
	}
	return gcserr.Invalid.Say("%s", c.ambiguity)
}

// listOf returns a list header as one value (RFC 9110, 5.3).
func listOf(h http.Header, name string) string { return strings.Join(h.Values(name), ",") }

// hasTag reports whether a list of entity tags has this one, without its quotes, or is of all.
func hasTag(list, etag string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(v string) bool {
		v = strings.TrimSpace(v)
		return v == "*" || strings.Trim(strings.TrimPrefix(v, "W/"), `"`) == etag
	})
}
