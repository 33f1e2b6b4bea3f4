// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// transcodes reports whether an object is decompressed in the response if it is compressed ("Transcoding of
// gzip-compressed files").
func transcodes(r *http.Request, o *store.Object) bool {
	return o.ContentEncoding == "gzip" && !acceptsGzip(listOf(r.Header, "Accept-Encoding")) && !strings.Contains(o.CacheControl, "no-transform")
}

// acceptsGzip reports whether an Accept-Encoding header accepts gzip (RFC 9110, 12.5.3). A weight of 0 excludes a
// coding, and * represents the codings that are not in the list.
func acceptsGzip(header string) bool {
	others := false
	for element := range strings.SplitSeq(header, ",") {
		coding, parameters, _ := strings.Cut(element, ";")
		accepted := true
		for parameter := range strings.SplitSeq(parameters, ";") {
			name, value, _ := strings.Cut(parameter, "=")
			if strings.EqualFold(strings.TrimSpace(name), "q") {
				weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
				accepted = err != nil || weight > 0
			}
		}
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			return accepted
		case "*":
			others = accepted
		}
	}
	return others
}

// inflate decompresses the body of a request that is compressed for transport, as Google's client for Java sends
// documents and simple uploads. In the XML API, the header is an attribute of the object.
func (c *Call) inflate() error {
	coding := c.r.Header.Get("Content-Encoding")
	switch {
	case c.flavour == inXML || coding == "" || coding == "identity" || c.r.ContentLength == 0:
		return nil
	case coding != "gzip" || c.query.Has("upload_id"):
		return c.unserved("header", "content-encoding: "+coding)
	}
	body, err := gzip.NewReader(c.r.Body)
	if err != nil {
		return gcserr.Invalid.Say("The request body is not gzip, although it has the header Content-Encoding: gzip. Compress the body, or remove the header.")
	}
	c.r.Body = body
	return nil
}

// decompress writes the decompressed body of an object. It returns an error if the body is not complete gzip.
func (c *Call) decompress(w io.Writer, o *store.Object) error {
	reader, writer := io.Pipe()
	defer func() { _ = reader.Close() }() // never fails; ends the goroutine
	go func() { writer.CloseWithError(c.api.store.Read(writer, o.Segments, 0, o.Size)) }()
	z, err := gzip.NewReader(reader)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, z) //nolint:gosec // the body is not kept
	return err
}

// isGzip reports whether the body of an object is complete gzip. The service does not decompress a body that only has
// the label. The whole body is read, since an error after the response has begun lets clients retry without end.
func (c *Call) isGzip(o *store.Object) bool { return c.decompress(io.Discard, o) == nil }

func (c *Call) serveDecompressed(w http.ResponseWriter, o *store.Object) error {
	h := w.Header()
	h.Del("Content-Encoding")
	h.Set("Warning", "214 UploadServer gunzipped")
	w.WriteHeader(http.StatusOK)
	if c.r.Method != http.MethodHead {
		_ = c.decompress(w, o) // fails only if the client has disconnected
	}
	return nil
}
