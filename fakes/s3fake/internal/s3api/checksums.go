// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/checksum"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// The two types of checksums of multipart objects.
const (
	fullObject = "FULL_OBJECT"
	composite  = "COMPOSITE"
)

// wanted is the additional checksum that a request asks for.
type wanted struct {
	Algorithm checksum.Algorithm
	// Value is the client's checksum, or "" if only the algorithm is given or Trailer is set.
	Value string
	// Trailer is the trailing header that will carry the value.
	Trailer string
}

func badChecksum(a checksum.Algorithm) *awserr.Error {
	return awserr.New(http.StatusBadRequest, "BadDigest", "The "+string(a)+" you specified did not match the calculated checksum.")
}

var errManyChecksums = invalidRequest("Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.")

// checksumHeader reads x-amz-checksum-*, x-amz-trailer and x-amz-sdk-checksum-algorithm.
func (q *request) checksumHeader() (wanted, error) {
	w := wanted{}
	for _, a := range checksum.All() {
		v, sent := q.sent(a.Header())
		if !sent {
			continue
		}
		if w.Algorithm != "" {
			return w, errManyChecksums
		}
		w.Algorithm, w.Value = a, v
	}
	if w.Algorithm != "" && !w.Algorithm.Valid(w.Value) {
		return w, invalidRequest("Value for " + w.Algorithm.Header() + " header is invalid.")
	}
	if err := q.unknownChecksumHeader(); err != nil {
		return w, err
	}
	if t := strings.ToLower(strings.TrimSpace(q.header("X-Amz-Trailer"))); t != "" {
		a, ok := checksum.Parse(strings.TrimPrefix(t, "x-amz-checksum-"))
		switch {
		case !ok || !strings.HasPrefix(t, "x-amz-checksum-"):
			return w, invalidRequest("The value specified in the x-amz-trailer header is not supported")
		case w.Value != "":
			return w, errManyChecksums
		}
		w.Algorithm, w.Trailer = a, t
	}
	return w, q.sdkAlgorithm(&w)
}

// sent returns the value of a header, and whether the client sent it, even if empty. The name is in lower case.
func (q *request) sent(name string) (string, bool) {
	if q.form != nil {
		v, ok := q.form[name]
		return v, ok
	}
	values := q.r.Header.Values(name)
	if len(values) == 0 {
		return "", false
	}
	return values[0], true
}

func (q *request) unknownChecksumHeader() error {
	if q.form != nil {
		return nil
	}
	for name := range q.r.Header {
		rest, ok := strings.CutPrefix(strings.ToLower(name), "x-amz-checksum-")
		if !ok || rest == "mode" || rest == "type" || rest == "algorithm" {
			continue
		}
		if _, known := checksum.Parse(rest); !known {
			return invalidRequest("The algorithm type you specified in x-amz-checksum- header is invalid.")
		}
	}
	return nil
}

// sdkAlgorithm compares x-amz-sdk-checksum-algorithm with the checksum in the request.
func (q *request) sdkAlgorithm(w *wanted) error {
	v := q.header("X-Amz-Sdk-Checksum-Algorithm")
	if v == "" {
		return nil
	}
	a, ok := checksum.Parse(v)
	switch {
	case !ok || w.Algorithm != "" && w.Algorithm != a:
		return invalidRequest("Value for x-amz-sdk-checksum-algorithm header is invalid.")
	case w.Algorithm == "" && q.op.upload:
		return invalidRequest("x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found.")
	}
	return nil
}

// algorithmHeader reads x-amz-checksum-algorithm, "" when it is absent.
func (q *request) algorithmHeader() (checksum.Algorithm, error) {
	v := q.header("X-Amz-Checksum-Algorithm")
	if v == "" {
		return "", nil
	}
	a, ok := checksum.Parse(v)
	if !ok {
		return "", invalidRequest("Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, MD5, SHA1, SHA256, SHA512, XXHASH128, XXHASH3, XXHASH64]")
	}
	return a, nil
}

// showChecksum sets the checksum headers of a response.
func (q *request) showChecksum(c store.Checksum) {
	if c.Algorithm == "" || c.Value == "" {
		return
	}
	h := q.w.Header()
	h.Set(checksum.Algorithm(c.Algorithm).Header(), c.Value)
	if c.Type != "" {
		h.Set("X-Amz-Checksum-Type", c.Type)
	}
}

// algorithm writes the algorithm and the type of a checksum.
func (d *document) algorithm(c store.Checksum) *document {
	return d.optional("ChecksumAlgorithm", c.Algorithm).optional("ChecksumType", c.Type)
}

// checksum writes <ChecksumCRC32>... elements.
func (d *document) checksum(c store.Checksum) *document {
	if c.Value == "" {
		return d
	}
	return d.text("Checksum"+c.Algorithm, c.Value)
}
