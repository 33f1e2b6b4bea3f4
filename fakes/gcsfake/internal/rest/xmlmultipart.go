// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/xml"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// The documented bounds of uploads in parts ("XML API multipart uploads").
const (
	maxPart     = 10000
	minPartSize = 5 << 20
)

func (c *Call) xmlInitiate(b *store.Bucket) (any, error) {
	o, err := c.xmlNewObject(b)
	if err != nil {
		return nil, err
	}
	if err := c.need("storage.multipartUploads.create", b, o.Name); err != nil {
		return nil, err
	}
	u, err := c.api.store.StartUpload(store.Upload{Bucket: o.Bucket, Name: o.Name, Multipart: true, Attributes: o.Attributes, CustomerKey: o.CustomerKey})
	return struct {
		XMLName     xml.Name `xml:"InitiateMultipartUploadResult"`
		Xmlns       string   `xml:"xmlns,attr"`
		Bucket, Key string
		UploadID    string `xml:"UploadId"`
	}{Xmlns: multipartNamespace, Bucket: o.Bucket, Key: o.Name, UploadID: u.ID}, err
}

// multipartUpload returns the upload of the call after asking for permissions on its object.
func (c *Call) multipartUpload(permissions ...string) (store.Upload, error) {
	b, err := c.bucket()
	if err != nil {
		return store.Upload{}, err
	}
	for _, p := range permissions {
		if err := c.need(p, b, c.vars["object"]); err != nil {
			return store.Upload{}, err
		}
	}
	u, err := c.api.store.Upload(c.query.Get("uploadId"))
	if err == nil && (!u.Multipart || u.Bucket != b.Name || u.Name != c.vars["object"]) {
		err = gcserr.NoUpload
	}
	return u, err
}

func (c *Call) xmlUploadPart(w http.ResponseWriter) error {
	u, err := c.multipartUpload("storage.multipartUploads.create", "storage.objects.create")
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(c.query.Get("partNumber"))
	if err != nil || number < 1 || number > maxPart {
		return gcserr.Invalid.Say("Part number must be an integer between 1 and %d, inclusive.", maxPart)
	}
	if bucket, object := c.copySource(); bucket != "" {
		return gcserr.Unimplemented.Say("This fake does not copy parts (from %s/%s).", bucket, object)
	}
	key, err := c.customerKey(ownKey)
	if err != nil {
		return err
	}
	if err := opens(u.CustomerKey, key); err != nil {
		return err
	}
	body, err := c.xmlReceive()
	if err != nil {
		return err
	}
	p := store.Part{Number: number, Size: body.size, MD5: body.md5, CRC32C: body.crc, Checksum: body.checksum, Modified: c.api.now(), Segment: body.segment}
	if err := c.api.store.PutPart(u.ID, p); err != nil {
		c.api.store.Discard(body.segment)
		return err
	}
	w.Header().Set("ETag", partETag(body.md5))
	w.Header()["X-Goog-Hash"] = c.sums(body.crc, body.md5)
	return respondEmpty(w, http.StatusOK)
}

func (c *Call) xmlComplete(w http.ResponseWriter) error {
	u, err := c.multipartUpload("storage.multipartUploads.create", "storage.objects.create")
	if err != nil {
		return err
	}
	var req struct {
		Part []struct {
			PartNumber int
			ETag       string
			Sums       []partSum `xml:",any"`
		}
	}
	if err := c.readXML(&req); err != nil {
		return err
	}
	if len(req.Part) == 0 {
		return gcserr.New(http.StatusBadRequest, "invalid", "MalformedXML", "You must specify at least one part.")
	}
	o := store.Object{Bucket: u.Bucket, Name: u.Name, Attributes: u.Attributes, CustomerKey: u.CustomerKey, Components: len(req.Part)}
	for i, want := range req.Part {
		p, ok := u.Parts[want.PartNumber]
		switch {
		case i > 0 && want.PartNumber <= req.Part[i-1].PartNumber:
			return gcserr.New(http.StatusBadRequest, "invalid", "InvalidPartOrder", "The list of parts was not in ascending order.")
		case !ok || strings.Trim(want.ETag, `"`) != strings.Trim(partETag(p.MD5), `"`):
			return gcserr.New(http.StatusBadRequest, "invalid", "InvalidPart", "One or more of the specified parts could not be found or its etag does not match.")
		case i < len(req.Part)-1 && p.Size < minPartSize:
			return gcserr.New(http.StatusBadRequest, "invalid", "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed object size.")
		}
		for _, sum := range want.Sums {
			if !sum.is(p.Checksum) {
				return gcserr.New(http.StatusBadRequest, "invalid", "InvalidPart", "The "+sum.XMLName.Local+" of a part does not match the uploaded part.")
			}
		}
		o.Segments = append(o.Segments, p.Segment)
		o.CRC32C = combineCRC(o.CRC32C, p.CRC32C, p.Size)
		o.Size += p.Size
	}
	stored, err := c.api.store.FinishUpload(u.ID, o, c.overwriting(u.Name))
	if err != nil {
		return err
	}
	w.Header().Set("X-Goog-Generation", strconv.FormatInt(stored.Generation, 10))
	w.Header().Set("X-Goog-Hash", "crc32c="+encodeCRC(stored.CRC32C))
	return respondXML(w, struct {
		XMLName                     xml.Name `xml:"CompleteMultipartUploadResult"`
		Xmlns                       string   `xml:"xmlns,attr"`
		Location, Bucket, Key, ETag string
	}{Xmlns: multipartNamespace, Location: c.base() + "/" + u.Bucket + "/" + u.Name, Bucket: u.Bucket, Key: u.Name, ETag: xmlETag(stored)})
}

