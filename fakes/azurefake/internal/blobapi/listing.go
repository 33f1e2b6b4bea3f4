// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"encoding/base64"
	"encoding/xml"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

// maxResults is the size of a page, which a request can only make smaller.
const maxResults = 5000

// listing contains the parameters of a list request.
type listing struct {
	prefix, delimiter, marker, from string
	// state is the first to show of the entry from, "" for all.
	state   string
	max     int
	include map[string]bool
}

func (c *Call) readListing(allowed ...string) (listing, error) {
	q := c.query
	l := listing{prefix: q.Get("prefix"), delimiter: q.Get("delimiter"), marker: q.Get("marker"), include: map[string]bool{}}
	var err error
	if l.max, err = c.pageOf(maxResults); err != nil {
		return l, err
	}
	if l.marker != "" {
		raw, err := base64.RawURLEncoding.DecodeString(l.marker)
		if err != nil {
			return l, azerr.InvalidQueryValue
		}
		l.from, l.state, _ = strings.Cut(string(raw), "\x00")
	}
	for _, group := range q["include"] {
		for name := range strings.SplitSeq(group, ",") {
			if name == "" {
				continue
			}
			if name = strings.ToLower(name); !slices.Contains(allowed, name) {
				return l, azerr.InvalidQueryValue
			}
			l.include[name] = true
		}
	}
	return l, nil
}

// pageOf returns the size of a page: limit, or less if the request asks for it.
func (c *Call) pageOf(limit int) (int, error) {
	text := c.query.Get("maxresults")
	if text == "" {
		return limit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, azerr.InvalidQueryValue
	}
	if n < 1 {
		return 0, azerr.New(http.StatusBadRequest, "OutOfRangeQueryParameterValue", "A query parameter specified in the request URI is outside the permissible range.")
	}
	return min(n, limit), nil
}

// marker encodes the start of the next page as an opaque name.
func marker(from string) string { return base64.RawURLEncoding.EncodeToString([]byte(from)) }

type metadataXML map[string]string

// MarshalXML implements xml.Marshaler. It writes one element per name.
func (m metadataXML) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if err := e.EncodeElement(m[name], xml.StartElement{Name: xml.Name{Local: name}}); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

type containerXML struct {
	Name       string
	Version    string `xml:",omitempty"`
	Deleted    bool   `xml:",omitempty"`
	Properties containerPropertiesXML
	Metadata   metadataXML `xml:",omitempty"`
}

type containerPropertiesXML struct {
	LastModified         string `xml:"Last-Modified"`
	Etag                 string
	LeaseStatus          string
	LeaseState           string
	LeaseDuration        string `xml:",omitempty"`
	PublicAccess         string `xml:",omitempty"`
	HasImmutability      bool   `xml:"HasImmutabilityPolicy"`
	HasLegalHold         bool
	DefaultScope         string `xml:"DefaultEncryptionScope"`
	DenyScope            bool   `xml:"DenyEncryptionScopeOverride"`
	ImmutableWithVersion bool   `xml:"ImmutableStorageWithVersioningEnabled"`
	DeletedTime          string `xml:",omitempty"`
	RemainingDays        *int   `xml:"RemainingRetentionDays,omitempty"`
}

func (c *Call) listContainers(w http.ResponseWriter) error {
	l, err := c.readListing("metadata", "deleted", "system")
	if err != nil {
		return err
	}
	doc := struct {
		XMLName    xml.Name `xml:"EnumerationResults"`
		Endpoint   string   `xml:"ServiceEndpoint,attr"`
		Prefix     string   `xml:",omitempty"`
		Marker     string   `xml:",omitempty"`
		MaxResults int
		Containers []containerXML `xml:"Containers>Container"`
		NextMarker string
	}{Endpoint: c.endpoint(), Prefix: l.prefix, Marker: l.marker, MaxResults: l.max}
	all := c.api.Store.Containers(c.Target.Account)
	if l.include["deleted"] {
		all = append(all, c.api.Store.KeptContainers(c.Target.Account)...)
	}
	at := func(one store.Container) string { return one.Name + "\x00" + one.Version }
	slices.SortFunc(all, func(a, b store.Container) int { return strings.Compare(at(a), at(b)) })
	for _, found := range all {
		if !strings.HasPrefix(found.Name, l.prefix) || at(found) < l.from+"\x00"+l.state {
			continue
		}
		if len(doc.Containers) == l.max {
			doc.NextMarker = marker(at(found))
			break
		}
		doc.Containers = append(doc.Containers, c.containerXML(found, l.include["metadata"]))
	}
	return writeXML(w, http.StatusOK, doc)
}

