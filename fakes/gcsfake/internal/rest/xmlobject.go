// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

func (c *Call) xmlGetObject(w http.ResponseWriter) error {
	o, b, err := c.object("storage.objects.get")
	if err != nil {
		return err
	}
	if err := c.objectConditions(o, true); err != nil {
		return err
	}
	if err := conditions(c.r.Header, "", o); err != nil {
		return err
	}
	check := c.opened
	if c.r.Method == http.MethodHead {
		check = c.described
	}
	if err := check(o); err != nil {
		return err
	}
	h := w.Header()
	c.objectHeaders(h, o)
	expirationHeader(h, b, o)
	for name, v := range o.Metadata {
		h.Set(c.metaPrefix()+name, v)
	}
	for name, header := range map[string]string{
		"response-content-type": "Content-Type", "response-content-disposition": "Content-Disposition", "response-cache-control": "Cache-Control",
	} {
		if v := c.query.Get(name); v != "" {
			h.Set(header, v)
		}
	}
	return c.serveMedia(w, o)
}

// metaPrefix is the dialect in which custom metadata is returned.
func (c *Call) metaPrefix() string {
	if strings.HasPrefix(c.r.Header.Get("Authorization"), "AWS4-") || c.query.Has("X-Amz-Algorithm") {
		return "X-Amz-Meta-"
	}
	return "X-Goog-Meta-"
}

// sourceConditions checks the conditions on the source of a copy, in either dialect.
func (c *Call) sourceConditions(o *store.Object) error {
	for _, prefix := range []string{"X-Goog-Copy-Source-", "X-Amz-Copy-Source-"} {
		if conditions(c.r.Header, prefix, o) != nil {
			return gcserr.Precondition
		}
	}
	return nil
}

// conditions checks the conditional headers of HTTP with a prefix.
func conditions(h http.Header, prefix string, o *store.Object) error {
	etag, modified := strings.Trim(xmlETag(o), `"`), o.Updated.Truncate(time.Second)
	if v := listOf(h, prefix+"If-Match"); v != "" && !hasTag(v, etag) {
		return gcserr.Precondition
	}
	if v := listOf(h, prefix+"If-None-Match"); v != "" {
		if hasTag(v, etag) {
			return gcserr.NotModified
		}
	} else if t, err := http.ParseTime(h.Get(prefix + "If-Modified-Since")); err == nil && !modified.After(t) {
		return gcserr.NotModified
	}
	if t, err := http.ParseTime(h.Get(prefix + "If-Unmodified-Since")); err == nil && modified.After(t) {
		return gcserr.Precondition
	}
	return nil
}

// xmlAttributes are the attributes in the headers of an upload.
func (c *Call) xmlAttributes() (store.Attributes, error) {
	h := c.r.Header
	a := store.Attributes{
		ContentType: h.Get("Content-Type"), ContentLanguage: listOf(h, "Content-Language"), ContentDisposition: h.Get("Content-Disposition"),
		CacheControl: listOf(h, "Cache-Control"), StorageClass: h.Get("X-Goog-Storage-Class"), KMSKeyName: h.Get("X-Goog-Encryption-Kms-Key-Name"),
		Metadata: metadataHeaders(h),
	}
	var encodings []string
	for e := range strings.SplitSeq(listOf(h, "Content-Encoding"), ",") {
		if e = strings.TrimSpace(e); e != "" && e != "aws-chunked" {
			encodings = append(encodings, e)
		}
	}
	a.ContentEncoding = strings.Join(encodings, ",")
	a.StorageClass = cmp.Or(a.StorageClass, h.Get("X-Amz-Storage-Class"))
	if v := h.Get("X-Goog-Custom-Time"); v != "" {
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return a, gcserr.Invalid.Say("Invalid x-goog-custom-time: %q.", v)
		}
		a.CustomTime = &t
	}
	return a, checkClass(a.StorageClass)
}

// xmlNewObject reads the attributes and the key of a new object, and asks for the permissions to create it.
func (c *Call) xmlNewObject(b *store.Bucket) (store.Object, error) {
	o := store.Object{Bucket: b.Name, Name: c.vars["object"]}
	err := c.xmlACL(b)
	if err == nil {
		o.Attributes, err = c.xmlAttributes()
	}
	if err == nil {
		o.CustomerKey, err = c.newKey(&o.Attributes)
	}
	if err == nil {
		err = c.creates(b, o.Name, &o.Attributes)
	}
	return o, err
}

// xmlACL rejects canned ACLs under uniform access, even private.
func (c *Call) xmlACL(b *store.Bucket) error {
	if c.requestedACL() != "" && b.Settings.IAM.Uniform.Enabled {
		return gcserr.Invalid.Say("Cannot insert legacy ACL for an object when uniform bucket-level access is enabled. Read more at https://cloud.google.com/storage/docs/uniform-bucket-level-access")
	}
	return nil
}

func (c *Call) xmlPutObject(w http.ResponseWriter) error {
	b, err := c.bucket()
	if err != nil {
		return err
	}
	if bucket, object := c.copySource(); bucket != "" {
		return c.xmlCopy(w, b, bucket, object)
	}
	o, err := c.xmlNewObject(b)
	if err != nil {
		return err
	}
	body, err := c.xmlReceive()
	if err != nil {
		return err
	}
	stored, err := c.keep(o, body)
	if err != nil {
		return err
	}
	return c.xmlStored(w, stored)
}

