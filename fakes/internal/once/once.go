// SPDX-License-Identifier: Apache-2.0

// Package once finds what a request says more than once. A fake reads most headers and parameters as one value: to take one
// of two and drop the other would be to do something that the client did not ask for. What becomes of it is the caller's to
// say.
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

// lists are those that a service reads and whose value is a list, which may come in pieces.
var lists = []string{"Access-Control-Request-Headers", "Cache-Control", "Content-Encoding", "Content-Language", "If-Match", "If-None-Match"}

// Headers joins the values of the headers that are lists, and returns the first header that has one value and came more than
// once, "" for none. A service's own headers begin with one of the prefixes, and ownLists has those that are lists. Names are
// in canonical form. It changes nothing in h.
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

// Parameter returns the first parameter of a query or a form that came more than once, "" for none.
func Parameter(v url.Values) string {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if len(v[name]) > 1 {
			return name
		}
	}
	return ""
}
