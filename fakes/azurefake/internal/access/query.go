// SPDX-License-Identifier: Apache-2.0

package access

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
)

// single are the headers with a single value. Headers with entity tags are lists.
var single = accept.Names("authorization", "cache-control", "content-disposition", "content-encoding", "content-language", "content-md5", "content-type", "date",
	"if-modified-since", "if-range", "if-unmodified-since", "range").Prefix("x-ms-")

// ReadQuery returns the query of a request. It rejects queries that it cannot parse completely, and duplicates of
// single-valued parameters and headers. If it ignored part of the request, the operation would not do what the client
// requested.
func ReadQuery(r *http.Request) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return query, azerr.New(http.StatusBadRequest, "InvalidQueryParameterValue", "The query of the request cannot be read: "+err.Error()+".")
	}
	for name, values := range query {
		if len(values) > 1 {
			return query, azerr.New(http.StatusBadRequest, "InvalidQueryParameterValue", "The query parameter "+name+" is given more than once.")
		}
	}
	for header, values := range r.Header {
		if name := strings.ToLower(header); len(values) > 1 && single.Has(name) {
			return query, azerr.New(http.StatusBadRequest, "InvalidHeaderValue", "The header "+name+" is given more than once.")
		}
	}
	return query, nil
}
