// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"cmp"
	"crypto/md5" //nolint:gosec // the protocol's checksum
	"encoding/base64"
	"hash"
	"net/http"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

// pick returns the state that the query names: a snapshot, a version or the current one.
func (c *Call) pick(e *store.Entry) (*store.Blob, error) {
	q := c.query
	snapshot, version := q.Get("snapshot"), q.Get("versionid")
	switch {
	case snapshot != "" && version != "":
		return nil, azerr.InvalidQueryValue
	case snapshot != "":
		for _, b := range e.Snapshots {
			if b.Snapshot == snapshot {
				return b, nil
			}
		}
		return nil, azerr.BlobNotFound
	case version != "":
		for _, b := range e.Versions {
			if b.Version == version {
				return b, nil
			}
		}
		if e.Current != nil && e.Current.Version == version {
			return e.Current, nil
		}
		return nil, azerr.BlobNotFound
	case e.Current == nil:
		return nil, azerr.BlobNotFound
	}
	return e.Current, nil
}

// look finds the state and applies conditions and lease of a read.
func (c *Call) look(show func(*store.Entry, *store.Blob) error) error {
	cond, err := c.conditions()
	switch {
	case err != nil:
		return err
	case cond.noneMatch == "*":
		return errUnsatisfiable
	}
	return c.api.Store.View(c.ref(), func(e *store.Entry) error {
		b, err := c.pick(e)
		if err != nil {
			return err
		}
		if err := cmp.Or(cond.check(stateOf(b), true), c.guard(e.Lease, false)); err != nil {
			return err
		}
		return show(e, b)
	})
}

// span is a range of a body.
type span struct {
	offset, length int64
	partial        bool
}

