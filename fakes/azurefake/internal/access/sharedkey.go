// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// maxSkew is how far the time of a signed request may be from the service's.
const maxSkew = 15 * time.Minute

// Sign returns the signature of a text with an account key.
func Sign(key, text string) string {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return ""
	}
	mac := hmac.New(sha256.New, raw)
	_, _ = mac.Write([]byte(text)) // never fails
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signedBy reports whether one of the keys made the signature.
func signedBy(keys []string, signature, text string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return hmac.Equal([]byte(Sign(k, text)), []byte(signature)) })
}

// sharedKey checks the Authorization header of the SharedKey scheme. If other is not "", the client may sign this
// path instead of the request's path.
func (d *Directory) sharedKey(r *http.Request, account Account, other, value string) error {
	name, signature, ok := strings.Cut(value, ":")
	if !ok || name != account.Name {
		return azerr.AuthenticationFailed("The account that is accessed is not the one in the Authorization header.")
	}
	if account.SharedKeyOff {
		return azerr.New(http.StatusForbidden, "KeyBasedAuthenticationNotPermitted", "Key based authentication is not permitted on this storage account.")
	}
	date := cmp.Or(r.Header.Get("X-Ms-Date"), r.Header.Get("Date"))
	at, err := http.ParseTime(date)
	if err != nil {
		return azerr.AuthenticationFailed("The Date header in the request is incorrect.")
	}
	if skew := d.now().Sub(at).Abs(); skew > maxSkew {
		return azerr.AuthenticationFailed("Request date header too old: '%s'", date)
	}
	paths := []string{r.URL.EscapedPath()}
	if other != "" {
		paths = append(paths, other)
	}
	for _, path := range paths {
		for _, order := range []func(a, b string) int{byWeight, strings.Compare} {
			if signedBy(account.Keys[:], signature, stringToSign(r, account.Name, path, order)) {
				return nil
			}
		}
	}
	return azerr.AuthenticationFailed("The MAC signature found in the HTTP request '%s' is not the same as any computed signature.", signature)
}

// stringToSign is the text that a client signs, as "Authorize with Shared Key" defines it for the Blob service.
func stringToSign(r *http.Request, account, path string, order func(a, b string) int) string {
	length := ""
	if r.ContentLength > 0 {
		length = strconv.FormatInt(r.ContentLength, 10)
	}
	date := r.Header.Get("Date")
	if r.Header.Get("X-Ms-Date") != "" {
		date = ""
	}
	h := func(name string) string { return strings.Join(r.Header.Values(name), ",") }
	lines := []string{
		r.Method, h("Content-Encoding"), h("Content-Language"), length, h("Content-Md5"), h("Content-Type"), date,
		h("If-Modified-Since"), h("If-Match"), h("If-None-Match"), h("If-Unmodified-Since"), h("Range"),
	}
	return strings.Join(lines, "\n") + "\n" + canonicalHeaders(r.Header, order) + canonicalResource(r, account, path)
}

func canonicalHeaders(header http.Header, order func(a, b string) int) string {
	values := map[string]string{}
	var names []string
	for name, v := range header {
		lower := strings.ToLower(name)
		if strings.HasPrefix(lower, "x-ms-") {
			names = append(names, lower)
			values[lower] = strings.TrimSpace(strings.Join(v, ","))
		}
	}
	slices.SortFunc(names, order)
	var text strings.Builder
	for _, name := range names {
		text.WriteString(name + ":" + values[name] + "\n")
	}
	return text.String()
}

// canonicalResource is the account and the path as the client wrote it, which in path style names the account again.
func canonicalResource(r *http.Request, account, path string) string {
	path = cmp.Or(path, "/")
	params := map[string][]string{}
	for name, v := range r.URL.Query() {
		lower := strings.ToLower(name)
		params[lower] = append(params[lower], v...)
	}
	var text strings.Builder
	text.WriteString("/" + account + path)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		v := params[name]
		slices.Sort(v)
		text.WriteString("\n" + name + ":" + strings.Join(v, ","))
	}
	return text.String()
}

// byWeight orders header names like the service's culture-aware comparison: punctuation counts less than letters and
// digits, and a hyphen only matters between names that are otherwise equal.
func byWeight(a, b string) int {
	letters := func(name string) []byte { return []byte(strings.ReplaceAll(name, "-", "")) }
	order := slices.CompareFunc(letters(a), letters(b), func(x, y byte) int { return weight(x) - weight(y) })
	return cmp.Or(order, strings.Compare(b, a))
}

// weight orders characters: underscore before digits before letters.
func weight(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return 0x200 + int(c)
	case c >= '0' && c <= '9':
		return 0x100 + int(c)
	}
	return int(c)
}
