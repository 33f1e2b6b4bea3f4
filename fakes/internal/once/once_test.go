// SPDX-License-Identifier: Apache-2.0

package once_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/once"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sent, want http.Header
		twice      string
	}{
		"nothing twice":                       {http.Header{"Range": {"a"}, "X-Own-A": {"b"}}, http.Header{"Range": {"a"}, "X-Own-A": {"b"}}, ""},
		"a header of HTTP":                    {http.Header{"Range": {"a", "b"}}, nil, "Range"},
		"the same value":                      {http.Header{"Range": {"a", "a"}}, nil, "Range"},
		"one of the service":                  {http.Header{"X-Own-A": {"a", "b"}}, nil, "X-Own-A"},
		"two of them":                         {http.Header{"X-Own-B": {"a", "b"}, "Date": {"a", "b"}, "X-Own-A": {"a", "b"}}, nil, "Date"},
		"a list of HTTP":                      {http.Header{"If-None-Match": {`"a"`, `"b"`}}, http.Header{"If-None-Match": {`"a","b"`}}, ""},
		"a list of the service":               {http.Header{"X-Own-List": {"a", "b"}}, http.Header{"X-Own-List": {"a,b"}}, ""},
		"lists that begin alike":              {http.Header{"X-Own-Meta-A": {"a", "b"}}, http.Header{"X-Own-Meta-A": {"a,b"}}, ""},
		"one that nobody reads":               {http.Header{"X-Other": {"a", "b"}}, http.Header{"X-Other": {"a", "b"}}, ""},
		"a name that is longer than a list's": {http.Header{"X-Own-List-Too": {"a", "b"}}, nil, "X-Own-List-Too"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := tc.sent.Clone()
			joined, twice := once.Headers(tc.sent, []string{"X-Own-"}, accept.Names("X-Own-List").Prefix("X-Own-Meta-"))
			if twice != tc.twice {
				t.Errorf("%q came more than once, want %q", twice, tc.twice)
			}
			if diff := cmp.Diff(tc.want, joined); tc.want != nil && diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.sent); diff != "" {
				t.Errorf("the request's own headers have changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestParameter(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]url.Values{"": {"a": {"b"}}, "a": {"b": {"1", "2"}, "a": {"1", "1"}, "c": {"1"}}} {
		if got := once.Parameter(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
