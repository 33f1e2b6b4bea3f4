// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"cmp"
	"encoding/xml"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

const (
	pageSize = 512
	// maxPageBlob is the largest page blob, and maxPutPage the largest range that Put Page can write.
	maxPageBlob = 8 << 40
	maxPutPage  = 4 << 20
	// maxRanges is the number of ranges that a response can have since the version pagedRanges. Earlier ones have all.
	maxRanges   = 10000
	pagedRanges = "2020-10-02"
)

var (
	errPageRange   = azerr.New(http.StatusRequestedRangeNotSatisfiable, "InvalidPageRange", "The page range specified is invalid.")
	errPageType    = azerr.New(http.StatusBadRequest, "InvalidHeaderValue", "Only page blobs have a sequence number and a size that can be set.")
	errOverflow    = azerr.New(http.StatusConflict, "SequenceNumberIncrementTooLarge", "The sequence number increment cannot be performed because it would result in overflow of the sequence number.")
	errSequence    = azerr.New(http.StatusPreconditionFailed, "SequenceNumberConditionNotMet", "The sequence number condition specified was not met.")
	errNoSnapshot  = azerr.New(http.StatusConflict, "PreviousSnapshotNotFound", "The previous snapshot is not found.")
	errNewer       = azerr.New(http.StatusBadRequest, "PreviousSnapshotCannotBeNewer", "The prevsnapshot query parameter value cannot be newer than snapshot query parameter value.")
	errOverwritten = azerr.New(http.StatusConflict, "BlobOverwritten", "The blob has been recreated since the previous snapshot was taken.")
)

// pageBlobSize returns the size that the request sets for a page blob.
func (c *Call) pageBlobSize() (size int64, given bool, err error) {
	size, given, err = c.number("X-Ms-Blob-Content-Length")
	if size > maxPageBlob || size%pageSize != 0 {
		err = azerr.InvalidHeaderValue
	}
	return size, given, err
}

// newPages gives a new page blob its size and its sequence number. All pages are cleared.
func (c *Call) newPages(b *store.Blob) error {
	size, given, err := c.pageBlobSize()
	if err == nil && !given {
		err = azerr.MissingHeader
	}
	if err != nil {
		return err
	}
	b.Size, b.Blocks = size, b.Resized(size)
	b.Sequence, _, err = c.number("X-Ms-Blob-Sequence-Number")
	return err
}

// editPages applies the size and the sequence number that Set Blob Properties sets. It reports whether it sets any.
func (c *Call) editPages(b *store.Blob) (bool, error) {
	size, resizes, err := c.pageBlobSize()
	number, given, numberErr := c.number("X-Ms-Blob-Sequence-Number")
	action := c.r.Header.Get("X-Ms-Sequence-Number-Action")
	renumbers := given || action != ""
	switch {
	case err != nil || numberErr != nil:
		return false, azerr.InvalidHeaderValue
	case (resizes || renumbers) && b.Type != store.PageBlob:
		return false, errPageType
	}
	if resizes {
		b.Blocks, b.Size = b.Resized(size), size
	}
	if renumbers {
		b.Sequence, err = nextSequence(b.Sequence, action, number, given)
	}
	return resizes || renumbers, err
}

// nextSequence returns the sequence number after an action. The action increment has no number.
func nextSequence(is int64, action string, number int64, given bool) (int64, error) {
	switch action {
	case "increment":
		if given {
			return 0, azerr.InvalidHeaderValue
		}
		if is == math.MaxInt64 {
			return 0, errOverflow
		}
		return is + 1, nil
	case "max", "update":
		if !given {
			return 0, azerr.MissingHeader
		}
		if action == "max" {
			return max(is, number), nil
		}
		return number, nil
	case "":
		return 0, azerr.MissingHeader
	}
	return 0, azerr.InvalidHeaderValue
}

// setSequence sets the header with the sequence number of a page blob.
func setSequence(w http.ResponseWriter, b *store.Blob) {
	if b.Type == store.PageBlob {
		w.Header().Set("X-Ms-Blob-Sequence-Number", strconv.FormatInt(b.Sequence, 10))
	}
}

// parsePages reads the range of Put Page, which consists of complete pages.
func parsePages(h http.Header) (span, error) {
	value := cmp.Or(h.Get("X-Ms-Range"), h.Get("Range"))
	if value == "" {
		return span{}, azerr.MissingHeader
	}
	spec, ok := strings.CutPrefix(value, "bytes=")
	first, last, _ := strings.Cut(spec, "-")
	start, startErr := strconv.ParseUint(first, 10, 62)
	end, endErr := strconv.ParseUint(last, 10, 62)
	switch {
	case !ok || startErr != nil || endErr != nil:
		return span{}, azerr.InvalidHeaderValue
	case end < start || start%pageSize != 0 || (end+1)%pageSize != 0:
		return span{}, errPageRange
	}
	return span{int64(start), int64(end - start + 1), true}, nil
}

// clearsPages reports whether Put Page clears the pages instead of writing them.
func (c *Call) clearsPages() (bool, error) {
	h := c.r.Header
	switch h.Get("X-Ms-Page-Write") {
	case "":
		return false, azerr.MissingHeader
	case "update":
		return false, nil
	case "clear":
		if c.r.ContentLength == 0 && h.Get("Content-Md5")+h.Get("X-Ms-Content-Crc64")+h.Get("X-Ms-Copy-Source") == "" {
			return true, nil
		}
	}
	return false, azerr.InvalidHeaderValue
}

