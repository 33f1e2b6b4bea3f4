// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// field is a field of a form, or its file if file is set.
type field struct {
	name, value string
	file        bool
}

// ofSignature are the placeholders of a presigned URL.
var ofSignature = regexp.MustCompile(`\{(id|credential|expires|signature|wrong)\}`)

// perform sends the request of e: signed by a header, by the URL, as a form, or not at all.
func (w *world) perform(t *testing.T, c aws.Credentials, e *exchange) *httptest.ResponseRecorder {
	t.Helper()
	now := w.clock().UTC()
	for _, text := range []*string{&e.request.path, &e.request.headers, &e.request.body} {
		*text = relative(now, *text)
	}
	if e.session {
		c = aws.Credentials{AccessKeyID: w.known["{key}"], SecretAccessKey: w.known["{secret}"], SessionToken: w.known["{token}"]}
	}
	sum := crc32.ChecksumIEEE([]byte(w.fill(e.request.body)))
	w.known["{crc32}"] = base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
	w.known["{id}"] = c.AccessKeyID
	w.known["{date}"] = now.Format(signedDate)
	w.known["{credential}"] = c.AccessKeyID + "/" + now.Format("20060102") + "/us-east-1/s3/aws4_request"
	w.known["{expires}"] = strconv.FormatInt(now.Add(e.lasts).Unix(), 10)
	w.known["{tomorrow}"] = now.AddDate(0, 0, 1).Format(time.RFC3339)
	w.known["{wrong}"] = strings.Repeat("0", 64)
	switch {
	case e.form != nil:
		return w.serve(w.postForm(t, c, e))
	case ofSignature.MatchString(e.request.path):
		return w.serve(w.presigned(t, c, e))
	case e.anonymous:
		c = aws.Credentials{}
	}
	op := e.request
	op.path, op.headers, op.body = w.fill(op.path), w.fill(op.headers), w.fill(op.body)
	return w.as(t, c, op)
}

// signedDate is the format of dates in signatures.
const signedDate = "20060102T150405Z"

// offset is a time relative to that of the request, as a header or in a document.
var offset = regexp.MustCompile(`\{(now|iso|date)([+-]\d+s)?\}`)

// relative replaces the offsets in s.
func relative(now time.Time, s string) string {
	return offset.ReplaceAllStringFunc(s, func(text string) string {
		parts := offset.FindStringSubmatch(text)
		d, _ := time.ParseDuration(parts[2]) // none is an error, and 0
		formats := map[string]string{"now": http.TimeFormat, "iso": time.RFC3339, "date": signedDate}
		return now.Add(d).Format(formats[parts[1]])
	})
}

func (w *world) serve(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

// presigned returns a request whose signature, if it has one, is in its URL.
func (w *world) presigned(t *testing.T, c aws.Credentials, e *exchange) *http.Request {
	t.Helper()
	target, _ := endpointOf("http://127.0.0.1", w.fillURL(e.request.path))
	r := httptest.NewRequestWithContext(t.Context(), e.request.method, target, strings.NewReader(w.fill(e.request.body)))
	for line := range strings.SplitSeq(w.fill(e.request.headers), "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok && value != "" {
			r.Header.Add(name, value)
		}
	}
	query, signature := r.URL.Query(), ""
	switch {
	case query.Get("X-Amz-Signature") == "{signature}":
		query.Del("X-Amz-Signature")
		signature = presignedV4(c, r, query)
	case query.Get("Signature") == "{signature}":
		query.Del("Signature")
		signature = version2(c.SecretAccessKey, presignedV2(r, query))
	}
	r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "{signature}", url.QueryEscape(signature), 1)
	return r
}

// fillURL escapes the values of the names in a URL.
func (w *world) fillURL(path string) string {
	return placeholder.ReplaceAllStringFunc(path, func(name string) string {
		if v, ok := w.known[name]; ok {
			return url.QueryEscape(v)
		}
		return name
	})
}

// presignedV4 is the signature of a URL ("Authenticating Requests: Using Query Parameters" in the Amazon S3 API Reference).
func presignedV4(c aws.Credentials, r *http.Request, query url.Values) string {
	var headers strings.Builder
	names := query.Get("X-Amz-SignedHeaders")
	for name := range strings.SplitSeq(names, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), strings.ReplaceAll(query.Encode(), "+", "%20"), headers.String(), names, "UNSIGNED-PAYLOAD"}, "\n")
	sum := sha256.Sum256([]byte(canonical))
	date := query.Get("X-Amz-Date")
	if date == "" {
		return "" // S3 does not get to the signature
	}
	return signV4(c, date[:8], strings.Join([]string{"AWS4-HMAC-SHA256", date, date[:8] + "/us-east-1/s3/aws4_request", hex.EncodeToString(sum[:])}, "\n"))
}

func signV4(c aws.Credentials, day, text string) string {
	key := mac(mac(mac(mac([]byte("AWS4"+c.SecretAccessKey), day), "us-east-1"), "s3"), "aws4_request")
	return hex.EncodeToString(mac(key, text))
}

// ofResource are the parameters that Signature Version 2 covers and that occur in recordings.
var ofResource = []string{"acl", "partNumber", "tagging", "uploadId", "uploads", "versionId"}

// presignedV2 is the text that the signature of a URL covers ("Signing and authenticating REST requests" in the Amazon S3
// Developer Guide). Headers may be parameters of the URL.
func presignedV2(r *http.Request, query url.Values) string {
	headers := map[string]string{}
	for name := range query {
		headers[strings.ToLower(name)] = query.Get(name)
	}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	text := strings.Join([]string{r.Method, headers["content-md5"], headers["content-type"], query.Get("Expires"), ""}, "\n")
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if strings.HasPrefix(name, "x-amz-") {
			text += name + ":" + strings.TrimSpace(headers[name]) + "\n"
		}
	}
	text += r.URL.EscapedPath()
	separator := "?"
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(ofResource, name) && !strings.HasPrefix(name, "response-") {
			continue
		}
		text += separator + name
		if value := query.Get(name); value != "" {
			text += "=" + value
		}
		separator = "&"
	}
	return text
}

// postForm returns a browser upload. A policy that is JSON is encoded.
func (w *world) postForm(t *testing.T, c aws.Credentials, e *exchange) *http.Request {
	t.Helper()
	policy := ""
	for _, f := range e.form {
		if f.name == "policy" {
			if policy = w.fill(f.value); strings.HasPrefix(policy, "{") {
				policy = base64.StdEncoding.EncodeToString([]byte(policy))
			}
		}
	}
	var b bytes.Buffer
	out := multipart.NewWriter(&b)
	for _, f := range e.form {
		value := w.fill(f.value)
		switch {
		case f.file:
			part, err := out.CreateFormFile("file", f.name)
			wantNoError(t, err)
			_, err = part.Write([]byte(value))
			wantNoError(t, err)
			continue
		case f.name == "policy":
			value = policy
		case value == "{signature}" && f.name == "signature":
			value = version2(c.SecretAccessKey, policy)
		case value == "{signature}":
			value = signV4(c, w.known["{date}"][:8], policy)
		}
		wantNoError(t, out.WriteField(f.name, value))
	}
	wantNoError(t, out.Close())
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+w.fill(e.request.path), &b)
	r.Header.Set("Content-Type", out.FormDataContentType())
	return r
}
