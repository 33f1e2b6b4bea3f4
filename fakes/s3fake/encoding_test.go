// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestListedKeys lists keys with characters that XML or encoding-type=url encodes. The latter is Java's URLEncoder, but keeps
// slashes.
func TestListedKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for key, want := range map[string]struct{ plain, encoded string }{
		"X\x01Y": {"X&#x1;Y", "X%01Y"},
		"한글":     {"한글", "%ED%95%9C%EA%B" + "8%80"},
		"😀":      {"😀", "%F0%9F%98%80"},
		"a%2Fb":  {"a%2Fb", "a%252Fb"},
		"a+b":    {"a+b", "a%2Bb"},
		"a b":    {"a b", "a+b"},
		"~/-_.*": {"~/-_.*", "%7E/-_.*"},
		"!'()@,": {"!'()@,", "%21%27%28%29%40%2C"},
	} {
		path := "/empty/" + strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(key))
		for _, op := range []operation{{method: http.MethodPut, path: path, body: "x"}, {method: http.MethodPost, path: path + "?uploads"}} {
			if got := w.send(t, w.Root(), op); got.Code != http.StatusOK {
				t.Fatalf("%s %s: %d %s", op.method, op.path, got.Code, got.Body)
			}
		}
		for _, list := range []string{"", "list-type=2&", "versions&", "uploads&"} {
			query := "/empty?" + list + "prefix=" + url.QueryEscape(key)
			for suffix, text := range map[string]string{"": want.plain, "&encoding-type=url": want.encoded, "&encoding-type=URL": want.encoded} {
				got := w.send(t, w.Root(), operation{method: http.MethodGet, path: query + suffix}).Body.String()
				for _, element := range []string{"<Key>" + text + "</Key>", "<Prefix>" + text + "</Prefix>"} {
					if !strings.Contains(got, element) {
						t.Errorf("%s has no %s:\n%s", query+suffix, element, got)
					}
				}
			}
		}
	}
}
