// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

func (q *request) attributesPermissions() []permission {
	read, attributes := versioned("s3:GetObject", "s3:GetObjectVersion"), versioned("s3:GetObjectAttributes", "s3:GetObjectVersionAttributes")
	return append(read(q), attributes(q)...)
}

var attributeNames = []string{"ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"}

func (q *request) wantedAttributes() ([]string, error) {
	var out []string
	for name := range strings.SplitSeq(q.header("X-Amz-Object-Attributes"), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.Contains(attributeNames, name) {
			return nil, invalidArgument("x-amz-object-attributes", name, "Invalid attribute name specified.")
		}
		out = append(out, name)
	}
	if len(out) == 0 {
		return nil, invalidRequest("The x-amz-object-attributes header specifying the attributes to be retrieved is either missing or empty")
	}
	return out, nil
}

func (q *request) getAttributes() error {
	names, err := q.wantedAttributes()
	if err != nil {
		return err
	}
	v, err := q.openObject()
	if err != nil {
		return err
	}
	if err := q.unseal(v.Encryption, objectKey); err != nil {
		return err
	}
	if err := q.decrypt(v.Encryption); err != nil {
		return err
	}
	q.w.Header().Set("Last-Modified", v.Modified.UTC().Format(http.TimeFormat))
	q.versionHeader(v)
	d := newDocument("GetObjectAttributesResponse")
	has := func(name string) bool { return slices.Contains(names, name) }
	if has("ETag") {
		d.text("ETag", v.ETag)
	}
	if has("Checksum") && v.Checksum.Value != "" {
		whole := v.Checksum // without the number of parts
		whole.Value, _, _ = strings.Cut(whole.Value, "-")
		d.start("Checksum").checksum(whole).optional("ChecksumType", v.Checksum.Type).end()
	}
	if has("ObjectParts") && len(v.Parts) > 0 {
		if err := q.attributeParts(d, v); err != nil {
			return err
		}
	}
	if has("StorageClass") {
		d.text("StorageClass", classOf(v.StorageClass))
	}
	if has("ObjectSize") {
		d.int("ObjectSize", v.Size)
	}
	return q.send(d)
}

func classOf(class string) string { return cmp.Or(class, "STANDARD") }

func (q *request) attributeParts(d *document, v *store.Version) error {
	limit, marker := 1000, 0
	var err error
	if s := q.header("X-Amz-Max-Parts"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 0 {
			return invalidArgument("max-parts", s, "Provided max-parts not an integer or within integer range")
		}
		limit = min(limit, 1000)
	}
	if s := q.header("X-Amz-Part-Number-Marker"); s != "" {
		if marker, err = strconv.Atoi(s); err != nil || marker < 0 {
			return invalidArgument("part-number-marker", s, "Provided part-number-marker not an integer or within integer range")
		}
	}
	rest := v.Parts[min(marker, len(v.Parts)):]
	page := rest[:min(limit, len(rest))]
	d.start("ObjectParts").int("PartsCount", int64(len(v.Parts)))
	if v.Checksum.Type == composite { // other parts have no checksums and are not listed
		next := 0
		if len(page) > 0 {
			next = page[len(page)-1].Number
		}
		d.int("PartNumberMarker", int64(marker)).int("NextPartNumberMarker", int64(next)).int("MaxParts", int64(limit)).bool("IsTruncated", len(page) < len(rest))
		for _, p := range page {
			d.start("Part").int("PartNumber", int64(p.Number)).int("Size", p.Size).checksum(p.Checksum).end()
		}
	}
	d.end()
	return nil
}
