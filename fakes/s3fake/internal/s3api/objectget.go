// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// span is the part of an object that a response carries.
type span struct {
	offset, length int64
	// partial is true for 206.
	partial bool
	parts   int
	// sum is the checksum of exactly this span, if it is known.
	sum store.Checksum
}

func (q *request) headObject() error {
	return q.withObject(func(*store.Version, span) error { return nil })
}

func (q *request) getObject() error {
	return q.withObject(func(v *store.Version, s span) error { return q.Store.Read(q.w, v.Segments, s.offset, s.length) })
}

// archived reports whether an object cannot be read before it is restored, which no object here is ("Understanding
// archival storage classes" in the Amazon S3 User Guide).
func archived(v *store.Version) bool {
	return v.StorageClass == "GLACIER" || v.StorageClass == "DEEP_ARCHIVE"
}

// withObject writes the headers of an object and then calls body.
func (q *request) withObject(body func(v *store.Version, s span) error) error {
	v, err := q.openObject()
	if err != nil {
		return err
	}
	s, err := q.respondHead(v)
	if err != nil {
		return err
	}
	q.done = true
	q.w.WriteHeader(s.status())
	return body(v, s)
}

func (s span) status() int {
	if s.partial {
		return http.StatusPartialContent
	}
	return http.StatusOK
}

// pinned is a version that remains readable until unpin is called.
type pinned struct {
	v       *store.Version
	release func()
	err     error
}

// version returns the version that the request is about. It returns the same one until the end of the request, so that the
// request reads the version for which it was authorized, even if the object is replaced meanwhile.
func (q *request) version() (*store.Version, error) {
	if q.pinned == nil {
		p := &pinned{}
		p.v, p.release, p.err = q.Store.Open(q.bucket, q.key, q.param("versionId"))
		q.pinned = p
	}
	return q.pinned.v, q.pinned.err
}

// unpin ends the use of the version and of the source.
func (q *request) unpin() {
	if q.pinned != nil && q.pinned.release != nil {
		q.pinned.release()
	}
	if q.source != nil {
		q.source.unpin()
	}
}

// openObject finds the version and rejects delete markers as S3 does.
func (q *request) openObject() (*store.Version, error) {
	const encryption = "x-amz-server-side-encryption"
	if v := q.header(encryption); v != "" { // it is for writes (API Reference, GetObject and HeadObject)
		return nil, invalidArgument(encryption, v, encryption+" header is not supported for this operation.")
	}
	if _, err := q.rangedPart(); err != nil {
		return nil, err
	}
	v, err := q.version()
	if err != nil {
		if v != nil && v.DeleteMarker {
			q.w.Header().Set("X-Amz-Delete-Marker", "true")
			q.w.Header().Set("X-Amz-Version-Id", v.ID)
		}
		return nil, q.hide(err)
	}
	if v.DeleteMarker {
		q.w.Header().Set("Last-Modified", v.Modified.UTC().Format(http.TimeFormat))
		return nil, q.marked(v)
	}
	return v, nil
}

// respondHead judges conditions and ranges and sets all headers.
func (q *request) respondHead(v *store.Version) (span, error) {
	if err := q.unseal(v.Encryption, objectKey); err != nil {
		return span{}, err
	}
	// HEAD reads nothing that is encrypted, except for the checksum (API Reference, HeadObject, x-amz-checksum-mode).
	if q.r.Method != http.MethodHead || q.wantsChecksum() {
		if err := q.decrypt(v.Encryption); err != nil {
			return span{}, err
		}
	}
	if err := q.checkOverrides(); err != nil {
		return span{}, err
	}
	h := q.w.Header()
	h.Set("Etag", quote(v.ETag))
	h.Set("Last-Modified", v.Modified.UTC().Format(http.TimeFormat))
	q.versionHeader(v)
	if err := q.readConditions(v, "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"); err != nil {
		return span{}, err
	}
	if archived(v) && q.r.Method != http.MethodHead {
		return span{}, errInvalidState.With("StorageClass", v.StorageClass)
	}
	s, err := q.span(v)
	if err != nil {
		return span{}, err
	}
	h.Set("Accept-Ranges", "bytes")
	if !q.query.Has("versionId") {
		q.showExpiration(v)
	}
	q.showAttributes(v)
	for param, name := range overrides {
		if value := q.param(param); value != "" {
			h.Set(name, latin1(value))
		}
	}
	h.Set("Content-Length", strconv.FormatInt(s.length, 10))
	if s.partial {
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", s.offset, s.offset+s.length-1, v.Size))
	}
	if s.parts > 0 {
		h.Set("X-Amz-Mp-Parts-Count", itoa(s.parts))
	}
	if q.wantsChecksum() {
		q.showChecksum(s.sum)
	}
	return s, nil
}

func (q *request) wantsChecksum() bool {
	return strings.EqualFold(q.header("X-Amz-Checksum-Mode"), "ENABLED")
}

// decrypt asks for the key of an object under SSE-KMS, or of an upload, because S3 decrypts the parts when it joins them
// ("Multipart upload API and permissions" in the Amazon S3 User Guide).
func (q *request) decrypt(e store.Encryption) error {
	if e.KeyID == "" {
		return nil
	}
	return q.useKey(e, "kms:Decrypt")
}

// overrides are the query parameters that replace headers of a GET response.
var overrides = map[string]string{
	"response-cache-control": "Cache-Control", "response-content-disposition": "Content-Disposition",
	"response-content-encoding": "Content-Encoding", "response-content-language": "Content-Language",
	"response-content-type": "Content-Type", "response-expires": "Expires",
}

// overrideNames is the order in which S3 checks the parameters.
var overrideNames = slices.Sorted(maps.Keys(overrides))

