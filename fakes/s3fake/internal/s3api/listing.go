// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// maxKeys reads max-keys and its relatives: at most 1000 are returned whatever is asked for.
func (q *request) maxKeys(param string) (int, error) {
	n, err := q.number(param, 1000)
	return min(n, 1000), err
}

// number reads an optional parameter.
func (q *request) number(param string, otherwise int) (int, error) {
	v := q.param(param)
	if v == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(v, 10, 32)
	switch {
	case err != nil:
		return 0, invalidArgument(param, v, "Provided "+v+" not an integer or within integer range")
	case n < 0:
		return 0, invalidArgument(param, v, "Argument "+v+" must be an integer between 0 and 2147483647")
	}
	return int(n), nil
}

// encoder returns how keys are written: as they are, or URL-encoded if the client asks for it.
func (q *request) encoder() (func(string) string, error) {
	switch v := q.param("encoding-type"); {
	case !q.query.Has("encoding-type"):
		return func(s string) string { return s }, nil
	case strings.EqualFold(v, "url"):
		return func(s string) string { return listed.Replace(url.QueryEscape(s)) }, nil
	default:
		return nil, sigv4.InvalidArgument("encoding-type", "", "Invalid Encoding Method specified in Request").With("ArgumentValue", v)
	}
}

// listed corrects the characters that S3 encodes in another way than Go.
var listed = strings.NewReplacer("%2F", "/", "%2A", "*", "~", "%7E")

// lister contains what the three object listings share.
type lister struct {
	query  store.Query
	encode func(string) string
	limit  int
}

func (q *request) lister() (lister, error) {
	limit, err := q.maxKeys("max-keys")
	if err != nil {
		return lister{}, err
	}
	encode, err := q.encoder()
	return lister{query: store.Query{Bucket: q.bucket, Prefix: q.param("prefix"), Delimiter: q.param("delimiter"), Max: limit}, encode: encode, limit: limit}, err
}

// run lists, with the special case that asking for nothing is never truncated.
func (l lister) run(list func(store.Query) (store.Page, error)) (store.Page, error) {
	p, err := list(l.query)
	if l.limit == 0 {
		p.Truncated = false
	}
	return p, err
}

func (l lister) head(d *document, q *request) {
	d.text("Name", q.bucket).text("Prefix", l.encode(q.param("prefix")))
	d.optional("Delimiter", l.encode(q.param("delimiter"))).int("MaxKeys", int64(l.limit))
	d.optional("EncodingType", q.param("encoding-type"))
}

func (l lister) prefixes(d *document, p store.Page) {
	for _, prefix := range p.Prefixes {
		d.start("CommonPrefixes").text("Prefix", l.encode(prefix)).end()
	}
}

// entrySize is the approximate size of one object in a listing.
const entrySize = 400

func (l lister) contents(d *document, p store.Page, owner string) {
	d.buf.Grow(len(p.Versions) * entrySize)
	for _, v := range p.Versions {
		d.start("Contents").text("Key", l.encode(v.Key)).time("LastModified", v.Modified).text("ETag", quote(v.ETag))
		d.algorithm(v.Checksum).int("Size", v.Size)
		if owner != "" {
			d.start("Owner").text("ID", ownerOf(v.ACL, owner)).end()
		}
		d.text("StorageClass", classOf(v.StorageClass)).end()
	}
}

func (q *request) listObjects() error {
	l, err := q.lister()
	if err != nil {
		return err
	}
	l.query.After = q.param("marker")
	p, err := l.run(q.Store.List)
	if err != nil {
		return err
	}
	d := newDocument("ListBucketResult")
	l.head(d, q)
	d.text("Marker", l.encode(q.param("marker"))).bool("IsTruncated", p.Truncated)
	if p.Truncated && q.param("delimiter") != "" {
		d.text("NextMarker", l.encode(p.Last))
	}
	owner := ""
	if q.principal != nil { // S3 does not return it to anonymous callers
		owner = q.Account.CanonicalID()
	}
	l.contents(d, p, owner)
	l.prefixes(d, p)
	return q.send(d)
}

func (q *request) listObjectsV2() error {
	l, err := q.lister()
	if err != nil {
		return err
	}
	l.query.After, l.query.StartAfter = q.param("start-after"), true
	if q.query.Has("continuation-token") {
		after, err := decodeToken(q.param("continuation-token"))
		if err != nil {
			return err
		}
		l.query.After, l.query.StartAfter = after, false
	}
	p, err := l.run(q.Store.List)
	if err != nil {
		return err
	}
	owner := ""
	if q.param("fetch-owner") == "true" {
		owner = q.Account.CanonicalID()
	}
	d := newDocument("ListBucketResult")
	l.head(d, q)
	d.int("KeyCount", int64(len(p.Versions)+len(p.Prefixes))).bool("IsTruncated", p.Truncated)
	d.optional("ContinuationToken", q.param("continuation-token"))
	if !q.query.Has("continuation-token") {
		d.optional("StartAfter", l.encode(q.param("start-after")))
	}
	if p.Truncated {
		d.text("NextContinuationToken", encodeToken(p.Last))
	}
	l.contents(d, p, owner)
	l.prefixes(d, p)
	return q.send(d)
}