func (c *Call) containerXML(found store.Container, meta bool) containerXML {
	status, state, duration := c.leaseText(found.Lease)
	one := containerXML{Name: found.Name, Properties: containerPropertiesXML{
		LastModified: httpTime(found.Modified), Etag: quoted(found.ETag),
		LeaseStatus: status, LeaseState: state, LeaseDuration: duration, PublicAccess: found.PublicAccess, DefaultScope: scopeOf(found), DenyScope: found.DenyOverride,
	}}
	if meta {
		one.Metadata = found.Metadata
	}
	if found.Version != "" {
		left := int(found.KeptUntil.Sub(c.api.Now()) / (24 * time.Hour))
		one.Version, one.Deleted = found.Version, true
		one.Properties.DeletedTime, one.Properties.RemainingDays = httpTime(found.Deleted), &left
	}
	return one
}

func (c *Call) leaseText(l store.Lease) (status, state, duration string) {
	now := c.api.Now()
	status, state = "unlocked", string(l.State(now))
	if l.Locked(now) {
		status = "locked"
	}
	switch {
	case l.State(now) != store.Leased:
	case l.Duration == store.Infinite:
		duration = "infinite"
	default:
		duration = "fixed"
	}
	return status, state, duration
}

func (c *Call) endpoint() string {
	scheme := "http"
	if c.r.TLS != nil {
		scheme = "https"
	}
	end := "/"
	if c.api.hostAccount(c.r.Host) == "" {
		end = "/" + c.Target.Account + "/"
		if c.secondary {
			end = "/" + c.Target.Account + secondarySuffix + "/"
		}
	}
	return scheme + "://" + c.r.Host + end
}

type blobXML struct {
	XMLName   xml.Name `xml:"Blob"` // a listing mixes blobs and prefixes
	Name      nameXML
	Deleted   bool   `xml:",omitempty"`
	Snapshot  string `xml:",omitempty"`
	VersionID string `xml:"VersionId,omitempty"`
	Current   bool   `xml:"IsCurrentVersion,omitempty"`

	Properties   blobPropertiesXML
	Metadata     metadataXML `xml:",omitempty"`
	VersionsOnly bool        `xml:"HasVersionsOnly,omitempty"`
	Tags         *[]tagXML   `xml:"Tags>TagSet>Tag"`
	// OrMetadata is about object replication, which the fake does not have. The service always returns it.
	OrMetadata string
}

type blobPropertiesXML struct {
	CreationTime       string `xml:"Creation-Time,omitempty"`
	LastModified       string `xml:"Last-Modified,omitempty"`
	Etag               string
	ContentLength      int64  `xml:"Content-Length"`
	ContentType        string `xml:"Content-Type"`
	ContentEncoding    string `xml:"Content-Encoding"`
	ContentLanguage    string `xml:"Content-Language"`
	ContentCRC64       string `xml:"Content-CRC64"`
	ContentMD5         string `xml:"Content-MD5"`
	CacheControl       string `xml:"Cache-Control"`
	ContentDisposition string `xml:"Content-Disposition"`
	Sequence           *int64 `xml:"x-ms-blob-sequence-number,omitempty"`
	BlobType           string
	AccessTier         string `xml:",omitempty"`
	AccessTierInferred bool   `xml:",omitempty"`
	AccessTierChanged  string `xml:"AccessTierChangeTime,omitempty"`
	ArchiveStatus      string `xml:",omitempty"`
	RehydratePriority  string `xml:",omitempty"`
	LeaseStatus        string `xml:",omitempty"`
	LeaseState         string `xml:",omitempty"`
	LeaseDuration      string `xml:",omitempty"`
	ServerEncrypted    bool
	EncryptionScope    string `xml:",omitempty"`
	TagCount           int    `xml:",omitempty"`
	Sealed             bool   `xml:",omitempty"`
	CopyID             string `xml:"CopyId,omitempty"`
	CopySource         string `xml:",omitempty"`
	CopyStatus         string `xml:",omitempty"`
	CopyProgress       string `xml:",omitempty"`
	CopyCompletionTime string `xml:",omitempty"`
	DeletedTime        string `xml:",omitempty"`
	RemainingDays      *int   `xml:"RemainingRetentionDays,omitempty"`
}

