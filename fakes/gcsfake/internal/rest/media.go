// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// span is a range of bytes: from first, length bytes.
type span struct{ first, length int64 }

// rangeOf parses a Range header; partial is false for the whole object. Anything other than a single byte range is
// ignored (RFC 9110, section 14.2).
func rangeOf(header string, size int64) (s span, partial bool, err error) {
	whole := span{0, size}
	text, ok := strings.CutPrefix(header, "bytes=")
	from, to, isRange := strings.Cut(text, "-")
	if !ok || !isRange || strings.Contains(text, ",") {
		return whole, false, nil
	}
	if from == "" {
		n, err := strconv.ParseInt(to, 10, 64)
		if err != nil {
			return whole, false, nil
		}
		if n == 0 || size == 0 {
			return whole, false, gcserr.Range
		}
		n = min(n, size)
		return span{size - n, n}, true, nil
	}
	first, err := strconv.ParseInt(from, 10, 64)
	if err != nil {
		return whole, false, nil
	}
	if first >= size {
		return whole, false, gcserr.Range
	}
	last := size - 1
	if to != "" {
		if last, err = strconv.ParseInt(to, 10, 64); err != nil || last < first {
			return whole, false, nil
		}
		last = min(last, size-1)
	}
	return span{first, last - first + 1}, true, nil
}

// xmlETag returns the etag of the XML API: the MD5 of the body in hex, if it is visible to everyone.
func xmlETag(o *store.Object) string {
	if o.MD5 != nil && o.CustomerKey == "" {
		return `"` + hex.EncodeToString(o.MD5) + `"`
	}
	return `"-` + o.ETag() + `"`
}

// objectHeaders are the headers of an object's media.
func (c *Call) objectHeaders(h http.Header, o *store.Object) {
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	contentType := cmp.Or(o.ContentType, "application/octet-stream")
	set("Content-Type", contentType)
	if o.ContentEncoding != "identity" { // not sent (recorded by gocloud.dev v0.46.0)
		set("Content-Encoding", o.ContentEncoding)
	}
	set("Content-Language", o.ContentLanguage)
	set("Content-Disposition", o.ContentDisposition)
	set("Cache-Control", o.CacheControl)
	set("Last-Modified", o.Updated.UTC().Format(http.TimeFormat))
	h.Set("Accept-Ranges", "bytes")
	h.Set("ETag", o.ETag())
	h.Set("X-Goog-Generation", strconv.FormatInt(o.Generation, 10))
	h.Set("X-Goog-Metageneration", strconv.FormatInt(o.Metageneration, 10))
	h.Set("X-Goog-Stored-Content-Length", strconv.FormatInt(o.Size, 10))
	h.Set("X-Goog-Storage-Class", o.StorageClass)
	if o.ContentEncoding == "gzip" {
		h.Set("Vary", "Accept-Encoding")
	}
	encoding := cmp.Or(o.ContentEncoding, "identity")
	h.Set("X-Goog-Stored-Content-Encoding", encoding)
	if c.showsSums(o) {
		h["X-Goog-Hash"] = c.sums(o.CRC32C, o.MD5)
	}
	keyHeaders(h, o)
	if o.Components > 0 {
		h.Set("X-Goog-Component-Count", strconv.Itoa(o.Components))
	}
	if c.flavour == inXML {
		h.Set("ETag", xmlETag(o))
	}
}

// sums returns the values of x-goog-hash. The XML API sends one header for each sum, the JSON API one header for both.
func (c *Call) sums(crc uint32, md5 []byte) []string {
	sums := []string{"crc32c=" + encodeCRC(crc)}
	if md5 != nil {
		sums = append(sums, "md5="+base64.StdEncoding.EncodeToString(md5))
	}
	if c.flavour == inXML {
		return sums
	}
	return []string{strings.Join(sums, ",")}
}

// serveMedia sends an object's body, or a range of it.
func (c *Call) serveMedia(w http.ResponseWriter, o *store.Object) error {
	release, err := c.api.store.Open(o)
	if err != nil {
		return err
	}
	defer release()
	if transcodes(c.r, o) && c.isGzip(o) {
		return c.serveDecompressed(w, o)
	}
	s, partial, err := rangeOf(c.r.Header.Get("Range"), o.Size)
	if err != nil {
		w.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(o.Size, 10))
		refused := *gcserr.From(err)
		refused.Details = c.r.Header.Get("Range")
		return &refused
	}
	w.Header().Set("Content-Length", strconv.FormatInt(s.length, 10))
	status := http.StatusOK
	if partial {
		status = http.StatusPartialContent
		w.Header().Set("Content-Range", "bytes "+strconv.FormatInt(s.first, 10)+"-"+strconv.FormatInt(s.first+s.length-1, 10)+"/"+strconv.FormatInt(o.Size, 10))
	}
	w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_ = c.api.store.Read(w, o.Segments, s.first, s.length) // the response has begun: the client sees it end too early
	}
	return nil
}
