// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"cmp"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cooper-cosi/cooper/fakes/internal/checksum"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// source is a parsed x-amz-copy-source.
type source struct{ bucket, key, version string }

func (q *request) copySource() (source, error) {
	raw := q.header("X-Amz-Copy-Source")
	path, query, _ := strings.Cut(raw, "?")
	if before, after, ok := strings.Cut(path, "%3FversionId%3D"); ok && query == "" {
		path, query = before, "versionId="+after
	}
	if u, err := url.Parse(path); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		path = u.EscapedPath() // a URL of the source is accepted, too
	}
	path, err := url.QueryUnescape(path) // a plus sign is a space here, unlike in the path of a request
	if err != nil || !utf8.ValidString(path) {
		return source{}, invalidArgument("x-amz-copy-source", raw, "Invalid copy source encoding")
	}
	var s source
	s.bucket, s.key, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case !validBucketName(s.bucket):
		return s, invalidArgument("x-amz-copy-source", raw, "Invalid copy source bucket name")
	case s.key == "" || climbs(s.key):
		return s, invalidArgument("x-amz-copy-source", "x-amz-copy-source", "Invalid copy source object key")
	}
	v, versioned := strings.CutPrefix(query, "versionId=")
	switch {
	case versioned:
		s.version = v
		return s, checkVersionID(v)
	case query != "":
		return s, invalidArgument("x-amz-copy-source", raw, "Unsupported copy source parameter.")
	}
	return s, nil
}

// climbs reports whether the dots in a key lead out of the bucket.
func climbs(key string) bool {
	depth := 0
	for part := range strings.SplitSeq(strings.TrimSuffix(key, "/"), "/") {
		switch part {
		case "..":
			depth--
		case ".":
		default:
			depth++
		}
		if depth < 0 {
			return true
		}
	}
	return depth == 0
}

// openSource checks the caller's right to read the source and opens it until the end of the request. The checks run under
// the source bucket's own policy.
func (q *request) openSource(s source, extra ...string) (*store.Version, *request, error) {
	from := &request{API: q.API, r: q.r, w: q.w, op: q.op, query: url.Values{}, bucket: s.bucket, key: s.key, signed: q.signed, principal: q.principal}
	q.source = from
	if s.version != "" {
		from.query.Set("versionId", s.version)
	}
	if err := q.checkOwner(q.r.Header.Get("X-Amz-Source-Expected-Bucket-Owner")); err != nil {
		return nil, nil, err
	}
	if err := from.findBucket(); err != nil {
		return nil, nil, from.wireError(err)
	}
	from.existingTags()
	needs := versioned("s3:GetObject", "s3:GetObjectVersion")(from)
	for _, action := range extra {
		needs = append(needs, permission{action, from.objectARN()})
	}
	if err := from.authorize(needs...); err != nil {
		return nil, nil, err
	}
	v, err := from.version()
	if err != nil {
		return nil, nil, from.wireError(from.hide(err))
	}
	return v, from, from.checkSource(v)
}

// checkSource checks whether the version can be copied.
func (q *request) checkSource(v *store.Version) error {
	switch {
	case v.DeleteMarker:
		return invalidRequest("The source of a copy request may not specifically refer to a delete marker by version id.")
	case archived(v):
		return errInvalidState.With("StorageClass", v.StorageClass)
	}
	if err := errors.Join(q.unseal(v.Encryption, sourceKey), q.decrypt(v.Encryption)); err != nil {
		return err
	}
	return q.readConditions(v, "X-Amz-Copy-Source-If-Match", "X-Amz-Copy-Source-If-None-Match", "X-Amz-Copy-Source-If-Modified-Since", "X-Amz-Copy-Source-If-Unmodified-Since")
}

func directive(v, name, message string) (replace bool, err error) {
	switch v {
	case "", "COPY":
		return false, nil
	case "REPLACE":
		return true, nil
	}
	return false, invalidArgument(name, v, message)
}

// maxCopy is the largest source of CopyObject and UploadPartCopy.
const maxCopy = maxPut