type blobPrefixXML struct {
	XMLName xml.Name `xml:"BlobPrefix"`
	Name    nameXML
}

type blobsXML struct {
	XMLName    xml.Name `xml:"EnumerationResults"`
	Endpoint   string   `xml:"ServiceEndpoint,attr"`
	Container  string   `xml:"ContainerName,attr"`
	Prefix     string   `xml:",omitempty"`
	Marker     string   `xml:",omitempty"`
	MaxResults int
	Delimiter  string `xml:",omitempty"`
	Blobs      struct {
		Items []any
	}
	NextMarker string
}

// versionsWithDelimiter is the first service version that lists versions with a delimiter. Microsoft's clients began
// to support such listings with this version, in October 2022. The API reference does not document it.
const versionsWithDelimiter = "2021-12-02"

func (c *Call) listBlobs(w http.ResponseWriter) error {
	l, err := c.readListing("snapshots", "metadata", "uncommittedblobs", "copy", "deleted", "tags", "versions", "deletedwithversions", "immutabilitypolicy", "legalhold", "permissions")
	if err != nil {
		return err
	}
	if l.delimiter != "" && (l.include["snapshots"] || l.include["deletedwithversions"] || l.include["versions"] && w.Header().Get("X-Ms-Version") < versionsWithDelimiter) {
		return azerr.InvalidQueryValue // "Listing versions and using a delimiter are mutually exclusive."
	}
	doc := blobsXML{Endpoint: c.endpoint(), Container: c.Target.Container, Prefix: l.prefix, Marker: l.marker, MaxResults: l.max, Delimiter: l.delimiter}
	// "List Blobs": the first name to list, and the first that is not.
	q := c.query
	if start := q.Get("startFrom"); start > l.from {
		l.from, l.state = start, ""
	}
	end := q.Get("endBefore")
	last := ""
	err = c.api.Store.Walk(c.Target.Account, c.Target.Container, l.prefix, l.from, func(e *store.Entry) bool {
		if end != "" && e.Name >= end {
			return false
		}
		items := c.itemsOf(e, l)
		if len(items) == 0 {
			return true
		}
		if cut := l.common(e.Name); cut != "" {
			if cut == last {
				return true
			}
			items = []item{{xml: blobPrefixXML{Name: nameXML(cut)}}}
			last = cut
		}
		for _, one := range items {
			if len(doc.Blobs.Items) == l.max {
				doc.NextMarker = marker(e.Name + "\x00" + one.state)
				return false
			}
			doc.Blobs.Items = append(doc.Blobs.Items, one.xml)
		}
		return true
	})
	if err != nil {
		return err
	}
	return writeXML(w, http.StatusOK, doc)
}

// common is the name up to the delimiter after the prefix, "" without one.
func (l listing) common(name string) string {
	if l.delimiter == "" {
		return ""
	}
	head, _, found := strings.Cut(name[len(l.prefix):], l.delimiter)
	if !found {
		return ""
	}
	return l.prefix + head + l.delimiter
}

// item is an element of a listing. State orders the items of one entry and identifies the start of the next page,
// even if items are removed in between.
type item struct {
	state string
	xml   any
}

// The kinds of states in their order.
const (
	stateSnapshot = "1"
	stateVersion  = "2"
	stateDeleted  = "3"
	stateCurrent  = "4"
)

