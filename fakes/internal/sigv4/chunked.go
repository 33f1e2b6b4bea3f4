// SPDX-License-Identifier: Apache-2.0

package sigv4

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

const (
	// minChunk is the smallest chunk that may be followed by another one.
	minChunk = 8192
	// maxLine bounds a chunk header or trailer line; the longest legal one is a few hundred bytes.
	maxLine = 4096

	// maxExcess is how much more than announced is read, to tell broken framing from a wrong length.
	maxExcess = 16 << 20

	chunkSignature   = "chunk-signature="
	trailerSignature = "x-amz-trailer-signature"
)

// chunked decodes "aws-chunked" framing: <hex size>[;chunk-signature=<sig>]\r\n<data>\r\n ... 0 ...\r\n
// [trailer lines]\r\n. With a signature (v is set) each chunk's signature is chained to the one before it.
type chunked struct {
	src      *bufio.Reader
	v        *Verified
	size     int64
	done     int64
	trailing bool
	announce string

	left     int64
	chunks   int
	small    int64
	wantSig  string
	previous string
	hash     hash.Hash
	trailers map[string]string
	err      error
}

// readers are shared by all bodies: one for each was most of the garbage of a small upload.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxLine) }}

func newChunked(r *http.Request, v *Verified, size int64, trailing bool) *chunked {
	c := &chunked{
		src: readers.Get().(*bufio.Reader), v: v, size: size, trailing: trailing,
		announce: strings.ToLower(strings.TrimSpace(r.Header.Get("X-Amz-Trailer"))),
	}
	c.src.Reset(r.Body)
	if v != nil {
		c.previous, c.hash = v.signature, sha256.New()
	}
	return c
}

func (c *chunked) Size() int64                { return c.size }
func (c *chunked) Trailer(name string) string { return c.trailers[name] }

// Read implements io.Reader. After an error, all further calls return the same error, because another body may then
// use the underlying reader.
func (c *chunked) Read(p []byte) (int, error) {
	if len(p) == 0 || c.err != nil {
		return 0, c.err
	}
	n, err := c.read(p)
	if c.err = err; err != nil {
		c.src.Reset(nil)
		readers.Put(c.src)
		c.src = nil
	}
	return n, err
}

func (c *chunked) read(p []byte) (int, error) {
	for c.left == 0 {
		if err := c.nextChunk(); err != nil {
			return 0, err
		}
	}
	n, err := c.src.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	c.done += int64(n)
	if c.hash != nil {
		c.hash.Write(p[:n])
	}
	switch {
	case err != nil:
		return n, errIncomplete
	case c.left == 0:
		return n, c.endChunk()
	}
	return n, nil
}

// nextChunk reads a chunk header. At the last chunk it reads the end of the body and returns io.EOF.
func (c *chunked) nextChunk() error {
	line, err := c.line()
	if err != nil {
		return err
	}
	hexSize, extension, hasExtension := strings.Cut(line, ";")
	size, err := strconv.ParseUint(hexSize, 16, 62)
	if err != nil || hexSize == "" {
		return errIncomplete
	}
	if c.v != nil {
		sig, ok := strings.CutPrefix(extension, chunkSignature)
		if !hasExtension || !ok || len(sig) != sha256.Size*2 {
			return errIncomplete
		}
		c.wantSig = sig
		c.hash.Reset()
	}
	if size == 0 {
		return c.finish()
	}
	c.chunks++
	if c.small > 0 {
		return awserr.New(http.StatusBadRequest, "InvalidChunkSizeError",
			"Only the last chunk is allowed to have a size less than 8192 bytes").
			With("Chunk", strconv.Itoa(c.chunks)).With("BadChunkSize", strconv.FormatInt(c.small, 10))
	}
	if size < minChunk {
		c.small = int64(size)
	}
	c.left = int64(size)
	if c.done+c.left > c.size+maxExcess {
		return errLength
	}
	return nil
}

// endChunk checks the delimiter and the signature after a chunk's data.
func (c *chunked) endChunk() error {
	if err := c.crlf(); err != nil {
		return err
	}
	return c.checkChunk()
}

func (c *chunked) checkChunk() error {
	if c.v == nil {
		return nil
	}
	toSign := strings.Join([]string{
		"AWS4-HMAC-SHA256-PAYLOAD", c.v.amzDate, c.v.scope.String(), c.previous,
		EmptySHA256, hex.EncodeToString(c.hash.Sum(nil)),
	}, "\n")
	return c.advance(toSign, c.wantSig)
}

// advance compares one link of the signature chain and makes it the previous one.
func (c *chunked) advance(toSign, provided string) error {
	want := sign(c.v.key, toSign)
	if !equalSignature(want, provided) {
		return mismatch(c.v.AccessKeyID, toSign, provided)
	}
	c.previous = want
	return nil
}

// finish reads the data after the chunk of size 0.
func (c *chunked) finish() error {
	if err := c.checkChunk(); err != nil {
		return err
	}
	if c.v == nil && c.done != c.size {
		return errLength
	}
	if c.trailing {
		if err := c.readTrailers(); err != nil {
			return err
		}
	} else if err := c.crlf(); err != nil {
		return err
	}
	if c.done != c.size {
		return errLength
	}
	if _, err := c.src.ReadByte(); err == nil {
		return errIncomplete
	}
	return io.EOF
}

// readTrailers reads trailing headers up to the empty line and compares them with x-amz-trailer.
func (c *chunked) readTrailers() error {
	c.trailers = map[string]string{}
	signed := strings.Builder{}
	signature := ""
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case !ok || name == "":
			return errTrailer
		case name == trailerSignature:
			signature = strings.TrimSpace(value)
			if c.v != nil {
				return c.endTrailers(signed.String(), signature)
			}
		case c.v != nil && len(c.trailers) > 0:
			return errIncomplete // the trailer of a signed body is followed by its signature
		case len(c.trailers) > 0 || name != c.announce:
			return errTrailer
		default:
			c.trailers[name] = strings.TrimSpace(value)
			signed.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
		}
	}
	return c.endTrailers(signed.String(), signature)
}

func (c *chunked) endTrailers(signed, signature string) error {
	if c.announce != "" && len(c.trailers) == 0 {
		return errTrailer
	}
	if c.v == nil {
		return nil
	}
	if len(signature) != sha256.Size*2 {
		return errIncomplete
	}
	toSign := strings.Join([]string{
		"AWS4-HMAC-SHA256-TRAILER", c.v.amzDate, c.v.scope.String(), c.previous,
		hexSHA256([]byte(signed)),
	}, "\n")
	if err := c.advance(toSign, signature); err != nil {
		return err
	}
	return c.crlf()
}

// line reads up to "\r\n". Some clients end a trailer line with "\n\r\n"; the lone "\n" is dropped.
func (c *chunked) line() (string, error) {
	raw, err := c.src.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) || err != nil {
		return "", errIncomplete
	}
	if s, ok := strings.CutSuffix(string(raw), "\r\n"); ok {
		return s, nil
	}
	if len(raw) > 1 && c.trailers != nil {
		return string(raw[:len(raw)-1]), nil
	}
	return "", errIncomplete
}

func (c *chunked) crlf() error {
	for _, want := range []byte("\r\n") {
		if b, err := c.src.ReadByte(); err != nil || b != want {
			return errIncomplete
		}
	}
	return nil
}