func (q *request) copyObject() error {
	s, err := q.copySource()
	if err != nil {
		return err
	}
	replace, err := directive(q.header("X-Amz-Metadata-Directive"), "x-amz-metadata-directive", "Unknown metadata directive.")
	if err != nil {
		return err
	}
	retag, err := directive(q.header("X-Amz-Tagging-Directive"), "x-amz-tagging-directive", "Unknown tagging directive.")
	if err != nil {
		return err
	}
	guard, err := q.writeConditions()
	if err != nil {
		return err
	}
	algorithm, err := q.algorithmHeader()
	if err != nil {
		return err
	}
	attrs, err := q.attributes()
	if err != nil && !q.copiesItself(s) {
		return err
	}
	invalid := err
	v, from, err := q.openSource(s)
	if err != nil {
		return err
	}
	if err := q.copyAttributes(&attrs, v, from, replace, retag); err != nil {
		return err
	}
	if q.copiesItself(s) {
		if err := q.checkSelfCopy(guard, v, !replace && algorithm == ""); err != nil {
			return err
		}
	}
	if invalid != nil {
		return invalid
	}
	got, err := q.copyBody(v, algorithm)
	if err != nil {
		return err
	}
	stored, err := q.keep(notify.CreatedCopy, got, attrs, guard)
	if err != nil {
		return err
	}
	if v.ID != store.NullVersion {
		q.w.Header().Set("X-Amz-Copy-Source-Version-Id", v.ID)
	}
	q.versionHeader(stored)
	q.showExpiration(stored)
	q.showEncryption(stored.Encryption)
	d := newDocument("CopyObjectResult").time("LastModified", stored.Modified).text("ETag", quote(stored.ETag)).checksum(stored.Checksum)
	return q.send(d.optional("ChecksumType", stored.Checksum.Type))
}

// copyAttributes copies the attributes that the directives do not replace.
func (q *request) copyAttributes(attrs *store.Attributes, v *store.Version, from *request, replace, retag bool) error {
	if !replace {
		attrs.Headers, attrs.Metadata = v.Headers, v.Metadata
	}
	if retag {
		return nil
	}
	attrs.Tags = slices.Clone(v.Tags)
	if len(v.Tags) == 0 {
		return nil
	}
	if err := from.authorize(versioned("s3:GetObjectTagging", "s3:GetObjectVersionTagging")(from)...); err != nil {
		return err
	}
	return q.authorize(permission{"s3:PutObjectTagging", q.objectARN()})
}

func (q *request) copiesItself(s source) bool {
	return s.bucket == q.bucket && s.key == q.key && s.version == ""
}

// checkSelfCopy checks the conditions first. Then it rejects a copy of an object onto itself that names nothing to
// change. It is enough that the request names the storage class or the redirect, even with the same value, or that the
// bucket's encryption is configured or changes the object's.
func (q *request) checkSelfCopy(guard func(*store.Version) error, v *store.Version, plain bool) error {
	if guard != nil {
		if err := guard(v); err != nil {
			return err
		}
	}
	named := q.header("X-Amz-Storage-Class") != "" || q.header("X-Amz-Website-Redirect-Location") != "" || q.header("X-Amz-Server-Side-Encryption") != "" || q.customer != ""
	if !plain || named || q.state.Config[configEncryption] != nil || v.Encryption.Algorithm != q.bucketEncryption().Algorithm {
		return nil
	}
	return invalidRequest("This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.")
}

// copyBody copies a version's body. The checksum algorithm is the source's unless another is asked for.
func (q *request) copyBody(v *store.Version, algorithm checksum.Algorithm) (received, error) {
	if v.Size > maxCopy {
		return received{}, invalidRequest("The specified copy source is larger than the maximum allowable size for a copy source: " + itoa(maxCopy))
	}
	return q.copyRange(v, 0, v.Size, cmp.Or(algorithm, checksum.Algorithm(v.Checksum.Algorithm), checksum.CRC64NVME))
}

func (q *request) copyRange(v *store.Version, offset, length int64, algorithm checksum.Algorithm) (received, error) {
	r, w := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := q.Store.Read(w, v.Segments, offset, length)
		read <- errors.Join(err, w.CloseWithError(err))
	}()
	got, err := q.storeBody(r, algorithm)
	if closed := r.Close(); err == nil {
		err = closed
	}
	if readErr := <-read; err == nil {
		err = readErr
	}
	return got, err
}