// rangeOf reads the range of a request. The service ignores ranges that it cannot parse, several ranges, and ranges that
// end before they start.
func rangeOf(h http.Header, size int64) (span, error) {
	whole := span{0, size, false}
	value := cmp.Or(h.Get("X-Ms-Range"), h.Get("Range"))
	spec, ok := strings.CutPrefix(value, "bytes=")
	first, last, dash := strings.Cut(spec, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	if !ok || !dash || err != nil || start < 0 {
		return whole, nil
	}
	end := size - 1
	if last != "" {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < start {
			return whole, nil
		}
		end = min(end, n)
	}
	if start >= size {
		return whole, azerr.New(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The range specified is invalid for the current size of the resource.")
	}
	return span{start, end - start + 1, true}, nil
}

func (c *Call) getBlob(w http.ResponseWriter) error {
	if c.r.Method == http.MethodGet && c.checksumWithoutRange() {
		return azerr.InvalidHeaderValue
	}
	var found *store.Blob
	var unpin func()
	var part span
	err := c.look(func(e *store.Entry, b *store.Blob) error {
		c.describe(w, e, b)
		if c.r.Method == http.MethodHead {
			found = b
			return nil
		}
		if err := online(b); err != nil {
			return err
		}
		var err error
		if part, err = rangeOf(c.r.Header, b.Size); err != nil {
			w.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(b.Size, 10))
			return err
		}
		found, unpin = b, c.api.Store.Pin(b)
		return nil
	})
	if err != nil {
		for _, h := range []string{"Content-Length", "Content-Md5", "Content-Encoding"} {
			w.Header().Del(h)
		}
		return err
	}
	if unpin == nil {
		w.Header().Set("Content-Length", strconv.FormatInt(found.Size, 10))
		w.WriteHeader(http.StatusOK)
		return nil
	}
	defer unpin()
	return c.send(w, found, part)
}

// maxRangeMD5 is the largest range for which the service computes a checksum.
const maxRangeMD5 = 4 << 20

func (c *Call) send(w http.ResponseWriter, b *store.Blob, part span) error {
	h := w.Header()
	h.Set("Content-Length", strconv.FormatInt(part.length, 10))
	status := http.StatusOK
	if part.partial {
		status = http.StatusPartialContent
		h.Set("Content-Range", "bytes "+strconv.FormatInt(part.offset, 10)+"-"+strconv.FormatInt(part.offset+part.length-1, 10)+"/"+strconv.FormatInt(b.Size, 10))
		if sum := h.Get("Content-Md5"); sum != "" {
			h.Set("X-Ms-Blob-Content-Md5", sum)
			h.Del("Content-Md5")
		}
		if err := c.rangeMD5(h, b, part); err != nil {
			return err
		}
	}
	w.WriteHeader(status)
	if err := c.api.Store.Read(w, b, part.offset, part.length); err != nil {
		return http.ErrAbortHandler // the response has begun: only a broken connection can tell
	}
	return nil
}

// rangeMD5 adds the checksum of the range, if the request asks for it.
func (c *Call) rangeMD5(h http.Header, b *store.Blob, part span) error {
	name, sum := c.rangeChecksum()
	if sum == nil {
		return nil
	}
	if part.length > maxRangeMD5 {
		return azerr.New(http.StatusBadRequest, "OutOfRangeInput", "One of the request inputs is out of range.")
	}
	if err := c.api.Store.Read(sum, b, part.offset, part.length); err != nil {
		return err
	}
	if crc, ok := sum.(hash.Hash64); ok {
		h.Set(name, crcText(crc))
		return nil
	}
	h.Set(name, base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	return nil
}

// rangeChecksum returns the requested checksum of the range and its header; nil for none.
func (c *Call) rangeChecksum() (string, hash.Hash) {
	switch {
	case c.r.Header.Get("X-Ms-Range-Get-Content-Md5") == "true":
		return "Content-Md5", md5.New() //nolint:gosec // the protocol's checksum
	case c.r.Header.Get("X-Ms-Range-Get-Content-Crc64") == "true":
		return "X-Ms-Content-Crc64", newCRC()
	}
	return "", nil
}

// checksumWithoutRange reports whether the request asks for the checksum of a range that it does not name, or for two.
func (c *Call) checksumWithoutRange() bool {
	asked := 0
	for _, name := range []string{"X-Ms-Range-Get-Content-Md5", "X-Ms-Range-Get-Content-Crc64"} {
		if c.r.Header.Get(name) == "true" {
			asked++
		}
	}
	return asked > 1 || asked == 1 && c.r.Header.Get("Range") == "" && c.r.Header.Get("X-Ms-Range") == ""
}

// describe sets the headers that describe a state.
func (c *Call) describe(w http.ResponseWriter, e *store.Entry, b *store.Blob) {
	h := w.Header()
	setState(w, b.ETag, b.Modified)
	h["Content-Type"] = nil // a blob may have none, and this server shall not guess
	for name, value := range b.Headers {
		h.Set(name, value)
	}
	for _, name := range []string{"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Type"} {
		if value := c.Caller.Override(name); value != "" {
			h.Set(name, value)
		}
	}
	setMetadata(w, b.Metadata)
	h.Set("X-Ms-Blob-Type", string(b.Type))
	h.Set("X-Ms-Creation-Time", httpTime(b.Created))
	h.Set("Accept-Ranges", "bytes")
	h.Set("X-Ms-Server-Encrypted", "true")
	if len(b.Tags) > 0 {
		h.Set("X-Ms-Tag-Count", strconv.Itoa(len(b.Tags)))
	}
	setUnlessEmpty(w, "X-Ms-Encryption-Scope", b.Scope)
	if b.Version != "" {
		h.Set("X-Ms-Version-Id", b.Version)
		if b == e.Current {
			h.Set("X-Ms-Is-Current-Version", "true")
		}
	}
	setSequence(w, b)
	if b.Type == store.AppendBlob {
		h.Set("X-Ms-Blob-Committed-Block-Count", strconv.Itoa(len(b.Blocks)))
		if b.Sealed {
			h.Set("X-Ms-Blob-Sealed", "true")
		}
	}
	if b.Copy != nil {
		c.setCopy(w, b.Copy)
	}
	c.setTierHeaders(w, b)
	if b == e.Current {
		c.setLease(w, e.Lease)
	}
}

// tierOfDownload is the first service version in which Get Blob returns the tier. The SDK has had it since azblob
// v1.8.1.
const tierOfDownload = "2026-10-06"

func (c *Call) setTierHeaders(w http.ResponseWriter, b *store.Blob) {
	if b.Type != store.BlockBlob || c.r.Method == http.MethodGet && w.Header().Get("X-Ms-Version") < tierOfDownload {
		return
	}
	h := w.Header()
	if b.Tier == "" {
		h.Set("X-Ms-Access-Tier", "Hot")
		h.Set("X-Ms-Access-Tier-Inferred", "true")
		return
	}
	h.Set("X-Ms-Access-Tier", b.Tier)
	if b.Rehydration != nil {
		h.Set("X-Ms-Archive-Status", archiveStatus(b.Rehydration))
		h.Set("X-Ms-Rehydrate-Priority", b.Rehydration.Priority)
	}
	h.Set("X-Ms-Access-Tier-Change-Time", httpTime(b.TierChanged))
}

func (c *Call) getMetadata(w http.ResponseWriter) error {
	err := c.look(func(_ *store.Entry, b *store.Blob) error {
		setState(w, b.ETag, b.Modified)
		setMetadata(w, b.Metadata)
		return nil
	})
	return respond(w, http.StatusOK, err)
}
