// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the protocol's hash, not a protection of ours
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/checksum"
)

// castagnoli is the polynomial of CRC32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// received is a body that was read and kept.
type received struct {
	segment store.Segment
	size    int64
	md5     []byte
	crc     uint32
	// checksum is the one that an SDK of S3 has sent, as header=value.
	checksum string
}

// receive reads a body into the store. The caller must then keep or discard it.
func (a *API) receive(src io.Reader) (received, error) {
	w := a.store.Body()
	h := md5.New() //nolint:gosec // see the import
	sum := &crcWriter{}
	n, err := io.Copy(io.MultiWriter(w, h, sum), src)
	if err != nil {
		return received{}, errors.Join(readError(err), w.Abort())
	}
	id, err := w.Commit()
	if err != nil {
		return received{}, err
	}
	return received{segment: store.Segment{ID: id, Size: n}, size: n, md5: h.Sum(nil), crc: sum.crc}, nil
}

// readError is the response to a body that did not arrive as announced.
func readError(err error) error {
	if e, ok := errors.AsType[*awserr.Error](err); ok {
		return e
	}
	return gcserr.New(http.StatusBadRequest, "invalid", "IncompleteBody", "The request body terminated unexpectedly.")
}

type crcWriter struct{ crc uint32 }

func (c *crcWriter) Write(p []byte) (int, error) {
	c.crc = crc32.Update(c.crc, castagnoli, p)
	return len(p), nil
}

// encodeCRC is a CRC32C as it travels: big-endian, in base64.
func encodeCRC(crc uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc))
}

// checkSums compares a body with the sums that a client sent with it, "" for none.
func (b received) checkSums(md5sum, crc string) error {
	if got := base64.StdEncoding.EncodeToString(b.md5); md5sum != "" && md5sum != got {
		return gcserr.BadDigest.Say("Provided MD5 hash \"%s\" doesn't match calculated MD5 hash \"%s\".", md5sum, got)
	}
	if got := encodeCRC(b.crc); crc != "" && crc != got {
		return gcserr.BadDigest.Say("Provided CRC32C \"%s\" doesn't match calculated CRC32C \"%s\".", crc, got)
	}
	return nil
}

// objectSums returns the checksums of the whole object in x-goog-hash, even if the request contains only a part of
// it. Content-MD5 is the checksum of the request's body.
func objectSums(h http.Header) (md5sum, crc string) {
	return headerSums(http.Header{"X-Goog-Hash": h.Values("X-Goog-Hash")})
}

// headerSums are the sums in Content-MD5 and x-goog-hash.
func headerSums(h http.Header) (md5sum, crc string) {
	md5sum = h.Get("Content-Md5")
	for _, line := range h.Values("X-Goog-Hash") {
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch name {
			case "md5":
				md5sum = value
			case "crc32c":
				crc = value
			}
		}
	}
	return md5sum, crc
}

// readAll reads a document into memory, up to a size.
func readAll(r io.Reader, most int64) ([]byte, error) {
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return nil, readError(err)
	case n > most:
		return nil, gcserr.TooLarge
	}
	return b.Bytes(), nil
}

// combineCRC is the CRC32C of two bodies, one after the other.
func combineCRC(first, second uint32, secondSize int64) uint32 {
	pieces := []checksum.Piece{{Sum: binary.BigEndian.AppendUint32(nil, first)}, {Sum: binary.BigEndian.AppendUint32(nil, second), Size: secondSize}}
	raw, err := base64.StdEncoding.DecodeString(checksum.CRC32C.Combine(pieces))
	if err != nil { // it was just encoded
		return 0
	}
	return binary.BigEndian.Uint32(raw)
}
