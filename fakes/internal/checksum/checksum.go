// SPDX-License-Identifier: Apache-2.0

// Package checksum computes the additional checksums of Amazon S3 (x-amz-checksum-*), either of a whole object or
// composed from the checksums of its parts. It defines the names and sizes of the checksums. It does not read them
// from requests or write them to responses.
package checksum

import (
	"crypto/md5"  //nolint:gosec // an algorithm of the protocol, not a protection of ours
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"
)

// Algorithm is the upper-case name of a checksum algorithm, for example CRC32C.
type Algorithm string

// The algorithms that S3 accepts ("Checking object integrity for data uploads" in the Amazon S3 User Guide).
const (
	CRC32     Algorithm = "CRC32"
	CRC32C    Algorithm = "CRC32C"
	CRC64NVME Algorithm = "CRC64NVME"
	SHA1      Algorithm = "SHA1"
	SHA256    Algorithm = "SHA256"
	SHA512    Algorithm = "SHA512"
	MD5       Algorithm = "MD5"
	XXHash64  Algorithm = "XXHASH64"
	XXHash3   Algorithm = "XXHASH3"
	XXHash128 Algorithm = "XXHASH128"
)

// nvme is the polynomial of CRC64NVME, reversed, from the NVM Express NVM Command Set Specification.
const nvme = 0x9a6c9329ac4bc9b5

// All lists the algorithms in a fixed order.
func All() []Algorithm {
	return []Algorithm{CRC32, CRC32C, CRC64NVME, SHA1, SHA256, SHA512, MD5, XXHash64, XXHash3, XXHash128}
}

// Parse returns the algorithm with a name in upper or lower case. ok is false if there is none.
func Parse(name string) (a Algorithm, ok bool) {
	a = Algorithm(strings.ToUpper(name))
	return a, a.New() != nil
}

// Header returns the request and response header of the algorithm, in lower case.
func (a Algorithm) Header() string { return "x-amz-checksum-" + strings.ToLower(string(a)) }

// FullObjectOnly reports whether the algorithm supports only a checksum of the whole object.
func (a Algorithm) FullObjectOnly() bool { return a == CRC64NVME }

// FullObject reports whether the algorithm supports a checksum of a whole multipart object. This requires that the
// checksums of the parts can be combined.
func (a Algorithm) FullObject() bool { return a == CRC32 || a == CRC32C || a == CRC64NVME }

// New returns a new hash, or nil for an unknown algorithm.
func (a Algorithm) New() hash.Hash {
	switch a {
	case CRC32:
		return crc32.NewIEEE()
	case CRC32C:
		return crc32.New(crc32.MakeTable(crc32.Castagnoli))
	case CRC64NVME:
		return crc64.New(crc64.MakeTable(nvme))
	case SHA1:
		return sha1.New() //nolint:gosec // see the import
	case SHA256:
		return sha256.New()
	case SHA512:
		return sha512.New()
	case MD5:
		return md5.New() //nolint:gosec // see the import
	case XXHash64:
		return xxhash.New()
	case XXHash3:
		return xxh3.New()
	case XXHash128:
		return xxh128{xxh3.New()}
	}
	return nil
}

// Valid reports whether value is a base64-encoded checksum of the right length.
func (a Algorithm) Valid(value string) bool {
	raw, err := base64.StdEncoding.DecodeString(value)
	h := a.New()
	return err == nil && h != nil && len(raw) == h.Size()
}

// Encode returns the sum of a hash in base64, as in requests and responses.
func Encode(h hash.Hash) string { return base64.StdEncoding.EncodeToString(h.Sum(nil)) }

// xxh128 makes the 128-bit sum of XXH3 a hash.Hash.
type xxh128 struct{ *xxh3.Hasher }

func (x xxh128) Size() int { return 16 }

func (x xxh128) Sum(b []byte) []byte {
	s := x.Sum128()
	b = binary.BigEndian.AppendUint64(b, s.Hi)
	return binary.BigEndian.AppendUint64(b, s.Lo)
}
