// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
)

// Query selects keys for a listing.
type Query struct {
	Bucket    string
	Prefix    string
	Delimiter string
	// After is a key. The listing excludes it, everything before it, and a common prefix equal to it.
	After string
	// StartAfter lists a common prefix that After begins with, if keys with it follow. A marker skips that prefix.
	StartAfter bool
	// AfterVersion is a version of the key After. The listing also includes the versions that follow it.
	AfterVersion string
	// Max is the maximum number of entries (versions and prefixes together).
	Max int
}

// Page is one page of a listing in key order. As in the responses of S3, versions and prefixes are in separate lists.
type Page struct {
	Versions []*Version
	// Latest reports for each version whether it is the current one.
	Latest   []bool
	Prefixes []string
	// Truncated means that there are further entries after Last (a key or a common prefix) and LastVersion.
	Truncated   bool
	Last        string
	LastVersion string
}

// truncate truncates the page if it has no room for another entry, and reports whether it did.
func (p *Page) truncate(limit int) bool {
	p.Truncated = len(p.Versions)+len(p.Prefixes) >= limit
	return p.Truncated
}

// List returns the current versions of keys. It does not return delete markers.
func (s *Store) List(q Query) (Page, error) {
	return s.walk(q, func(p *Page, e *entry) bool {
		v := e.current()
		if v == nil {
			return true
		}
		return p.add(q.Max, v, true)
	})
}

// ListVersions returns all versions and delete markers. Those of the same key are ordered from the newest to the
// oldest.
func (s *Store) ListVersions(q Query) (Page, error) {
	return s.walk(q, func(p *Page, e *entry) bool {
		older := e.versions
		if e.key == q.After && q.AfterVersion != "" {
			older = e.before(q.AfterVersion)
		}
		for _, v := range slices.Backward(older) {
			if !p.add(q.Max, v, v == e.newest()) {
				return false
			}
		}
		return true
	})
}

// add appends v unless the page is full.
func (p *Page) add(limit int, v *Version, latest bool) bool {
	if p.truncate(limit) {
		return false
	}
	p.Versions, p.Latest = append(p.Versions, v), append(p.Latest, latest)
	p.Last, p.LastVersion = v.Key, v.ID
	return true
}

// addPrefix appends a common prefix unless the page is full.
func (p *Page) addPrefix(limit int, prefix string) bool {
	if p.truncate(limit) {
		return false
	}
	p.Prefixes = append(p.Prefixes, prefix)
	p.Last, p.LastVersion = prefix, ""
	return true
}

// walk visits the keys of q in order and folds those with a delimiter into prefixes. After a prefix it skips all keys
// that share it.
func (s *Store) walk(q Query, visit func(*Page, *entry) bool) (Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.buckets[q.Bucket]
	if b == nil {
		return Page{}, ErrNoBucket
	}
	page := Page{}
	from := max(q.Prefix, q.After)
	for {
		next := ""
		b.keys.AscendGreaterOrEqual(&entry{key: from}, func(e *entry) bool {
			if !strings.HasPrefix(e.key, q.Prefix) {
				return e.key < q.Prefix
			}
			if e.key == q.After && q.AfterVersion == "" && q.After != "" {
				return true
			}
			prefix, ok := q.fold(e.key)
			if !ok {
				return visit(&page, e)
			}
			if !e.visible(visit) {
				return true
			}
			skipped := strings.HasPrefix(q.After, prefix) && !(q.StartAfter && prefix != q.After)
			if !skipped && !page.addPrefix(q.Max, prefix) {
				return false
			}
			next = successor(prefix)
			return false
		})
		if next == "" {
			return page, nil
		}
		from = next
	}
}

// visible reports whether the key appears in the listing. In a listing of current versions, a key hidden by a delete
// marker does not create a common prefix.
func (e *entry) visible(visit func(*Page, *entry) bool) bool {
	probe := &Page{}
	visit(probe, e)
	return len(probe.Versions) > 0
}

// fold returns the common prefix of key, if the delimiter occurs after q.Prefix.
func (q Query) fold(key string) (string, bool) {
	if q.Delimiter == "" {
		return "", false
	}
	i := strings.Index(key[len(q.Prefix):], q.Delimiter)
	if i < 0 {
		return "", false
	}
	return key[:len(q.Prefix)+i+len(q.Delimiter)], true
}

// successor returns the smallest string greater than every string with the prefix, or "" if there is none.
func successor(prefix string) string {
	b := []byte(prefix)
	for len(b) > 0 {
		if last := len(b) - 1; b[last] < 0xff {
			b[last]++
			return string(b)
		}
		b = b[:len(b)-1]
	}
	return ""
}

// UploadQuery selects the uploads of a listing.
type UploadQuery struct {
	Bucket, Prefix, Delimiter string
	// KeyMarker and IDMarker exclude uploads that were listed before.
	KeyMarker, IDMarker string
	Max                 int
}

// UploadPage is one page of uploads.
type UploadPage struct {
	Uploads   []*Upload
	Prefixes  []string
	Truncated bool
	// LastKey and LastID are those of the last upload, also if common prefixes follow.
	LastKey string
	LastID  string
}

// ListUploads returns uploads, ordered by key and then by start time.
func (s *Store) ListUploads(q UploadQuery) (UploadPage, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.buckets[q.Bucket]
	if b == nil {
		return UploadPage{}, ErrNoBucket
	}
	var all []*Upload
	for _, u := range b.uploads {
		if strings.HasPrefix(u.Key, q.Prefix) && q.follows(u) {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b *Upload) int {
		if c := strings.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return q.page(all), nil
}

func (q UploadQuery) follows(u *Upload) bool {
	switch {
	case q.KeyMarker == "":
		return true
	case u.Key == q.KeyMarker:
		return q.IDMarker != "" && u.ID > q.IDMarker
	}
	prefix, ok := Query{Prefix: q.Prefix, Delimiter: q.Delimiter}.fold(u.Key)
	return u.Key > q.KeyMarker && (!ok || !strings.HasPrefix(q.KeyMarker, prefix))
}

func (q UploadQuery) page(all []*Upload) UploadPage {
	p := UploadPage{}
	for _, u := range all {
		prefix, folded := Query{Prefix: q.Prefix, Delimiter: q.Delimiter}.fold(u.Key)
		if folded && slices.Contains(p.Prefixes, prefix) {
			continue
		}
		if len(p.Uploads)+len(p.Prefixes) >= q.Max {
			p.Truncated = true
			return p
		}
		if folded {
			p.Prefixes = append(p.Prefixes, prefix)
			continue // the markers name uploads only
		}
		c := *u
		c.Parts = nil
		p.Uploads = append(p.Uploads, &c)
		p.LastKey, p.LastID = u.Key, u.ID
	}
	return p
}
