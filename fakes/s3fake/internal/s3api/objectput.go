// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"crypto/md5" //nolint:gosec // see etagOf
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/checksum"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// writePermissions returns the permissions for PutObject, CopyObject and CreateMultipartUpload: each setting in a
// header requires a separate action.
func (q *request) writePermissions() []permission {
	needs := q.conditional("s3:PutObject")
	for header, action := range map[string]string{
		"X-Amz-Tagging":          "s3:PutObjectTagging",
		"X-Amz-Object-Lock-Mode": "s3:PutObjectRetention", "X-Amz-Object-Lock-Legal-Hold": "s3:PutObjectLegalHold",
	} {
		if q.header(header) != "" {
			needs = append(needs, permission{action, q.objectARN()})
		}
	}
	if q.hasACL() {
		needs = append(needs, permission{"s3:PutObjectAcl", q.objectARN()})
	}
	return needs
}

// conditional returns the permissions for an operation that may depend on the ETag of the existing object. Only
// callers who may read the object get its ETag ("How to prevent object overwrites with conditional writes", "How to
// perform conditional deletes" in the Amazon S3 User Guide).
func (q *request) conditional(action string) []permission {
	needs := []permission{{action, q.objectARN()}}
	if etag := q.header("If-Match"); etag != "" && etag != "*" {
		needs = append(needs, permission{"s3:GetObject", q.objectARN()})
	}
	return needs
}

func (q *request) completePermissions() []permission {
	return q.conditional("s3:PutObject")
}

func (q *request) putObject() error {
	if q.header("X-Amz-Copy-Source") != "" {
		return invalidArgument("x-amz-copy-source", q.header("X-Amz-Copy-Source"), "You can only specify a copy source header for copy requests.")
	}
	if q.query.Has("partNumber") {
		return invalidArgument("partNumber", q.param("partNumber"), "This operation does not accept partNumber without uploadId")
	}
	guard, err := q.writeConditions()
	if err != nil {
		return err
	}
	attrs, err := q.attributes()
	if err != nil {
		return err
	}
	if err := q.requireUploadChecksum("Put Object", attrs.Lock); err != nil {
		return err
	}
	got, err := q.receive(checksum.CRC64NVME)
	if err != nil {
		return err
	}
	v, err := q.keep(notify.CreatedPut, got, attrs, guard)
	if err != nil {
		return err
	}
	q.showPut(v)
	return q.status(http.StatusOK)
}

// requireUploadChecksum rejects an upload without a checksum if the object gets an object lock: from the request, the
// upload or the bucket's default (PutObject in the API Reference, Content-MD5).
func (q *request) requireUploadChecksum(kind string, lock store.Lock) error {
	defaultLock(q.state, &lock, q.Now())
	if lock.Mode == "" && lock.LegalHold == "" {
		return nil
	}
	want, err := q.checksumHeader()
	if err != nil {
		return err
	}
	if want.Algorithm == "" && q.header("Content-Md5") == "" {
		return invalidRequest("Content-MD5 OR x-amz-checksum- HTTP header is required for " + kind + " requests with Object Lock parameters")
	}
	return nil
}

// keep stores a received body as the newest version. event is its notification.
func (q *request) keep(event string, got received, attrs store.Attributes, guard func(*store.Version) error) (*store.Version, error) {
	defer q.turn(q.key)()
	v, err := q.Store.Put(store.Version{
		Attributes: attrs, Bucket: q.bucket, Key: q.key, Size: got.size, ETag: etagOf(got.etag, attrs.Encryption),
		Segments: got.segments, Checksum: got.checksum,
	}, q.putGuard(guard))
	if err != nil {
		q.Store.Discard(got.segments)
		return v, err
	}
	q.announce(event, q.key, v)
	return v, nil
}

// etagOf is the MD5 of the body, or another value if a KMS key or a customer's key encrypts it.
func etagOf(sum string, e store.Encryption) string {
	if e.Algorithm != "aws:kms" && e.CustomerKey == "" {
		return sum
	}
	sealed := md5.Sum([]byte(sum + "/" + e.KeyID + e.CustomerKey)) //nolint:gosec // ETags have the form of MD5
	return hex.EncodeToString(sealed[:])
}