func encodeToken(last string) string { return base64.URLEncoding.EncodeToString([]byte(last)) }

func decodeToken(token string) (string, error) {
	raw, err := base64.URLEncoding.DecodeString(token)
	if err != nil || token == "" {
		return "", invalidArgument("continuation-token", token, "The continuation token provided is incorrect")
	}
	return string(raw), nil
}

func (q *request) listVersions() error {
	if n, err := strconv.Atoi(q.param("max-keys")); err == nil && n < 0 {
		return invalidArgument("maxKeys", q.param("max-keys"), "max-keys cannot be negative")
	}
	l, err := q.lister()
	if err != nil {
		return err
	}
	l.query.After, l.query.AfterVersion = q.param("key-marker"), q.param("version-id-marker")
	if l.query.AfterVersion != "" && l.query.After == "" {
		return invalidArgument("version-id-marker", l.query.AfterVersion, "A version-id marker cannot be specified without a key marker.")
	}
	if q.query.Has("version-id-marker") && l.query.AfterVersion == "" {
		return invalidArgument("version-id-marker", "", "A version-id marker cannot be empty.")
	}
	if v := l.query.AfterVersion; v != "" && checkVersionID(v) != nil {
		return invalidArgument("version-id-marker", v, "Invalid version id specified")
	}
	p, err := l.run(q.Store.ListVersions)
	if err != nil {
		return err
	}
	d := newDocument("ListVersionsResult")
	l.head(d, q)
	d.text("KeyMarker", l.encode(q.param("key-marker"))).text("VersionIdMarker", q.param("version-id-marker")).bool("IsTruncated", p.Truncated)
	if p.Truncated {
		d.text("NextKeyMarker", l.encode(p.Last)).optional("NextVersionIdMarker", p.LastVersion)
	}
	owner := q.Account.CanonicalID()
	for i, v := range p.Versions {
		l.version(d, v, p.Latest[i], owner)
	}
	l.prefixes(d, p)
	return q.send(d)
}

func (l lister) version(d *document, v *store.Version, latest bool, owner string) {
	element := "Version"
	if v.DeleteMarker {
		element = "DeleteMarker"
	}
	d.start(element).text("Key", l.encode(v.Key)).text("VersionId", v.ID).bool("IsLatest", latest).time("LastModified", v.Modified)
	if !v.DeleteMarker {
		d.text("ETag", quote(v.ETag)).algorithm(v.Checksum).int("Size", v.Size).text("StorageClass", classOf(v.StorageClass))
	}
	d.start("Owner").text("ID", ownerOf(v.ACL, owner)).end().end()
}

func (q *request) listUploads() error {
	limit, err := q.maxKeys("max-uploads")
	if err != nil {
		return err
	}
	encode, err := q.encoder()
	if err != nil {
		return err
	}
	query := store.UploadQuery{Bucket: q.bucket, Prefix: q.param("prefix"), Delimiter: q.param("delimiter"), KeyMarker: q.param("key-marker"), Max: limit}
	if query.KeyMarker != "" { // without it, S3 ignores the marker of an upload
		query.IDMarker = q.param("upload-id-marker")
	}
	if id := query.IDMarker; id != "" && !store.IssuedFor(id, q.bucket, query.KeyMarker) {
		return invalidArgument("upload-id-marker", id, "Invalid uploadId marker")
	}
	p, err := q.Store.ListUploads(query)
	if err != nil {
		return err
	}
	d := newDocument("ListMultipartUploadsResult")
	d.text("Bucket", q.bucket).text("KeyMarker", encode(query.KeyMarker)).text("UploadIdMarker", query.IDMarker)
	d.text("NextKeyMarker", encode(p.LastKey)).text("NextUploadIdMarker", p.LastID)
	d.optional("Delimiter", encode(query.Delimiter)).optional("Prefix", encode(query.Prefix)).optional("EncodingType", q.param("encoding-type"))
	d.int("MaxUploads", int64(limit)).bool("IsTruncated", p.Truncated && limit > 0)
	owner := q.Account.CanonicalID()
	for _, u := range p.Uploads {
		d.start("Upload").text("Key", encode(u.Key)).text("UploadId", u.ID)
		d.initiator(u.Initiator).start("Owner").text("ID", owner).end()
		d.text("StorageClass", classOf(u.StorageClass)).time("Initiated", u.Initiated).algorithm(u.Checksum).end()
	}
	for _, prefix := range p.Prefixes {
		d.start("CommonPrefixes").text("Prefix", encode(prefix)).end()
	}
	return q.send(d)
}

var errInvalidPart = awserr.New(http.StatusBadRequest, "InvalidPart", "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.")
