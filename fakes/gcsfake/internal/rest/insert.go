// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"cmp"
	"crypto/md5" //nolint:gosec // the protocol's hash, not a protection of ours
	"encoding"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

func (c *Call) insertObject(w http.ResponseWriter) error {
	if c.query.Has("upload_id") { // some clients POST their chunks
		return c.continueUpload(w)
	}
	b, err := c.bucket()
	if err != nil {
		return err
	}
	if err := c.checkACLs(nil, b.Settings.IAM.Uniform.Enabled); err != nil {
		return err
	}
	switch c.query.Get("uploadType") {
	case "media":
		return c.insertMedia(w, b)
	case "multipart":
		return c.insertMultipart(w, b)
	case "resumable":
		return c.startResumable(w, b)
	}
	return gcserr.Invalid.Say("Invalid value for uploadType: %q.", c.query.Get("uploadType"))
}

// putUpload serves PUT: a chunk of a resumable upload, or a simple upload, which needs the scope of the POST request.
func (c *Call) putUpload(w http.ResponseWriter) error {
	if kind := c.query.Get("uploadType"); c.query.Has("upload_id") || (kind != "media" && kind != "multipart") {
		return c.continueUpload(w)
	}
	if !c.caller.InScope(identity.Write) {
		return gcserr.Scope
	}
	return c.insertObject(w)
}

// insertion is an object on its way in.
type insertion struct {
	object store.Object
	fields objectFields
}

// describe reads the object resource of an upload.
func (c *Call) describe(b *store.Bucket, raw []byte, contentType string) (*insertion, error) {
	fields, present, err := c.parseObject(raw)
	if err != nil {
		return nil, err
	}
	in := &insertion{object: store.Object{Bucket: b.Name}, fields: fields}
	if err := c.checkACLs(present, b.Settings.IAM.Uniform.Enabled); err != nil {
		return nil, err
	}
	if err := in.fields.apply(&in.object.Attributes, present); err != nil {
		return nil, err
	}
	in.object.Name = cmp.Or(in.fields.Name, c.query.Get("name"))
	c.vars["object"] = in.object.Name
	in.object.ContentType = cmp.Or(in.object.ContentType, contentType)
	in.object.ContentEncoding = cmp.Or(c.query.Get("contentEncoding"), in.object.ContentEncoding)
	in.object.KMSKeyName = c.query.Get("kmsKeyName")
	if in.object.CustomerKey, err = c.newKey(&in.object.Attributes); err != nil {
		return nil, err
	}
	return in, c.creates(b, in.object.Name, &in.object.Attributes)
}