// putGuard judges conditions and the lock while the store is locked, and fills in the default retention.
func (q *request) putGuard(conditions func(*store.Version) error) func(store.Bucket, *store.Version, *store.Version) error {
	return func(b store.Bucket, current, v *store.Version) error {
		if conditions != nil {
			if err := conditions(current); err != nil {
				return err
			}
		}
		defaultLock(b, &v.Lock, q.Now())
		return nil
	}
}

func (q *request) showPut(v *store.Version) {
	q.w.Header().Set("Etag", quote(v.ETag))
	q.madeHeader(v)
	q.showExpiration(v)
	q.showChecksum(v.Checksum)
	q.showEncryption(v.Encryption)
}

func quote(etag string) string { return `"` + etag + `"` }

func unquote(etag string) string { return strings.Trim(strings.TrimSpace(etag), `"`) }

// writeConditions reads If-Match and If-None-Match of a write; nil means that there are none.
func (q *request) writeConditions() (func(*store.Version) error, error) {
	match, none := q.header("If-Match"), q.header("If-None-Match")
	switch {
	case match == "" && none == "":
		return nil, nil
	case match != "" && none != "":
		return nil, unaccepted("If-Match,If-None-Match", "Multiple conditional request headers present in the request")
	case none != "" && none != "*":
		return nil, unaccepted("If-None-Match", "We don't accept the provided value of If-None-Match header for this API")
	case match == "*":
		return nil, unaccepted("If-Match", "We don't accept the provided value of If-Match header for this API")
	}
	return func(current *store.Version) error {
		switch {
		case none != "" && current != nil:
			return errPrecondition.With("Condition", "If-None-Match")
		case match != "" && current == nil:
			return store.ErrNoKey
		case match != "" && unquote(match) != current.ETag:
			return errPrecondition.With("Condition", "If-Match")
		}
		return nil
	}, nil
}

// unaccepted is the error of a conditional header that is valid in itself, but not supported by S3.
func unaccepted(header, why string) error {
	return errNotImplemented.With("Header", header).With("additionalMessage", why)
}

func (q *request) deletePermissions() []permission {
	if q.query.Has("versionId") {
		return []permission{{"s3:DeleteObjectVersion", q.objectARN()}}
	}
	return q.conditional("s3:DeleteObject")
}

func (q *request) deleteObject() error {
	if err := q.checkBypass(); err != nil {
		return err
	}
	d, err := q.remove(q.key, q.param("versionId"), q.header("If-Match"))
	if err != nil {
		return err
	}
	h := q.w.Header()
	switch {
	case d.Marker != nil:
		h.Set("X-Amz-Delete-Marker", "true")
		h.Set("X-Amz-Version-Id", d.Marker.ID)
	case d.Version != nil && q.query.Has("versionId"):
		h.Set("X-Amz-Version-Id", d.Version.ID)
		if d.Version.DeleteMarker {
			h.Set("X-Amz-Delete-Marker", "true")
		}
	case q.query.Has("versionId"):
		h.Set("X-Amz-Version-Id", q.param("versionId"))
	}
	return q.status(http.StatusNoContent)
}

// remove deletes a key or one of its versions, unless a lock or a condition protects it. etag is If-Match, "" for
// none.
func (q *request) remove(key, version, etag string) (store.Deleted, error) {
	defer q.turn(key)()
	d, err := q.Store.Delete(q.bucket, key, version, func(b store.Bucket, v *store.Version) error {
		if etag != "" {
			switch {
			case v == nil || v.DeleteMarker:
				return store.ErrNoKey
			case etag != "*" && unquote(etag) != v.ETag:
				return errPrecondition.With("Condition", "If-Match")
			}
		}
		if version == "" && b.Versioning == store.VersioningEnabled {
			return nil
		}
		return q.protected(v)
	})
	if errors.Is(err, store.ErrNoVersion) {
		return store.Deleted{}, nil
	}
	if err == nil {
		q.announceRemoval(key, version, d)
	}
	return d, err
}
