// SPDX-License-Identifier: Apache-2.0

package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// Body is a request body. It verifies its signature, hash and framing while it is read. If a read ends with an error
// other than io.EOF, the error is an *awserr.Error for the response. The caller must then discard everything that it
// has read.
type Body interface {
	io.Reader
	// Size returns the length of the payload in bytes, or -1 if the client did not specify it.
	Size() int64
	// Trailer returns a trailing header by its lower-case name. Trailers are complete after io.EOF.
	Trailer(name string) string
}

var (
	errIncomplete = awserr.New(http.StatusBadRequest, "IncompleteBody", "The request body terminated unexpectedly")
	errLength     = awserr.New(http.StatusBadRequest, "IncompleteBody",
		"You did not provide the number of bytes specified by the Content-Length HTTP header")
	errTrailer = awserr.New(http.StatusBadRequest, "MalformedTrailerError",
		"The request contained trailing data that was not well-formed or did not conform to our published schema.")
	errNoLength = awserr.New(http.StatusLengthRequired, "MissingContentLength",
		"You must provide the Content-Length HTTP header.")
	errAnonymousStreaming = awserr.New(http.StatusBadRequest, "InvalidRequest",
		"Anonymous requests don't support this x-amz-content-sha256 value. Please use UNSIGNED-PAYLOAD or STREAMING-UNSIGNED-PAYLOAD-TRAILER.")
)

// IsStreaming reports whether a value of x-amz-content-sha256 announces a chunked body.
func IsStreaming(payloadHash string) bool { return strings.HasPrefix(payloadHash, "STREAMING-") }

// NewBody returns the payload in r's body. It removes the chunk framing and verifies hashes and signatures. v is nil
// for an anonymous request.
func NewBody(r *http.Request, v *Verified) (Body, error) {
	payload := r.Header.Get("X-Amz-Content-Sha256")
	if v != nil && v.Mode != Form {
		payload = v.PayloadHash
	}
	if !IsStreaming(payload) {
		return newPlainBody(r, v, payload), nil
	}
	if v == nil && payload != StreamingUnsignedTrailer {
		return nil, errAnonymousStreaming
	}
	size, err := strconv.ParseInt(r.Header.Get("X-Amz-Decoded-Content-Length"), 10, 64)
	if err != nil || size < 0 {
		return nil, errNoLength
	}
	switch payload {
	case StreamingUnsignedTrailer:
		return newChunked(r, nil, size, true), nil
	case StreamingSigned, StreamingSignedTrailer:
		return newChunked(r, v, size, payload == StreamingSignedTrailer), nil
	}
	return nil, awserr.New(http.StatusNotImplemented, "NotImplemented",
		"A header you provided implies functionality that is not implemented.").
		With("Header", "x-amz-content-sha256").With("AdditionalMessage", payload)
}

// plainBody is an unframed body, hashed when the signature covers its hash.
type plainBody struct {
	src  io.Reader
	size int64
	read int64
	want string
	hash hash.Hash
}

func newPlainBody(r *http.Request, v *Verified, payload string) *plainBody {
	b := &plainBody{src: r.Body, size: r.ContentLength}
	if r.Body == nil {
		b.src, b.size = http.NoBody, 0
	}
	if v != nil && payload != UnsignedPayload && len(payload) == 64 {
		b.want, b.hash = strings.ToLower(payload), sha256.New()
	}
	return b
}

func (b *plainBody) Size() int64           { return b.size }
func (b *plainBody) Trailer(string) string { return "" }

func (b *plainBody) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	b.read += int64(n)
	if b.hash != nil {
		b.hash.Write(p[:n])
	}
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF && b.size >= 0 && b.read < b.size:
		return n, errLength
	case err != io.EOF:
		return n, errLength
	case b.hash == nil:
		return n, io.EOF
	}
	if got := hex.EncodeToString(b.hash.Sum(nil)); got != b.want {
		return n, hashMismatch(b.want, got)
	}
	return n, io.EOF
}

func hashMismatch(client, computed string) *awserr.Error {
	return awserr.New(http.StatusBadRequest, "XAmzContentSHA256Mismatch",
		"The provided 'x-amz-content-sha256' header does not match what was computed.").
		With("ClientComputedContentSHA256", client).With("S3ComputedContentSHA256", computed)
}
