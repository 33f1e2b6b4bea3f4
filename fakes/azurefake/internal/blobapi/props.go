// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"cmp"
	"encoding/xml"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

func (c *Call) setMetadata(w http.ResponseWriter) error {
	meta, err := metadata(c.r.Header)
	if err != nil {
		return err
	}
	return c.edit(w, http.StatusOK, func(e *store.Change, b *store.Blob) error {
		if err := c.namesScope(e); err != nil {
			return err
		}
		b.Metadata = meta
		if c.api.Versioning && e.Current.Version != "" {
			b.Version = e.NextStamp(c.api.Now())
			e.Versions = append(e.Versions, e.Current)
		}
		return nil
	})
}

func (c *Call) setProperties(w http.ResponseWriter) error {
	if err := checkStoredMD5(c.r.Header.Get("X-Ms-Blob-Content-Md5")); err != nil {
		return err
	}
	return c.edit(w, http.StatusOK, func(_ *store.Change, b *store.Blob) error {
		pages, err := c.editPages(b)
		if err != nil {
			return err
		}
		setSequence(w, b)
		headers := blobHeaders(c.r.Header)
		// "If a request sets only the sequence number or the size, none of the blob's other properties are modified."
		if b.Copy = nil; !pages || len(headers) > 0 {
			b.Headers = headers
		}
		return nil
	})
}

func (c *Call) setTier(w http.ResponseWriter) error {
	tier := c.r.Header.Get("X-Ms-Access-Tier")
	if tier == "" {
		return azerr.MissingHeader
	}
	if err := checkTier(tier); err != nil {
		return err
	}
	var next store.Blob
	err := c.api.Store.Change(c.ref(), func(e *store.Change) error {
		found, err := c.pick(&e.Entry)
		if err != nil {
			return err
		}
		if err := cmp.Or(checkType(found, store.BlockBlob), c.fulfilled(stateOf(found), false), c.guard(e.Lease, found == e.Current)); err != nil {
			return err
		}
		next = *found
		if err := c.moveTier(&next, tier, found == e.Current); err != nil {
			return err
		}
		swap(e, found, &next)
		return nil
	})
	if next.Rehydration != nil {
		return respond(w, http.StatusAccepted, err)
	}
	return respond(w, http.StatusOK, err)
}

// maxTags is how many tags a blob can have.
const maxTags = 10

var tagText = regexp.MustCompile(`^[A-Za-z0-9 +\-./:=_]*$`)

func checkTags(tags map[string]string) error {
	if len(tags) > maxTags {
		return azerr.New(http.StatusBadRequest, "TagsTooLarge", "The tags specified exceed the maximum permissible limit.")
	}
	for name, value := range tags {
		if name == "" || len(name) > maxTagName || len(value) > maxTagValue || !tagText.MatchString(name) || !tagText.MatchString(value) {
			return azerr.New(http.StatusBadRequest, "InvalidTag", "The tags specified are invalid. They contain characters that are not permitted or are too long.")
		}
	}
	return nil
}

// parseTags reads the x-ms-tags header, which has the form of a query.
func parseTags(header string) (map[string]string, error) {
	if header == "" {
		return nil, nil
	}
	q, err := url.ParseQuery(header)
	if err != nil {
		return nil, azerr.InvalidHeaderValue
	}
	tags := map[string]string{}
	for name, values := range q {
		if len(values) != 1 {
			return nil, azerr.InvalidHeaderValue
		}
		tags[name] = values[0]
	}
	return tags, checkTags(tags)
}

type tagXML struct{ Key, Value string }

type tagsXML struct {
	XMLName xml.Name `xml:"Tags"`
	Tags    []tagXML `xml:"TagSet>Tag"`
}

func tagsOf(tags map[string]string) []tagXML {
	out := []tagXML{}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, tagXML{name, tags[name]})
	}
	return out
}

func (c *Call) getTags(w http.ResponseWriter) error {
	var doc tagsXML
	err := c.look(func(_ *store.Entry, b *store.Blob) error {
		doc.Tags = tagsOf(b.Tags)
		return nil
	})
	if err != nil {
		return err
	}
	return writeXML(w, http.StatusOK, doc)
}

func (c *Call) setTags(w http.ResponseWriter) error {
	var doc tagsXML
	if err := c.readXML(&doc); err != nil {
		return err
	}
	tags := map[string]string{}
	for _, t := range doc.Tags {
		if _, twice := tags[t.Key]; twice {
			return azerr.InvalidXML
		}
		tags[t.Key] = t.Value
	}
	if err := checkTags(tags); err != nil {
		return err
	}
	err := c.api.Store.Change(c.ref(), func(e *store.Change) error {
		found, err := c.pick(&e.Entry)
		if err != nil {
			return err
		}
		if err := cmp.Or(c.fulfilled(stateOf(found), false), c.guard(e.Lease, found == e.Current)); err != nil {
			return err
		}
		next := *found
		next.Tags = store.CloneMap(tags)
		swap(e, found, &next)
		return nil
	})
	return respond(w, http.StatusNoContent, err)
}

// swap replaces a state by another.
func swap(e *store.Change, old, next *store.Blob) {
	if e.Current == old {
		e.Current = next
	}
	for _, list := range [][]*store.Blob{e.Versions, e.Snapshots} {
		if at := slices.Index(list, old); at >= 0 {
			list[at] = next
		}
	}
}
