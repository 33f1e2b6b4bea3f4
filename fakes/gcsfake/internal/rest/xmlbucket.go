// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// xmlNamespace is the namespace of the XML API's documents; those of multipart uploads have Amazon S3's.
const (
	xmlNamespace       = "http://doc.s3.amazonaws.com/2006-03-01"
	multipartNamespace = "http://s3.amazonaws.com/doc/2006-03-01/"
)

func (c *Call) xmlListBuckets(w http.ResponseWriter) error {
	if c.caller.Name == "" {
		return c.refused("storage.buckets.list", "the Google Cloud project")
	}
	p, err := c.needProject("storage.buckets.list", c.project())
	if err != nil {
		return err
	}
	type entry struct{ Name, CreationDate string }
	var out struct {
		XMLName xml.Name `xml:"ListAllMyBucketsResult"`
		Xmlns   string   `xml:"xmlns,attr"`
		Owner   struct{ ID string }
		Buckets struct{ Bucket []entry }
	}
	out.Xmlns, out.Owner.ID = xmlNamespace, p.Number
	for _, b := range c.api.store.Buckets(p.ID) {
		out.Buckets.Bucket = append(out.Buckets.Bucket, entry{b.Name, stamp(b.Created)})
	}
	return respondXML(w, out)
}

func (c *Call) xmlPutBucket(w http.ResponseWriter) error {
	if c.caller.Name == "" {
		return c.refused("storage.buckets.create", "the Google Cloud project")
	}
	p, err := c.needProject("storage.buckets.create", c.project())
	if err != nil {
		return err
	}
	var req struct {
		Location     string `xml:"LocationConstraint"`
		StorageClass string
	}
	if err := c.readXML(&req); err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	cfg := config(fields)
	if req.Location != "" {
		cfg.set("location", req.Location)
	}
	if req.StorageClass != "" {
		cfg.set("storageClass", req.StorageClass)
	}
	b, err := c.newBucket(c.vars["bucket"], p, fields)
	if err != nil {
		return err
	}
	if name := c.requestedACL(); name != "" {
		entries, err := c.predefined(predefinedBucket, name, &b)
		if err != nil {
			return err
		}
		b.Policy = b.Policy.WithBucketEntries(entries, c.projectID)
	}
	if b, err = c.api.store.CreateBucket(b); err != nil {
		return err
	}
	w.Header().Set("Location", "/"+b.Name)
	return respondEmpty(w, http.StatusOK)
}

func (c *Call) xmlHeadBucket(w http.ResponseWriter) error {
	b, err := c.bucket("storage.buckets.get")
	if err != nil {
		return err
	}
	w.Header().Set("X-Goog-Metageneration", strconv.FormatInt(b.Metageneration, 10))
	w.Header().Set("X-Goog-Storage-Class", b.Settings.StorageClass)
	w.Header().Set("X-Goog-Bucket-Location", b.Settings.Location)
	w.WriteHeader(http.StatusOK)
	return nil
}

// xmlText is an element that contains only text.
type xmlText struct {
	XMLName xml.Name
	Xmlns   string `xml:"xmlns,attr"`
	Text    string `xml:",chardata"`
}

func (*Call) xmlLocation(b *store.Bucket) (any, error) {
	return xmlText{xml.Name{Local: "LocationConstraint"}, xmlNamespace, b.Settings.Location}, nil
}

func (*Call) xmlStorageClass(b *store.Bucket) (any, error) {
	return xmlText{xml.Name{Local: "StorageClass"}, xmlNamespace, b.Settings.StorageClass}, nil
}

func (*Call) xmlVersioning(b *store.Bucket) (any, error) {
	out := struct {
		XMLName xml.Name `xml:"VersioningConfiguration"`
		Xmlns   string   `xml:"xmlns,attr"`
		Status  string   `xml:",omitempty"`
	}{Xmlns: xmlNamespace}
	if b.Settings.Versioning.Enabled {
		out.Status = "Enabled"
	}
	return out, nil
}

