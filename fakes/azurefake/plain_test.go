// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// TestRefusals checks the text of errors as clients get it: features that are not implemented are named, and
// characters that are valid in XML are not escaped.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, azurefake.Options{})
	const account = "/" + azurefake.DefaultAccount
	for name, test := range map[string]struct{ method, path, want string }{
		"an apostrophe and an end of line": {http.MethodPut, account + "/photos?restype=container", "'"},
		"a Data Lake file system":          {http.MethodPut, account + "/photos?resource=filesystem", "This fake does not support Data Lake Storage Gen2.\nRequestId:"},
		"a Data Lake directory":            {http.MethodPut, account + "/photos/a?resource=directory", "This fake does not support Data Lake Storage Gen2.\n"},
		"an append of Data Lake":           {http.MethodPatch, account + "/photos/a?action=append&position=0", "This fake does not support Data Lake Storage Gen2.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), test.method, test.path, http.NoBody)
			r.Header.Set("X-Ms-Version", "2021-12-02")
			if strings.Contains(test.want, "'") {
				r.Header.Set("Authorization", "SharedKey "+azurefake.DefaultAccount+":d3Jvbmc=")
				r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if got := w.Body.String(); !strings.Contains(got, test.want) || strings.Contains(got, "&#") {
				t.Errorf("got %d %s", w.Code, got)
			}
		})
	}
}
