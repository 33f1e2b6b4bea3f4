// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/xml"
	"hash"
	"io"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/internal/checksum"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

// s3Sum is a body with the checksums that the SDKs of S3 send with it, in a header or behind the body.
type s3Sum struct {
	io.Reader
	body   sigv4.Body
	header string
	want   string
	hash   hash.Hash
}

// s3Sums reads x-amz-checksum-* and x-amz-trailer.
func (c *Call) s3Sums(body sigv4.Body) (*s3Sum, error) {
	out := &s3Sum{Reader: body, body: body}
	for name, values := range c.r.Header {
		lower := strings.ToLower(name)
		if lower == "x-amz-trailer" {
			lower, values = strings.ToLower(strings.TrimSpace(values[0])), []string{""}
		} else if !strings.HasPrefix(lower, "x-amz-checksum-") {
			continue
		}
		algorithm, ok := checksum.Parse(strings.TrimPrefix(lower, "x-amz-checksum-"))
		switch {
		case !ok:
			return nil, c.unserved("checksum", lower)
		case out.hash != nil:
			return nil, gcserr.Invalid.Say("Expecting a single x-amz-checksum- header.")
		}
		out.header, out.want, out.hash = lower, values[0], algorithm.New()
		out.Reader = io.TeeReader(body, out.hash)
	}
	return out, nil
}

// sent is the checksum as the parts of an upload remember it.
func (s *s3Sum) sent() string {
	if s.hash == nil {
		return ""
	}
	return s.header + "=" + checksum.Encode(s.hash)
}

// partSum is the checksum of a part in the document that completes an upload.
type partSum struct {
	XMLName xml.Name
	Value   string `xml:",chardata"`
}

// is compares it with the checksum that was sent with the part.
func (p partSum) is(sent string) bool {
	return "x-amz-checksum-"+strings.ToLower(strings.TrimPrefix(p.XMLName.Local, "Checksum"))+"="+p.Value == sent
}

// check compares the checksum with the body, once that is read.
func (s *s3Sum) check() error {
	if s.hash == nil {
		return nil
	}
	if s.want == "" {
		s.want = s.body.Trailer(s.header)
	}
	if got := checksum.Encode(s.hash); s.want != got {
		return gcserr.BadDigest.Say("Provided %s %q doesn't match calculated %q.", s.header, s.want, got)
	}
	return nil
}
