// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// leftover is the contents of the objects that earlier recordings left behind.
const leftover = "hello"

// leftovers returns the names that the recording lists before it writes them.
func (r *recording) leftovers(t *testing.T, rules rules) []string {
	t.Helper()
	written, out := "\n", map[string]bool{}
	for _, e := range r.Entries {
		target, err := url.Parse(e.Request.URL)
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Response.StatusCode >= http.StatusMultipleChoices:
		case e.Request.Method != http.MethodGet:
			written += target.Path + "\n/" + target.Query().Get("name") + "\n"
		case rules.format(e) != data:
			listed, err := members(rules.format(e), e.Response.Body)
			if err != nil {
				t.Fatal(err)
			}
			for member, name := range listed {
				if rules.listed.MatchString(member) && !strings.Contains(written, "/"+name+"\n") {
					out[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}