func (c *Call) insertMedia(w http.ResponseWriter, b *store.Bucket) error {
	in, err := c.describe(b, nil, c.r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	body, err := c.api.receive(c.r.Body)
	if err != nil {
		return err
	}
	in.fields.MD5, in.fields.CRC32C = headerSums(c.r.Header)
	return c.finishInsert(w, in, body)
}

// insertMetadata makes an object without a body.
func (c *Call) insertMetadata(w http.ResponseWriter) error {
	b, err := c.bucket()
	if err != nil {
		return err
	}
	raw, err := readAll(c.r.Body, maxJSON)
	if err != nil {
		return err
	}
	in, err := c.describe(b, raw, "")
	if err != nil {
		return err
	}
	body, err := c.api.receive(http.NoBody)
	if err != nil {
		return err
	}
	return c.finishInsert(w, in, body)
}

func (c *Call) finishInsert(w http.ResponseWriter, in *insertion, body received) error {
	if err := errors.Join(body.checkSums(in.fields.MD5, in.fields.CRC32C), body.checkSums(objectSums(c.r.Header))); err != nil {
		c.api.store.Discard(body.segment)
		return err
	}
	o, err := c.keep(in.object, body)
	return c.respondObject(w, o, err)
}

// boundaryOf returns the boundary in a content type, or "" if there is none. gcloud and gsutil quote the boundary
// with apostrophes. RFC 2045 does not allow this, but the service accepts it.
func boundaryOf(contentType string) string {
	kind, params, err := mime.ParseMediaType(contentType)
	if err == nil && strings.HasPrefix(kind, "multipart/") && !strings.HasPrefix(params["boundary"], "'") {
		return params["boundary"]
	}
	_, rest, ok := strings.Cut(contentType, "boundary='")
	boundary, _, closed := strings.Cut(rest, "'")
	if !ok || !closed || !strings.HasPrefix(contentType, "multipart/") {
		return ""
	}
	return boundary
}

// insertMultipart reads the resource and the body from one multipart/related request (RFC 2387).
func (c *Call) insertMultipart(w http.ResponseWriter, b *store.Bucket) error {
	boundary := boundaryOf(c.r.Header.Get("Content-Type"))
	if boundary == "" {
		return gcserr.Invalid.Say("A multipart upload needs the content type multipart/related with a boundary.")
	}
	parts := multipart.NewReader(c.r.Body, boundary)
	meta, err := parts.NextRawPart()
	if err != nil {
		return gcserr.Invalid.Say("The multipart body has no metadata part.")
	}
	raw, err := readAll(meta, maxJSON)
	if err != nil {
		return err
	}
	media, err := parts.NextRawPart()
	if err != nil {
		return gcserr.Invalid.Say("The multipart body has no media part.")
	}
	in, err := c.describe(b, raw, media.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	body, err := c.api.receive(media)
	if err != nil {
		return err
	}
	if _, err := parts.NextRawPart(); !errors.Is(err, io.EOF) {
		c.api.store.Discard(body.segment)
		return gcserr.Invalid.Say("The multipart body does not end after the media part.")
	}
	return c.finishInsert(w, in, body)
}

// resumption is the stored state of a resumable upload from its start: the caller who may complete it, and its
// conditions.
type resumption struct {
	Query  url.Values      `json:"query"`
	Caller identity.Caller `json:"caller"`
	MD5    string          `json:"md5,omitempty"`
	CRC32C string          `json:"crc32c,omitempty"`
	Total  int64           `json:"total"`
}

func (c *Call) startResumable(w http.ResponseWriter, b *store.Bucket) error {
	raw, err := readAll(c.r.Body, maxJSON)
	if err != nil {
		return err
	}
	in, err := c.describe(b, raw, c.r.Header.Get("X-Upload-Content-Type"))
	if err != nil {
		return err
	}
	if err := c.mayFinish(b, in.object.Name); err != nil {
		return err
	}
	state := resumption{Query: c.query, Caller: c.caller, MD5: in.fields.MD5, CRC32C: in.fields.CRC32C, Total: -1}
	if n, err := strconv.ParseInt(c.r.Header.Get("X-Upload-Content-Length"), 10, 64); err == nil {
		state.Total = n
	}
	location, err := c.startUpload(in.object, state)
	if err != nil {
		return err
	}
	w.Header().Set("Location", c.base()+"/upload/storage/v1/b/"+url.PathEscape(b.Name)+"/o?uploadType=resumable&upload_id="+location)
	w.Header().Set("X-Guploader-Uploadid", location)
	return respondEmpty(w, http.StatusOK)
}

func (c *Call) startUpload(o store.Object, state resumption) (id string, err error) {
	extra, err := json.Marshal(state)
	if err != nil {
		return "", err
	}
	u, err := c.api.store.StartUpload(store.Upload{Bucket: o.Bucket, Name: o.Name, Attributes: o.Attributes, CustomerKey: o.CustomerKey, Extra: extra})
	return u.ID, err
}

// contentRange is "bytes first-last/total" with unknown parts as -1.
type contentRange struct {
	first, last, total int64
	// open means that the upload ends with the body, whose length is unknown.
	open bool
}

// parseContentRange reads the forms that resumable uploads use: a range, or "*" for a question about the state.
func parseContentRange(header string, length int64) (contentRange, error) {
	bad := gcserr.Invalid.Say("Failed to parse Content-Range header: %q.", header)
	if header == "" {
		return contentRange{0, length - 1, length, length < 0}, nil
	}
	text, ok := strings.CutPrefix(header, "bytes ")
	span, total, hasTotal := strings.Cut(text, "/")
	if !ok || !hasTotal {
		return contentRange{}, bad
	}
	out := contentRange{first: -1, last: -1, total: -1}
	var err error
	if total != "*" {
		if out.total, err = strconv.ParseInt(total, 10, 64); err != nil || out.total < 0 {
			return out, bad
		}
	}
	if span == "*" {
		return out, nil
	}
	first, last, _ := strings.Cut(span, "-")
	if out.first, err = strconv.ParseInt(first, 10, 64); err != nil || out.first < 0 {
		return out, bad
	}
	if last == "*" { // Google's client for Node sends bytes 0-*/* if it streams
		out.open = out.total < 0
		return out, nil
	}
	if out.last, err = strconv.ParseInt(last, 10, 64); err != nil || out.last < out.first || (out.total >= 0 && out.last >= out.total) {
		return out, bad
	}
	return out, nil
}

// upload finds the upload of a call. Its ID is all that a client needs to go on ("Resumable uploads", "session
// URIs").
func (c *Call) upload() (store.Upload, resumption, error) {
	u, err := c.api.store.Upload(c.query.Get("upload_id"))
	if err == nil && !c.isSession(u.Bucket, u.Name) {
		err = gcserr.NoUpload
	}
	if err != nil {
		return u, resumption{}, err
	}
	var state resumption
	if err := json.Unmarshal(u.Extra, &state); err != nil {
		return u, state, err
	}
	c.vars["object"] = u.Name
	return u, state, nil
}

// isSession reports whether the call has the path of the session URI of an upload. In the JSON API, the path does not
// contain the name of the object.
func (c *Call) isSession(bucket, name string) bool {
	return bucket == c.vars["bucket"] && (c.flavour != inXML || name == c.vars["object"])
}

func (c *Call) cancelUpload(w http.ResponseWriter) error {
	u, _, err := c.upload()
	if err != nil {
		return err
	}
	if err := c.api.store.CancelUpload(u.ID); err != nil {
		return err
	}
	const clientClosed = 499
	return respondEmpty(w, clientClosed)
}

// continueUpload accepts a chunk, or returns how much has arrived.
func (c *Call) continueUpload(w http.ResponseWriter) error {
	if o := c.api.store.Completed(c.query.Get("upload_id")); o != nil && c.isSession(o.Bucket, o.Name) {
		return c.uploaded(w, o)
	}
	u, state, err := c.upload()
	if err != nil {
		return err
	}
	cr, err := parseContentRange(c.r.Header.Get("Content-Range"), c.r.ContentLength)
	if err != nil {
		return err
	}
	if cr.first > u.Size {
		return gcserr.New(http.StatusServiceUnavailable, "backendError", "ServiceUnavailable", "The chunk begins after the end of the received bytes.")
	}
	if err := state.settle(&u, cr.total); err != nil {
		return err
	}
	next, err := c.takeChunk(u, cr)
	if err != nil {
		return err
	}
	if cr.open {
		if err := state.settle(&next, next.Size); err != nil {
			return err
		}
	}
	switch {
	case cr.total >= 0 && next.Size == cr.total, cr.open:
		return c.finishResumable(w, next, state)
	case cr.total >= 0 && next.Size > cr.total:
		return gcserr.Invalid.Say("The upload has received %d bytes, more than its size of %d.", next.Size, cr.total)
	}
	return c.incomplete(w, next.Size)
}

// settle stores the total size of the upload once a client has sent it. A different size is rejected.
func (r *resumption) settle(u *store.Upload, total int64) error {
	switch {
	case total < 0 || total == r.Total:
		return nil
	case r.Total >= 0:
		return gcserr.Invalid.Say("Invalid request. According to the Content-Range header, the final size of the upload is %d byte(s), but an earlier request said %d byte(s).", total, r.Total)
	}
	r.Total = total
	extra, err := json.Marshal(r)
	if err == nil {
		u.Extra = extra
	}
	return err
}

// incomplete responds to an upload that expects more data. The status is 308. Some clients ask for 200 instead,
// because their HTTP libraries treat 308 as a redirect.
func (c *Call) incomplete(w http.ResponseWriter, size int64) error {
	if size > 0 {
		w.Header().Set("Range", "bytes=0-"+strconv.FormatInt(size-1, 10))
	}
	if c.r.Header.Get("X-Guploader-No-308") == "yes" {
		w.Header().Set("X-Http-Status-Code-Override", "308")
		return respondEmpty(w, http.StatusOK)
	}
	return respondEmpty(w, http.StatusPermanentRedirect)
}

// savedMD5 returns the MD5 hash of the bytes that an upload has received.
func savedMD5(u store.Upload) (hash.Hash, error) {
	sum := md5.New() //nolint:gosec // the protocol's hash, not a protection of ours
	if u.MD5State == nil {
		return sum, nil
	}
	return sum, sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(u.MD5State)
}

const chunkUnit = 256 << 10

// takeChunk keeps the bytes of a request that the upload does not have yet.
func (c *Call) takeChunk(u store.Upload, cr contentRange) (store.Upload, error) {
	if cr.first < 0 {
		return u, nil
	}
	if _, err := io.CopyN(io.Discard, c.r.Body, u.Size-cr.first); err != nil && !errors.Is(err, io.EOF) {
		return u, readError(err)
	}
	sum, err := savedMD5(u)
	if err != nil {
		return u, err
	}
	body, err := c.api.receive(io.TeeReader(c.r.Body, sum))
	if err != nil {
		return u, err
	}
	next := u
	next.Segments = append(append([]store.Segment(nil), u.Segments...), body.segment)
	next.Size += body.size
	if cr.last >= 0 && next.Size != max(cr.last+1, u.Size) {
		c.api.store.Discard(body.segment)
		return u, gcserr.Invalid.Say("The body has %d bytes, which differs from the Content-Range.", body.size)
	}
	last := cr.open || (cr.total >= 0 && next.Size == cr.total) || c.r.Header.Get("Content-Range") == ""
	if !last && next.Size%chunkUnit != 0 && body.size < chunkUnit { // a multiple is only recommended, as the tests of the client for Node show
		c.api.store.Discard(body.segment)
		return u, gcserr.Invalid.Say("Invalid request. There were %d byte(s) in the request body. There should have been at least %d.", body.size, chunkUnit)
	}
	if next.MD5State, err = sum.(encoding.BinaryMarshaler).MarshalBinary(); err != nil {
		return u, err
	}
	next.CRC32C = combineCRC(u.CRC32C, body.crc, body.size)
	if err := c.api.store.Extend(u, next); err != nil {
		c.api.store.Discard(body.segment)
		return u, err
	}
	return next, nil
}

// finishResumable creates the object with the access control list from the start of the upload. The caller who started
// the upload must still be authorized.
func (c *Call) finishResumable(w http.ResponseWriter, u store.Upload, state resumption) error {
	sum, err := savedMD5(u)
	if err != nil {
		return err
	}
	body := received{size: u.Size, md5: sum.Sum(nil), crc: u.CRC32C}
	if err := errors.Join(body.checkSums(state.MD5, state.CRC32C), body.checkSums(objectSums(c.r.Header))); err != nil {
		return errors.Join(err, c.api.store.CancelUpload(u.ID))
	}
	c.query, c.caller = state.Query, state.Caller
	b, err := c.bucket()
	if err != nil {
		return err
	}
	if err := c.mayCreate(b, u.Name, &u.Attributes); err != nil {
		return err
	}
	o, err := c.api.store.FinishUpload(u.ID, store.Object{
		Bucket: u.Bucket, Name: u.Name, Attributes: u.Attributes, CustomerKey: u.CustomerKey, Segments: u.Segments, Size: u.Size, MD5: body.md5, CRC32C: u.CRC32C,
	}, c.overwriting(u.Name))
	if err != nil {
		return err
	}
	return c.uploaded(w, o)
}

// uploaded responds with the object that an upload has become, as often as a client asks.
func (c *Call) uploaded(w http.ResponseWriter, o *store.Object) error {
	if c.flavour == inXML {
		return c.xmlStored(w, o)
	}
	return c.respondObject(w, o, nil)
}

// isEmpty reports whether a document has nothing but space.
func isEmpty(raw []byte) bool { return len(bytes.TrimSpace(raw)) == 0 }