// xmlReceive reads the body and compares it with the sums in the headers.
func (c *Call) xmlReceive() (received, error) {
	src, err := sigv4.NewBody(c.r, c.verified)
	if err != nil {
		return received{}, err
	}
	if src.Size() < 0 {
		return received{}, gcserr.LengthRequired
	}
	sums, err := c.s3Sums(src)
	if err != nil {
		return received{}, err
	}
	body, err := c.api.receive(sums)
	if err != nil {
		return body, err
	}
	body.checksum = sums.sent()
	if err := errors.Join(body.checkSums(headerSums(c.r.Header)), sums.check()); err != nil {
		c.api.store.Discard(body.segment)
		return body, err
	}
	return body, nil
}

func (c *Call) xmlStored(w http.ResponseWriter, o *store.Object) error {
	h := w.Header()
	c.objectHeaders(h, o)
	for _, name := range []string{"Content-Encoding", "Last-Modified", "Accept-Ranges", "Content-Disposition", "Content-Language", "Cache-Control", "X-Goog-Storage-Class"} {
		h.Del(name)
	}
	h.Set("Content-Type", "text/html; charset=UTF-8")
	return respondEmpty(w, http.StatusOK)
}

func (c *Call) xmlCopy(w http.ResponseWriter, to *store.Bucket, bucket, object string) error {
	if err := c.xmlACL(to); err != nil {
		return err
	}
	c.vars["sourceBucket"], c.vars["sourceObject"] = bucket, object
	from, err := c.source()
	if err != nil {
		return err
	}
	if err := c.sourceConditions(from); err != nil {
		return err
	}
	key, err := c.copyKeys(from, false)
	if err != nil {
		return err
	}
	a := copied(from, to)
	a.KMSKeyName = c.r.Header.Get("X-Goog-Encryption-Kms-Key-Name")
	if strings.EqualFold(c.r.Header.Get("X-Goog-Metadata-Directive")+c.r.Header.Get("X-Amz-Metadata-Directive"), "REPLACE") {
		if a, err = c.xmlAttributes(); err != nil {
			return err
		}
	}
	name := c.vars["object"]
	if err := c.creates(to, name, &a); err != nil {
		return err
	}
	o, err := c.keepCopy(store.Object{Bucket: to.Name, Name: name, Attributes: a, CustomerKey: key, Components: from.Components}, from)
	if err != nil {
		return err
	}
	w.Header().Set("X-Goog-Generation", strconv.FormatInt(o.Generation, 10))
	return respondXML(w, struct {
		XMLName            xml.Name `xml:"CopyObjectResult"`
		Xmlns              string   `xml:"xmlns,attr"`
		LastModified, ETag string
	}{Xmlns: xmlNamespace, LastModified: stamp(o.Updated), ETag: xmlETag(o)})
}

func (c *Call) xmlStartResumable(w http.ResponseWriter) error {
	if c.r.Header.Get("X-Goog-Resumable") != "start" {
		return gcserr.Invalid.Say("A POST to an object starts a resumable upload, which needs x-goog-resumable: start. Send forms to the bucket.")
	}
	b, err := c.bucket()
	if err != nil {
		return err
	}
	o, err := c.xmlNewObject(b)
	if err != nil {
		return err
	}
	if err := c.mayFinish(b, o.Name); err != nil {
		return err
	}
	id, err := c.startUpload(o, resumption{Query: c.query, Caller: c.caller, Total: -1})
	if err != nil {
		return err
	}
	w.Header().Set("Location", c.base()+"/"+b.Name+"/"+(&url.URL{Path: o.Name}).EscapedPath()+"?upload_id="+id)
	return respondEmpty(w, http.StatusCreated)
}

// xmlDeleteObjects deletes several objects and reports on each.
func (c *Call) xmlDeleteObjects(w http.ResponseWriter) error {
	b, err := c.bucket()
	if err != nil {
		return err
	}
	var req struct {
		Quiet  bool
		Object []struct {
			Key       string
			VersionID string `xml:"VersionId"`
		}
	}
	if err := c.readXML(&req); err != nil {
		return err
	}
	const maxKeys = 1000
	if len(req.Object) == 0 || len(req.Object) > maxKeys {
		return gcserr.New(http.StatusBadRequest, "invalid", "MalformedXML", "The request must name between 1 and 1000 objects.")
	}
	type deleted struct{ Key string }
	type failed struct{ Key, Code, Message string }
	out := struct {
		XMLName xml.Name `xml:"DeleteResult"`
		Xmlns   string   `xml:"xmlns,attr"`
		Deleted []deleted
		Error   []failed
	}{Xmlns: xmlNamespace}
	for _, o := range req.Object {
		err := c.need("storage.objects.delete", b, o.Key)
		if err == nil {
			generation, _ := strconv.ParseInt(o.VersionID, 10, 64) // an invalid generation means the live one
			err = c.api.store.Delete(b.Name, o.Key, generation, nil)
		}
		switch {
		case err == nil, errors.Is(err, gcserr.NoObject):
			if !req.Quiet {
				out.Deleted = append(out.Deleted, deleted{o.Key})
			}
		default:
			e := gcserr.From(err)
			out.Error = append(out.Error, failed{o.Key, e.Code, e.Message})
		}
	}
	return respondXML(w, out)
}

// partETag is the etag of a part.
func partETag(md5 []byte) string { return `"` + hex.EncodeToString(md5) + `"` }
