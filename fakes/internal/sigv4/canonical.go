// SPDX-License-Identifier: Apache-2.0

package sigv4

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// EmptySHA256 is the SHA-256 of no bytes, in lower-case hex.
	EmptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

	algorithm  = "AWS4-HMAC-SHA256"
	terminator = "aws4_request"
	isoFormat  = "20060102T150405Z"
	dateFormat = "20060102"
)

// scope is the credential scope: everything after the access key ID in a Credential.
type scope struct{ date, region, service, terminator string }

func (s scope) String() string {
	return s.date + "/" + s.region + "/" + s.service + "/" + s.terminator
}

func hmacSHA256(key []byte, data string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(data))
	return h.Sum(nil)
}

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// signingKey derives the key of one day, region and service
// (Signature Version 4, "Calculate the signature").
func signingKey(prefix, secret string, s scope) []byte {
	k := hmacSHA256([]byte(prefix+secret), s.date)
	k = hmacSHA256(k, s.region)
	k = hmacSHA256(k, s.service)
	return hmacSHA256(k, s.terminator)
}

func sign(key []byte, stringToSign string) string {
	return hex.EncodeToString(hmacSHA256(key, stringToSign))
}

// equalSignature compares in constant time.
func equalSignature(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// Encode escapes s as Signature Version 4 requires. It encodes everything except unreserved characters as upper-case
// hexadecimal. If keepSlash is true, it does not encode '/', as in a path.
func Encode(s string, keepSlash bool) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = unreserved(s[i]) || (keepSlash && s[i] == '/')
	}
	if plain {
		return s
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := range len(s) {
		c := s[i]
		if unreserved(c) || (keepSlash && c == '/') {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

func unreserved(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '_' || c == '.' || c == '~'
}

// param is one decoded query parameter, in the order of the request.
type param struct{ name, value string }

// parseQuery splits a raw query. Unlike net/url it keeps ';' and undecodable escapes, because a signature
// covers them too.
func parseQuery(raw string) []param {
	if raw == "" {
		return nil
	}
	parts := strings.Split(raw, "&")
	params := make([]param, 0, len(parts))
	for _, part := range parts {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		params = append(params, param{unescape(name), unescape(value)})
	}
	return params
}

func unescape(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// canonicalQuery is the re-encoded query without the parameter named omit, sorted by name and then by value: sorting
// whole "name=value" pairs would put "a-b=" before "a=".
func canonicalQuery(raw, omit string) string {
	params := slices.DeleteFunc(parseQuery(raw), func(p param) bool { return omit != "" && p.name == omit })
	for i, p := range params {
		params[i] = param{Encode(p.name, false), Encode(p.value, false)}
	}
	slices.SortFunc(params, func(a, b param) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.value, b.value))
	})
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p.name)
		b.WriteByte('=')
		b.WriteString(p.value)
	}
	return b.String()
}

// canonicalURI returns the path for the signature. For the two object stores it is encoded once. For every other
// service it is the sent path, encoded again, so that colons in an ARN may be sent escaped or unescaped.
func canonicalURI(r *http.Request, service string) string {
	path := cmp.Or(r.URL.Path, "/")
	if service == "s3" || service == "storage" {
		return Encode(path, true)
	}
	if sent := r.URL.EscapedPath(); sent != "" {
		path = sent
	}
	return Encode(path, true)
}

// canonicalHeaders are the signed headers as "name:value\n" lines. A signed header that the request lacks has
// an empty value, which is how it was signed if it was signed at all.
func canonicalHeaders(r *http.Request, service string, signed []string) string {
	var b strings.Builder
	for _, name := range signed {
		b.WriteString(name)
		b.WriteByte(':')
		b.WriteString(headerValue(r, service, name))
		b.WriteByte('\n')
	}
	return b.String()
}

func headerValue(r *http.Request, service, name string) string {
	switch name {
	case "host":
		return r.Host
	case "content-length":
		if v := r.Header.Get("Content-Length"); v != "" {
			return v
		}
		return strconv.FormatInt(max(r.ContentLength, 0), 10)
	case "transfer-encoding":
		return strings.Join(r.TransferEncoding, ",")
	}
	values := r.Header.Values(name)
	if service == "storage" {
		// Google folds tabs too ("Canonical requests": whitespace).
		return strings.Join(strings.Fields(strings.Join(values, ",")), " ")
	}
	if len(values) == 1 {
		return squeeze(values[0])
	}
	trimmed := make([]string, len(values))
	for i, v := range values {
		trimmed[i] = squeeze(v)
	}
	return strings.Join(trimmed, ",")
}

// squeeze trims the value and folds runs of spaces into one.
func squeeze(v string) string {
	v = strings.TrimSpace(v)
	if !strings.Contains(v, "  ") {
		return v
	}
	return strings.Join(strings.FieldsFunc(v, func(r rune) bool { return r == ' ' }), " ")
}

// canonicalRequest assembles the canonical request (Signature Version 4, "Create a canonical request").
func canonicalRequest(r *http.Request, service string, signed []string, omitQuery, payloadHash string) string {
	return strings.Join([]string{
		r.Method,
		canonicalURI(r, service),
		canonicalQuery(r.URL.RawQuery, omitQuery),
		canonicalHeaders(r, service, signed),
		strings.Join(signed, ";"),
		payloadHash,
	}, "\n")
}

func stringToSign(algorithm, amzDate string, s scope, canonical string) string {
	return algorithm + "\n" + amzDate + "\n" + s.String() + "\n" + hexSHA256([]byte(canonical))
}