// xmlContents is an object in a listing.
type xmlContents struct {
	Key            string
	Generation     int64
	MetaGeneration int64
	LastModified   string
	ETag           string
	Size           int64
	StorageClass   string
}

type xmlPrefix struct{ Prefix string }

// xmlListing is the response to both forms of a listing.
type xmlListing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Xmlns                 string   `xml:"xmlns,attr"`
	Name                  string
	Prefix                string
	Delimiter             string  `xml:",omitempty"`
	Marker                *string `xml:",omitempty"`
	NextMarker            string  `xml:",omitempty"`
	ContinuationToken     string  `xml:",omitempty"`
	NextContinuationToken string  `xml:",omitempty"`
	StartAfter            string  `xml:",omitempty"`
	KeyCount              *int    `xml:",omitempty"`
	MaxKeys               int
	EncodingType          string `xml:",omitempty"`
	IsTruncated           bool
	Contents              []xmlContents
	CommonPrefixes        []xmlPrefix
}

func (c *Call) xmlListObjects(b *store.Bucket) (any, error) {
	limit, ok, err := c.number("max-keys")
	if err != nil || limit < 0 {
		return nil, gcserr.Invalid.Say("Invalid value for max-keys: %q.", c.query.Get("max-keys"))
	}
	if !ok {
		limit = defaultPage
	}
	q := store.Query{Bucket: b.Name, Prefix: c.query.Get("prefix"), Delimiter: c.query.Get("delimiter"), Max: int(min(limit, defaultPage))}
	second := c.query.Get("list-type") == "2"
	if q.After, q.AfterGeneration, err = c.xmlStart(second); err != nil {
		return nil, err
	}
	page := store.Page{}
	if q.Max > 0 {
		if page, err = c.api.store.List(q); err != nil {
			return nil, err
		}
	}
	return c.xmlPage(q, page, second), nil
}

// afterAll is after every generation of a name.
const afterAll = int64(^uint64(0) >> 1)

// xmlStart returns the name after which a listing continues.
func (c *Call) xmlStart(second bool) (string, int64, error) {
	if !second {
		return c.query.Get("marker"), afterAll, nil
	}
	if token := c.query.Get("continuation-token"); token != "" {
		t, err := parsePageToken(token)
		return t.Name, afterAll, err
	}
	return c.query.Get("start-after"), afterAll, nil
}

// urlEncoded is a name in a listing with encoding-type=url.
func urlEncoded(s string) string { return strings.ReplaceAll(url.PathEscape(s), "%2F", "/") }

func (c *Call) xmlPage(q store.Query, page store.Page, second bool) *xmlListing {
	encode := func(s string) string { return s }
	out := &xmlListing{Xmlns: xmlNamespace, Name: q.Bucket, MaxKeys: q.Max, IsTruncated: page.More}
	if c.query.Get("encoding-type") == "url" {
		out.EncodingType = "url"
		encode = urlEncoded
	}
	out.Prefix, out.Delimiter = encode(q.Prefix), encode(q.Delimiter)
	for _, o := range page.Objects {
		out.Contents = append(out.Contents, xmlContents{encode(o.Name), o.Generation, o.Metageneration, stamp(o.Updated), xmlETag(o), o.Size, o.StorageClass})
	}
	for _, p := range page.Prefixes {
		out.CommonPrefixes = append(out.CommonPrefixes, xmlPrefix{encode(p)})
	}
	if second {
		n := len(page.Objects) + len(page.Prefixes)
		out.KeyCount, out.ContinuationToken, out.StartAfter = &n, c.query.Get("continuation-token"), encode(c.query.Get("start-after"))
		if page.More {
			out.NextContinuationToken = newPageToken(page.Last, 0)
		}
		return out
	}
	marker := encode(c.query.Get("marker"))
	out.Marker = &marker
	if page.More {
		out.NextMarker = encode(page.Last)
	}
	return out
}
