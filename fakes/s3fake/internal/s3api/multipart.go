// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/checksum"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

const (
	maxParts = 10000
	// minPart is the smallest part but the last: 5 MiB.
	minPart = 5 << 20
)

func (q *request) createUpload() error {
	guard, err := q.writeConditions()
	if err != nil {
		return err
	}
	attrs, err := q.attributes()
	if err != nil {
		return err
	}
	sum, err := q.uploadChecksum()
	if err != nil {
		return err
	}
	if guard != nil { // only the completion decides: it is not documented that clients also send the condition here
		current, err := q.Store.Get(q.bucket, q.key, "")
		if err != nil {
			current = nil
		}
		if err := guard(current); err != nil {
			return err
		}
	}
	initiator := ""
	if q.principal != nil {
		initiator = q.principal.ARN
	}
	u, err := q.Store.CreateUpload(store.Upload{Attributes: attrs, Bucket: q.bucket, Key: q.key, Initiator: initiator, Checksum: sum})
	if err != nil {
		return err
	}
	if sum.Algorithm != "" {
		q.w.Header().Set("X-Amz-Checksum-Algorithm", sum.Algorithm)
		q.w.Header().Set("X-Amz-Checksum-Type", sum.Type)
	}
	q.showEncryption(attrs.Encryption)
	q.showAbortion(u)
	return q.send(newDocument("InitiateMultipartUploadResult").text("Bucket", q.bucket).text("Key", q.key).text("UploadId", u.ID))
}

// uploadChecksum reads algorithm and type of an upload's checksum.
func (q *request) uploadChecksum() (store.Checksum, error) {
	algorithm, err := q.algorithmHeader()
	if err != nil {
		return store.Checksum{}, err
	}
	kind := strings.ToUpper(q.header("X-Amz-Checksum-Type"))
	switch {
	case kind != "" && kind != fullObject && kind != composite:
		return store.Checksum{}, invalidRequest("Value for x-amz-checksum-type header is invalid.")
	case algorithm == "" && kind != "":
		return store.Checksum{}, invalidRequest("The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.")
	case algorithm == "":
		return store.Checksum{}, nil
	case kind == "" && algorithm.FullObjectOnly():
		kind = fullObject
	case kind == "":
		kind = composite
	}
	if (kind == fullObject && !algorithm.FullObject()) || (kind == composite && !algorithm.Composite()) {
		return store.Checksum{}, invalidRequest("The " + kind + " checksum type cannot be used with the " + strings.ToLower(string(algorithm)) + " checksum algorithm.")
	}
	return store.Checksum{Algorithm: string(algorithm), Type: kind}, nil
}

func (q *request) partNumber() (int, error) {
	n, err := strconv.Atoi(q.param("partNumber"))
	if err != nil || n < 1 || n > maxParts {
		return 0, invalidArgument("partNumber", q.param("partNumber"), "Part number must be an integer between 1 and 10000, inclusive")
	}
	return n, nil
}

func (q *request) uploadPart() error {
	if !q.query.Has("partNumber") {
		return errMethodNotAllowed
	}
	n, err := q.partNumber()
	if err != nil {
		return err
	}
	want, err := q.checksumHeader()
	if err != nil {
		return err
	}
	u, err := q.Store.Upload(q.bucket, q.key, q.param("uploadId"))
	if err != nil {
		return err
	}
	if err := partChecksumFits(u.Checksum, want.Algorithm); err != nil {
		return err
	}
	if err := q.requireUploadChecksum("Put Part", u.Lock); err != nil {
		return err
	}
	if err := q.openParts(u); err != nil {
		return err
	}
	algorithm := cmp.Or(checksum.Algorithm(u.Checksum.Algorithm), checksum.CRC64NVME)
	got, err := q.receive(algorithm)
	if err != nil {
		return err
	}
	p, err := q.Store.PutPart(q.bucket, q.key, u.ID, got.part(n, u.Encryption))
	if err != nil {
		return err
	}
	q.w.Header().Set("Etag", quote(p.ETag))
	q.showChecksum(untyped(got.checksum))
	q.showEncryption(u.Encryption)
	return q.status(http.StatusOK)
}

// partChecksumFits compares a part's checksum with the upload's. Composite uploads require a checksum, and the
// algorithm must be the same.
func partChecksumFits(upload store.Checksum, part checksum.Algorithm) error {
	if upload.Algorithm == "" || string(part) == upload.Algorithm || (part == "" && upload.Type == fullObject) {
		return nil
	}
	actual := cmp.Or(string(part), "null")
	return invalidRequest("Checksum Type mismatch occurred, expected checksum Type: " + strings.ToLower(upload.Algorithm) + ", actual checksum Type: " + strings.ToLower(actual))
}

// part returns a received body as part n. The object's checksum is computed from those of its parts: with the
// client's algorithm if the upload was created with one, otherwise with CRC64NVME.
func (g received) part(n int, e store.Encryption) store.Part {
	sum := g.checksum
	if g.own.Algorithm != "" {
		sum = g.own
	}
	return store.Part{Number: n, Size: g.size, ETag: partETag(g.etag, n, e), Checksum: untyped(sum), Segments: g.segments}
}

