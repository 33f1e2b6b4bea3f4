// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// signature signs requests with AWS Signature Version 4, in the form that S3 and the XML API of Google Cloud Storage
// accept: it covers all relevant headers and the hash of the body.
type signature struct {
	accessKey, secretKey, region string
}

func (s signature) sign(request *http.Request, body []byte, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	scope := strings.Join([]string{stamp[:8], s.region, "s3", "aws4_request"}, "/")
	hash := hexHash(body)
	request.Header.Set("X-Amz-Date", stamp)
	request.Header.Set("X-Amz-Content-Sha256", hash)

	names := []string{"host"}
	for name := range request.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") || name == "content-type" || name == "content-md5" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, name := range names {
		value := request.Header.Get(name)
		if name == "host" {
			value = request.URL.Host
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	signed := strings.Join(names, ";")
	canonical := strings.Join([]string{
		request.Method, escapePath(request.URL.Path), canonicalQuery(request.URL.Query()), headers.String(), signed, hash,
	}, "\n")
	toSign := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, hexHash([]byte(canonical))}, "\n")

	key := []byte("AWS4" + s.secretKey)
	for _, part := range []string{stamp[:8], s.region, "s3", "aws4_request", toSign} {
		key = keyed(key, part)
	}
	request.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		s.accessKey, scope, signed, hex.EncodeToString(key)))
}

func keyed(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func hexHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// canonicalQuery returns the query sorted and escaped as AWS requires: space is %20, not +.
func canonicalQuery(query url.Values) string {
	var pairs []string
	for name, values := range query {
		for _, value := range values {
			pairs = append(pairs, escape(name)+"="+escape(value))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

func escapePath(path string) string {
	if path == "" {
		return "/"
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = escape(part)
	}
	return strings.Join(parts, "/")
}

// escape escapes everything except RFC 3986's unreserved characters.
func escape(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(text), "+", "%20"), "%7E", "~")
}