// itemsOf are the states of an entry that the listing asks for, oldest first.
func (c *Call) itemsOf(e *store.Entry, l listing) []item {
	var out []item
	add := func(state string, xml func() blobXML) {
		if e.Name != l.from || state >= l.state {
			out = append(out, item{state, xml()})
		}
	}
	if l.include["snapshots"] {
		for _, b := range e.Snapshots {
			add(stateSnapshot+b.Snapshot, func() blobXML { return c.blobXML(e, b, l) })
		}
	}
	if l.include["versions"] {
		for _, b := range e.Versions {
			add(stateVersion+b.Version, func() blobXML { return c.blobXML(e, b, l) })
		}
	}
	c.deletedItems(e, l, add)
	slices.SortStableFunc(out, func(a, b item) int { return strings.Compare(a.state, b.state) })
	switch {
	case e.Current != nil:
		add(stateCurrent, func() blobXML { return c.blobXML(e, e.Current, l) })
	case l.include["deletedwithversions"] && !l.include["versions"] && len(e.Versions) > 0:
		add(stateCurrent, func() blobXML {
			one := c.blobXML(e, e.Versions[len(e.Versions)-1], l)
			one.VersionsOnly = true
			return one
		})
	case l.include["uncommittedblobs"] && e.HasUncommitted():
		add(stateCurrent, func() blobXML {
			return blobXML{Name: nameXML(e.Name), Properties: blobPropertiesXML{BlobType: string(store.BlockBlob), ContentType: anyContent}}
		})
	}
	return out
}

// nameXML is a name in a listing. A name that XML cannot represent is percent-encoded and marked as such.
type nameXML string

// MarshalXML implements xml.Marshaler.
func (n nameXML) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if strings.ContainsFunc(string(n), notXML) {
		start.Attr = append(start.Attr, xml.Attr{Name: xml.Name{Local: "Encoded"}, Value: "true"})
		return e.EncodeElement(strings.ReplaceAll(url.QueryEscape(string(n)), "+", "%20"), start)
	}
	return e.EncodeElement(string(n), start)
}

// notXML reports whether an XML document cannot contain a character (section 2.2 of "Extensible Markup Language (XML)
// 1.0").
func notXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

func (c *Call) blobXML(e *store.Entry, b *store.Blob, l listing) blobXML {
	h := b.Headers
	one := blobXML{Name: nameXML(e.Name), Snapshot: b.Snapshot, Properties: blobPropertiesXML{
		CreationTime: httpTime(b.Created), LastModified: httpTime(b.Modified), Etag: b.ETag, ContentLength: b.Size, ContentType: h["Content-Type"],
		ContentEncoding: h["Content-Encoding"], ContentLanguage: h["Content-Language"], ContentMD5: h["Content-Md5"], CacheControl: h["Cache-Control"],
		ContentDisposition: h["Content-Disposition"], BlobType: string(b.Type), ServerEncrypted: true, EncryptionScope: b.Scope, TagCount: len(b.Tags), Sealed: b.Sealed,
	}}
	p := &one.Properties
	if b.Type == store.PageBlob {
		p.Sequence = &b.Sequence
	}
	if l.include["versions"] {
		one.VersionID, one.Current = b.Version, b == e.Current && b.Version != ""
	}
	if b.Type == store.BlockBlob {
		p.AccessTier, p.AccessTierInferred = b.Tier, b.Tier == ""
		if b.Tier == "" {
			p.AccessTier = "Hot"
		} else {
			p.AccessTierChanged = httpTime(b.TierChanged)
		}
	}
	if r := b.Rehydration; r != nil {
		p.ArchiveStatus, p.RehydratePriority = archiveStatus(r), r.Priority
	}
	if b == e.Current {
		p.LeaseStatus, p.LeaseState, p.LeaseDuration = c.leaseText(e.Lease)
	}
	if l.include["metadata"] {
		one.Metadata = b.Metadata
	}
	if l.include["tags"] && len(b.Tags) > 0 {
		tags := tagsOf(b.Tags)
		one.Tags = &tags
	}
	if l.include["copy"] && b.Copy != nil {
		p.CopyID, p.CopySource, p.CopyStatus, p.CopyCompletionTime = b.Copy.ID, b.Copy.Source, "success", httpTime(b.Copy.Completed)
		p.CopyProgress = progress(b.Copy)
	}
	return one
}