func (c *Call) xmlAbort(u store.Upload) (any, error) { return nil, c.api.store.CancelUpload(u.ID) }

func (c *Call) xmlListParts(u store.Upload) (any, error) {
	type part struct {
		PartNumber         int
		LastModified, ETag string
		Size               int64
	}
	out := struct {
		XMLName              xml.Name `xml:"ListPartsResult"`
		Xmlns                string   `xml:"xmlns,attr"`
		Bucket, Key          string
		UploadID             string `xml:"UploadId"`
		PartNumberMarker     int
		NextPartNumberMarker int
		MaxParts             int
		IsTruncated          bool
		Part                 []part
	}{Xmlns: multipartNamespace, Bucket: u.Bucket, Key: u.Name, UploadID: u.ID}
	var err error
	if out.MaxParts, err = c.limit("max-parts", 0); err != nil {
		return nil, err
	}
	marker, _, err := c.number("part-number-marker")
	if err != nil {
		return nil, err
	}
	out.PartNumberMarker = int(marker)
	for _, n := range slices.Sorted(maps.Keys(u.Parts)) {
		if n <= out.PartNumberMarker {
			continue
		}
		if len(out.Part) == out.MaxParts {
			out.IsTruncated = true
			break
		}
		p := u.Parts[n]
		out.Part = append(out.Part, part{n, stamp(p.Modified), partETag(p.MD5), p.Size})
		out.NextPartNumberMarker = n
	}
	return out, nil
}

type xmlUpload struct {
	Key       string
	UploadID  string `xml:"UploadId"`
	Initiated string
}

// xmlUploads is a listing of unfinished uploads ("List multipart uploads").
type xmlUploads struct {
	XMLName            xml.Name `xml:"ListMultipartUploadsResult"`
	Xmlns              string   `xml:"xmlns,attr"`
	Bucket             string
	KeyMarker          string
	UploadIDMarker     string `xml:"UploadIdMarker"`
	NextKeyMarker      string `xml:",omitempty"`
	NextUploadIDMarker string `xml:"NextUploadIdMarker,omitempty"`
	Prefix             string
	Delimiter          string `xml:",omitempty"`
	EncodingType       string `xml:",omitempty"`
	MaxUploads         int
	IsTruncated        bool
	Upload             []xmlUpload
	CommonPrefixes     []xmlPrefix
}

func (c *Call) xmlListUploads(b *store.Bucket) (any, error) {
	uploads, err := c.api.store.Uploads(b.Name)
	if err != nil {
		return nil, err
	}
	out := &xmlUploads{
		Xmlns: multipartNamespace, Bucket: b.Name, Prefix: c.query.Get("prefix"), Delimiter: c.query.Get("delimiter"),
		KeyMarker: c.query.Get("key-marker"), UploadIDMarker: c.query.Get("upload-id-marker"),
	}
	if out.MaxUploads, err = c.limit("max-uploads", 0); err != nil {
		return nil, err
	}
	for _, u := range uploads {
		if out.wants(u.Name, u.ID) && !out.add(u) {
			break
		}
	}
	if c.query.Get("encoding-type") == "url" {
		out.encode()
	}
	return out, nil
}

// encode writes all names as encoding-type=url asks for.
func (l *xmlUploads) encode() {
	l.EncodingType = "url"
	texts := []*string{&l.Prefix, &l.Delimiter, &l.KeyMarker, &l.NextKeyMarker}
	for i := range l.Upload {
		texts = append(texts, &l.Upload[i].Key)
	}
	for i := range l.CommonPrefixes {
		texts = append(texts, &l.CommonPrefixes[i].Prefix)
	}
	for _, s := range texts {
		*s = urlEncoded(*s)
	}
}

// wants reports whether an upload is after the markers and has the prefix. Without an upload marker, uploads with the
// marker's key are before it.
func (l *xmlUploads) wants(name, id string) bool {
	after := name > l.KeyMarker || (name == l.KeyMarker && l.UploadIDMarker != "" && id > l.UploadIDMarker)
	return after && strings.HasPrefix(name, l.Prefix)
}

// add shows an upload, or the prefix that it shares with others; it returns false when the listing is full.
func (l *xmlUploads) add(u store.Upload) bool {
	prefix := ""
	if before, _, cut := strings.Cut(u.Name[len(l.Prefix):], l.Delimiter); cut && l.Delimiter != "" {
		prefix = l.Prefix + before + l.Delimiter
	}
	n := len(l.CommonPrefixes)
	if prefix != "" && ((n > 0 && l.CommonPrefixes[n-1].Prefix == prefix) || strings.HasPrefix(l.KeyMarker, prefix)) {
		return true
	}
	if len(l.Upload)+n >= l.MaxUploads {
		l.IsTruncated = true
		return false
	}
	if prefix != "" {
		l.CommonPrefixes = append(l.CommonPrefixes, xmlPrefix{prefix})
		l.NextKeyMarker, l.NextUploadIDMarker = prefix, ""
		return true
	}
	l.Upload = append(l.Upload, xmlUpload{u.Name, u.ID, stamp(u.Created)})
	l.NextKeyMarker, l.NextUploadIDMarker = u.Name, u.ID
	return true
}
