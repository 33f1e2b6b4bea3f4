// SPDX-License-Identifier: Apache-2.0

package checksum

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// Piece contains the checksum and the size in bytes of one part of a multipart object.
type Piece struct {
	Sum  []byte
	Size int64
}

// Composite reports whether the algorithm supports a composite checksum, computed from the checksums of the parts.
func (a Algorithm) Composite() bool { return a != CRC64NVME }

// Compose returns the composite checksum of an object: the checksum of the parts' checksums, and the number of parts.
func (a Algorithm) Compose(pieces []Piece) string {
	h := a.New()
	for _, p := range pieces {
		_, _ = h.Write(p.Sum) // a hash never fails
	}
	return fmt.Sprintf("%s-%d", Encode(h), len(pieces))
}

// Combine returns the checksum of the whole object, computed from the checksums and sizes of its parts. It works for
// CRCs only; see FullObject.
func (a Algorithm) Combine(pieces []Piece) string {
	polynomial, width := a.crc()
	var crc uint64
	for i, p := range pieces {
		next := value(p.Sum)
		if i == 0 {
			crc = next
			continue
		}
		crc = shift(crc, p.Size, polynomial, width) ^ next
	}
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], crc)
	return base64.StdEncoding.EncodeToString(raw[8-width/8:])
}

// crc returns the reflected polynomial and its width in bits.
func (a Algorithm) crc() (polynomial uint64, width int) {
	switch a {
	case CRC32C:
		return 0x82F63B78, 32
	case CRC64NVME:
		return 0x9A6C9329AC4BC9B5, 64
	}
	return 0xEDB88320, 32
}

func value(sum []byte) uint64 {
	var v uint64
	for _, b := range sum {
		v = v<<8 | uint64(b)
	}
	return v
}

// matrix is a linear map over GF(2) on registers of up to 64 bits: column i is the image of bit i.
type matrix [64]uint64

func (m *matrix) times(v uint64) uint64 {
	var sum uint64
	for i := 0; v != 0; i, v = i+1, v>>1 {
		if v&1 != 0 {
			sum ^= m[i]
		}
	}
	return sum
}

func (m *matrix) square(width int) matrix {
	var out matrix
	for i := range width {
		out[i] = m.times(m[i])
	}
	return out
}

// shift advances a CRC register over size zero bytes: the effect that later bytes have on an earlier CRC.
func shift(crc uint64, size int64, polynomial uint64, width int) uint64 {
	var m matrix
	m[0] = polynomial
	for i := 1; i < width; i++ {
		m[i] = 1 << (i - 1)
	}
	for range 3 {
		m = m.square(width)
	}
	for ; size > 0; size >>= 1 {
		if size&1 != 0 {
			crc = m.times(crc)
		}
		m = m.square(width)
	}
	return crc
}