func (q *request) checkOverrides() error {
	for _, param := range overrideNames {
		if v := q.param(param); strings.IndexFunc(v, func(r rune) bool { return r > 0xff }) >= 0 {
			return invalidArgument(param, v, "Header value cannot be represented using ISO-8859-1.")
		}
	}
	if q.signed != nil {
		return nil
	}
	for param := range overrides {
		if q.query.Has(param) {
			return invalidRequest("Request specific response headers cannot be used for anonymous GET requests.")
		}
	}
	return nil
}

// readConditions judges the four conditional headers under the given names (RFC 9110, 13.2.2).
func (q *request) readConditions(v *store.Version, match, none, since, unmodified string) error {
	modified := v.Modified.UTC().Truncate(time.Second)
	failed := func(condition string) error {
		if condition == none || condition == since {
			if !strings.HasPrefix(condition, "X-Amz-") {
				return errNotModified
			}
		}
		return errPrecondition.With("Condition", strings.Replace(condition, "X-Amz-Copy-Source", "x-amz-copy-source", 1))
	}
	m := q.header(match)
	if m != "" && !matchesETag(m, v.ETag) {
		return failed(match)
	}
	if t, ok := httpTime(q.header(unmodified)); ok && m == "" && modified.After(t) {
		return failed(unmodified)
	}
	n := q.header(none)
	if n != "" && matchesETag(n, v.ETag) {
		return failed(none)
	}
	if t, ok := httpTime(q.header(since)); ok && n == "" && !modified.After(t) && !t.After(q.Now()) {
		return failed(since)
	}
	return nil
}

func matchesETag(list, etag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one = unquote(strings.TrimPrefix(strings.TrimSpace(one), "W/")); one == "*" || one == etag {
			return true
		}
	}
	return false
}

func httpTime(v string) (time.Time, bool) {
	if v == "" {
		return time.Time{}, false
	}
	t, err := http.ParseTime(v)
	if err != nil {
		t, err = time.Parse(time.RFC3339, v)
	}
	return t, err == nil
}

// span reads Range and partNumber.
func (q *request) span(v *store.Version) (span, error) {
	whole := span{length: v.Size, sum: v.Checksum}
	ranged := q.header("Range")
	if q.query.Has("partNumber") {
		if ranged != "" {
			return whole, invalidRequest("Cannot specify both Range header and partNumber query parameter")
		}
		return q.partSpan(v)
	}
	if ranged == "" || !q.ifRange(v) {
		return whole, nil
	}
	offset, length, ok, err := parseRange(ranged, v.Size)
	if err != nil || !ok {
		return whole, err
	}
	s := span{offset: offset, length: length, partial: true}
	if length == v.Size {
		s.sum = v.Checksum
	}
	return s, nil
}

// ifRange reports whether a range is of the object that the client has the rest of (RFC 9110, 13.1.5). The API Reference
// does not name the header, which browsers send.
func (q *request) ifRange(v *store.Version) bool {
	want := q.header("If-Range")
	if t, ok := httpTime(want); ok {
		return v.Modified.UTC().Truncate(time.Second).Equal(t)
	}
	return want == "" || want == quote(v.ETag)
}

// rangedPart reads partNumber of a read, 0 when it is absent.
func (q *request) rangedPart() (int, error) {
	if !q.query.Has("partNumber") {
		return 0, nil
	}
	return q.partNumber()
}

func (q *request) partSpan(v *store.Version) (span, error) {
	n, err := q.rangedPart()
	if err != nil {
		return span{}, err
	}
	if len(v.Parts) == 0 {
		if n > 1 {
			return span{}, outOfParts(n, 1)
		}
		return span{length: v.Size, partial: v.Size > 0, sum: v.Checksum}, nil
	}
	if n > len(v.Parts) {
		return span{}, outOfParts(n, len(v.Parts))
	}
	s := span{partial: true, parts: len(v.Parts)}
	for _, p := range v.Parts[:n-1] {
		s.offset += p.Size
	}
	s.length = v.Parts[n-1].Size
	switch {
	case v.Checksum.Type == composite: // S3 keeps no others of parts
		s.sum = v.Parts[n-1].Checksum
		s.sum.Type = composite
	case len(v.Parts) == 1:
		s.sum = v.Checksum
	}
	return s, nil
}

func outOfParts(n, count int) error {
	return awserr.New(http.StatusRequestedRangeNotSatisfiable, "InvalidPartNumber", "The requested partnumber is not satisfiable").
		With("PartNumberRequested", itoa(n)).With("ActualPartCount", itoa(count))
}

// parseRange parses a single byte range. ok is false if the header must be ignored: invalid syntax or several ranges.
func parseRange(header string, size int64) (offset, length int64, ok bool, err error) {
	spec, found := strings.CutPrefix(header, "bytes=")
	first, last, dash := strings.Cut(spec, "-")
	if !found || !dash || strings.Contains(spec, ",") {
		return 0, 0, false, nil
	}
	unsatisfiable := errInvalidRange.With("RangeRequested", header).With("ActualObjectSize", strconv.FormatInt(size, 10))
	if first == "" {
		n, err := strconv.ParseUint(last, 10, 62)
		switch {
		case err != nil:
			return 0, 0, false, nil
		case n == 0 || size == 0:
			return 0, 0, false, unsatisfiable
		}
		count := min(int64(n), size)
		return size - count, count, true, nil
	}
	if strings.Trim(first+last, "0123456789") != "" {
		return 0, 0, false, nil
	}
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0, 0, false, nil
	}
	to := size - 1
	if last != "" {
		if to, err = strconv.ParseInt(last, 10, 64); err != nil || to < from {
			return 0, 0, false, nil
		}
	}
	if from >= size {
		return 0, 0, false, unsatisfiable
	}
	return from, min(to, size-1) - from + 1, true, nil
}