// putPage implements Put Page and Put Page From URL.
func (c *Call) putPage(w http.ResponseWriter) error {
	part, err := parsePages(c.r.Header)
	if err != nil {
		return err
	}
	clears, err := c.clearsPages()
	if err == nil {
		err = c.api.Store.View(c.ref(), func(e *store.Entry) error { return c.mayPutPage(e, part) })
	}
	if err != nil {
		return err
	}
	var body received
	if !clears {
		if body, err = c.receivePages(part); err != nil {
			return err
		}
	}
	var next store.Blob
	err = c.write(body, func(e *store.Change) error {
		err := c.mayPutPage(&e.Entry, part)
		if err == nil {
			err = c.namesScope(e)
		}
		if err != nil {
			return err
		}
		next = *e.Current
		if next.Blocks, err = e.Current.WithPages(part.offset, part.length, body.id); err != nil {
			return err
		}
		next.ETag, next.Modified = store.NewETag(), c.api.Now()
		e.Current, e.Lease = &next, e.Lease.AfterWrite(c.api.Now())
		return nil
	})
	if err != nil {
		return err
	}
	if !clears {
		c.checked(w, body)
	}
	setSequence(w, &next)
	c.created(w, &next, "")
	return nil
}

// receivePages reads pages from the body of the request or from another blob.
func (c *Call) receivePages(part span) (received, error) {
	body, err := c.receivePart(maxPutPage)
	if err == nil && body.size != part.length {
		c.api.Store.Discard(body.id)
		err = azerr.InvalidHeaderValue
	}
	return body, err
}

func (c *Call) mayPutPage(e *store.Entry, part span) error {
	if err := cmp.Or(checkType(e.Current, store.PageBlob), c.unchanged(e)); err != nil {
		return err
	}
	if err := c.inSequence(e.Current.Sequence); err != nil {
		return err
	}
	if part.offset+part.length > e.Current.Size {
		return errPageRange
	}
	return nil
}

// inSequence applies the conditions on the sequence number.
func (c *Call) inSequence(is int64) error {
	for _, condition := range []struct {
		header string
		met    func(number int64) bool
	}{
		{"X-Ms-If-Sequence-Number-Le", func(number int64) bool { return is <= number }},
		{"X-Ms-If-Sequence-Number-Lt", func(number int64) bool { return is < number }},
		{"X-Ms-If-Sequence-Number-Eq", func(number int64) bool { return is == number }},
	} {
		number, given, err := c.number(condition.header)
		switch {
		case strings.HasPrefix(c.r.Header.Get(condition.header), "-"):
			return azerr.InvalidInput // azblob's TestBlobPutPagesIfSequenceNumberLTENegOne records this code
		case err != nil:
			return err
		case given && !condition.met(number):
			return errSequence
		}
	}
	return nil
}

type pageListXML struct {
	XMLName    xml.Name `xml:"PageList"`
	Ranges     []pageRangeXML
	NextMarker string
}

type pageRangeXML struct {
	XMLName    xml.Name
	Start, End int64
}

// getPageRanges implements Get Page Ranges.
func (c *Call) getPageRanges(w http.ResponseWriter) error {
	var doc pageListXML
	l := listing{max: math.MaxInt}
	if w.Header().Get("X-Ms-Version") >= pagedRanges {
		var err error
		if l, err = c.readListing(); err == nil {
			l.max, err = c.pageOf(maxRanges)
		}
		if err != nil {
			return err
		}
	}
	err := c.look(func(e *store.Entry, b *store.Blob) error {
		if err := checkType(b, store.PageBlob); err != nil {
			return err
		}
		begin, end, err := c.listedPages(l, b.Size)
		if err != nil {
			return err
		}
		before, err := c.previous(e, b)
		if err != nil {
			return err
		}
		doc.add(b.Ranges(begin, end, before), l.max)
		setState(w, b.ETag, b.Modified)
		w.Header().Set("X-Ms-Blob-Content-Length", strconv.FormatInt(b.Size, 10))
		return nil
	})
	if err != nil {
		return err
	}
	return writeXML(w, http.StatusOK, doc)
}

// listedPages returns the offsets of the pages that the range of the request touches, from the marker on.
func (c *Call) listedPages(l listing, size int64) (begin, end int64, err error) {
	part, err := rangeOf(c.r.Header, size)
	if err != nil {
		return 0, 0, err
	}
	begin, end = part.offset-part.offset%pageSize, part.offset+part.length
	end += (pageSize - end%pageSize) % pageSize
	if l.from == "" {
		return begin, end, nil
	}
	from, err := strconv.ParseInt(l.from, 10, 64)
	if err != nil || from < begin || from > end {
		return 0, 0, azerr.InvalidQueryValue
	}
	return from, end, nil
}

// add adds up to limit ranges, and a marker for the next one.
func (p *pageListXML) add(ranges []store.PageRange, limit int) {
	if len(ranges) > limit {
		p.NextMarker, ranges = marker(strconv.FormatInt(ranges[limit].Start, 10)), ranges[:limit]
	}
	for _, r := range ranges {
		one := pageRangeXML{xml.Name{Local: "PageRange"}, r.Start, r.End - 1}
		if r.Cleared {
			one.XMLName.Local = "ClearRange"
		}
		p.Ranges = append(p.Ranges, one)
	}
}

// previous returns the snapshot with which the ranges of a state are compared, or nil.
func (c *Call) previous(e *store.Entry, b *store.Blob) (*store.Blob, error) {
	name := c.query.Get("prevsnapshot")
	if name == "" {
		return nil, nil
	}
	at := slices.IndexFunc(e.Snapshots, func(s *store.Blob) bool { return s.Snapshot == name })
	switch {
	case at < 0:
		return nil, errNoSnapshot
	case b.Snapshot != "" && b.Snapshot < name:
		return nil, errNewer
	case !e.Snapshots[at].Created.Equal(b.Created):
		return nil, errOverwritten
	}
	return e.Snapshots[at], nil
}