func untyped(c store.Checksum) store.Checksum {
	c.Type = ""
	return c
}

func (q *request) uploadPartCopy() error {
	n, err := q.partNumber()
	if err != nil {
		return err
	}
	s, err := q.copySource()
	if err != nil {
		return err
	}
	u, err := q.Store.Upload(q.bucket, q.key, q.param("uploadId"))
	if err != nil {
		return err
	}
	if err := q.openParts(u); err != nil {
		return err
	}
	v, _, err := q.openSource(s)
	if err != nil {
		return err
	}
	offset, length, err := q.copySpan(v)
	if err != nil {
		return err
	}
	algorithm := cmp.Or(checksum.Algorithm(u.Checksum.Algorithm), checksum.CRC64NVME)
	got, err := q.copyRange(v, offset, length, algorithm)
	if err != nil {
		return err
	}
	p, err := q.Store.PutPart(q.bucket, q.key, u.ID, got.part(n, u.Encryption))
	if err != nil {
		return err
	}
	if v.ID != store.NullVersion {
		q.w.Header().Set("X-Amz-Copy-Source-Version-Id", v.ID)
	}
	q.showEncryption(u.Encryption)
	d := newDocument("CopyPartResult").time("LastModified", p.Modified).text("ETag", quote(p.ETag))
	if u.Checksum.Algorithm != "" {
		d.checksum(p.Checksum)
	}
	return q.send(d)
}

// copySpan reads x-amz-copy-source-range, which must lie inside the source.
func (q *request) copySpan(v *store.Version) (offset, length int64, err error) {
	raw := q.header("X-Amz-Copy-Source-Range")
	if raw == "" {
		if v.Size > maxCopy {
			return 0, 0, invalidRequest("The specified copy source is larger than the maximum allowable size for a copy source: " + itoa(maxCopy))
		}
		return 0, v.Size, nil
	}
	spec, ok := strings.CutPrefix(raw, "bytes=")
	first, last, dash := strings.Cut(spec, "-")
	from, err1 := strconv.ParseUint(first, 10, 62)
	to, err2 := strconv.ParseUint(last, 10, 62)
	if !ok || !dash || err1 != nil || err2 != nil || from > to {
		return 0, 0, invalidArgument("x-amz-copy-source-range", raw, "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy")
	}
	if int64(from) >= v.Size {
		return 0, 0, invalidRequest("The specified copy range is invalid for the source object size")
	}
	if int64(to) >= v.Size {
		return 0, 0, invalidArgument("x-amz-copy-source-range", raw, "Range specified is not valid for source object of size: "+strconv.FormatInt(v.Size, 10))
	}
	return int64(from), int64(to-from) + 1, nil
}

func (q *request) abortUpload() error {
	return q.statusUnless(q.Store.Abort(q.bucket, q.key, q.param("uploadId")), http.StatusNoContent)
}

func (q *request) listParts() error {
	limit, err := q.maxKeys("max-parts")
	if err != nil {
		return err
	}
	marker, err := q.number("part-number-marker", 0)
	if err != nil {
		return err
	}
	u, err := q.Store.Upload(q.bucket, q.key, q.param("uploadId"))
	if err != nil {
		return err
	}
	if err := q.unsealParts(u.Encryption, true); err != nil {
		return err
	}
	numbers := slices.DeleteFunc(slices.Sorted(maps.Keys(u.Parts)), func(n int) bool { return n <= marker })
	page := numbers[:min(limit, len(numbers))]
	next := 0
	if len(page) > 0 {
		next = page[len(page)-1]
	}
	q.showAbortion(u)
	d := newDocument("ListPartsResult").text("Bucket", q.bucket).text("Key", q.key).text("UploadId", u.ID)
	d.int("PartNumberMarker", int64(marker)).int("NextPartNumberMarker", int64(next)).int("MaxParts", int64(limit))
	d.bool("IsTruncated", len(page) < len(numbers) && limit > 0)
	d.algorithm(u.Checksum)
	for _, n := range page {
		p := u.Parts[n]
		d.start("Part").int("PartNumber", int64(n)).time("LastModified", p.Modified).text("ETag", quote(p.ETag)).int("Size", p.Size)
		if u.Checksum.Algorithm != "" {
			d.checksum(p.Checksum)
		}
		d.end()
	}
	d.initiator(u.Initiator).start("Owner").text("ID", q.Account.CanonicalID()).end()
	return q.send(d.text("StorageClass", classOf(u.StorageClass)))
}

// initiator writes the principal that started an upload, with the last part of its ARN as the display name.
func (d *document) initiator(arn string) *document {
	return d.start("Initiator").text("ID", arn).optional("DisplayName", arn[strings.LastIndexAny(arn, ":/")+1:]).end()
}
