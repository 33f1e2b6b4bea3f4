// SPDX-License-Identifier: Apache-2.0

// Package once finds headers and parameters that a request contains more than once. A fake reads most of them as a
// single value. If it used one of two values and ignored the other, the operation would not do what the client
// requested. Callers decide how to handle a duplicate.
package once

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
)

// single are the headers of HTTP that have one value ("Field order" in RFC 9110), as far as a service reads them.
var single = []string{
	"Access-Control-Request-Method", "Authorization", "Content-Disposition", "Content-Length", "Content-Md5", "Content-Range", "Content-Type", "Date",
	"Expires", "If-Modified-Since", "If-Range", "If-Unmodified-Since", "Origin", "Range", "Referer", "User-Agent",
}

// lists are the headers whose value is a list, which may be sent in several pieces.
var lists = []string{"Access-Control-Request-Headers", "Cache-Control", "Content-Encoding", "Content-Language", "If-Match", "If-None-Match"}

// Headers joins the values of headers whose value is a list. It returns the first single-valued header that occurs
// more than once, or "" if there is none. The names of the service's own headers begin with one of the prefixes. They
// are single-valued, except those in ownLists. Names are in canonical form. Headers does not modify h.
func Headers(h http.Header, prefixes []string, ownLists accept.List) (joined http.Header, twice string) {
	var repeated []string
	for name, values := range h {
		if len(values) > 1 {
			repeated = append(repeated, name)
		}
	}
	if len(repeated) == 0 {
		return h, ""
	}
	slices.Sort(repeated)
	joined = maps.Clone(h)
	for _, name := range repeated {
		own := slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		switch {
		case slices.Contains(lists, name) || ownLists.Has(name):
			joined[name] = []string{strings.Join(h[name], ",")}
		case own || slices.Contains(single, name):
			return h, name
		}
	}
	return joined, ""
}

// Parameter returns the first parameter of a query or form that occurs more than once, or "" if there is none.
func Parameter(v url.Values) string {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if len(v[name]) > 1 {
			return name
		}
	}
	return ""
}
