// SPDX-License-Identifier: Apache-2.0

package store

import (
	"io"

	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Body returns a writer for the body of an object or part.
func (s *Store) Body() *blob.Writer { return s.blobs.Create() }

// Discard deletes bodies that were committed but that no object refers to, for example after a failed condition.
func (s *Store) Discard(segments []Segment) { s.blobs.Delete(ids(segments)...) }

// Put stores v as the newest version of its key and returns the stored version. If guard is not nil, Put calls it
// with the bucket, the current version and v. The current version is nil if there is none or if it is a delete
// marker. guard can change v, or return an error to reject it.
func (s *Store) Put(v Version, guard func(b Bucket, current *Version, v *Version) error) (*Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putLocked(v, guard, journal.Begin(s.journal), nil)
}

// putLocked is Put under the lock. completed is the upload that ends with v, or nil.
func (s *Store) putLocked(v Version, guard func(Bucket, *Version, *Version) error, r *journal.Change, completed *Upload) (*Version, error) {
	b := s.buckets[v.Bucket]
	if b == nil {
		return nil, ErrNoBucket
	}
	e, _ := b.keys.Get(&entry{key: v.Key})
	if guard != nil {
		if err := guard(b.Bucket, e.current(), &v); err != nil {
			return nil, err
		}
	}
	s.stamp(b, &v)
	replaced, overtaken := s.insert(b, &v, r), b.overtake(v.Key, completed, r)
	if err := r.Commit(); err != nil {
		return nil, err
	}
	replaced()
	overtaken()
	return &v, nil
}

// stamp gives v its identity and time.
func (s *Store) stamp(b *bucketState, v *Version) {
	s.seq++
	v.Seq = s.seq
	v.Modified = s.now()
	v.ID = NullVersion
	if b.Versioning == VersioningEnabled {
		v.ID = newVersionID(s.seq)
	}
}

// insert records v and returns the function that makes it visible. A null version replaces the earlier one.
func (s *Store) insert(b *bucketState, v *Version, r *journal.Change) func() {
	r.Put(tableVersions, versionKey(v), v)
	return func() {
		e, ok := b.keys.Get(&entry{key: v.Key})
		if !ok {
			b.keys.ReplaceOrInsert(&entry{key: v.Key, versions: []*Version{v}})
			return
		}
		if v.ID == NullVersion {
			if dropped := e.remove(e.index(NullVersion)); dropped != nil {
				s.blobs.Delete(ids(dropped.Segments)...)
			}
		}
		e.versions = append(e.versions, v)
	}
}

func versionKey(v *Version) string { return v.Bucket + "/" + v.ID + "/" + v.Key }

// Get returns a version of a key. If id is "", it returns the current version; if that is a delete marker, it returns
// both the marker and ErrNoKey. If id is the ID of a delete marker, Get returns the marker without an error.
func (s *Store) Get(bucket, key, id string) (*Version, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.getLocked(bucket, key, id)
}

func (s *Store) getLocked(bucket, key, id string) (*Version, error) {
	b := s.buckets[bucket]
	if b == nil {
		return nil, ErrNoBucket
	}
	e, ok := b.keys.Get(&entry{key: key})
	switch {
	case !ok && id == "":
		return nil, ErrNoKey
	case !ok:
		return nil, ErrNoVersion
	case id == "" && e.newest().DeleteMarker:
		return e.newest(), ErrNoKey
	case id == "":
		return e.newest(), nil
	}
	if i := e.index(id); i >= 0 {
		return e.versions[i], nil
	}
	return nil, ErrNoVersion
}

// Update calls change with a copy of a version and stores the changed attributes, unless change returns an error.
func (s *Store) Update(bucket, key, id string, change func(b Bucket, v *Version) error) (*Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[bucket]
	if b == nil {
		return nil, ErrNoBucket
	}
	e, ok := b.keys.Get(&entry{key: key})
	switch {
	case !ok && id == "":
		return nil, ErrNoKey
	case !ok:
		return nil, ErrNoVersion
	}
	i := len(e.versions) - 1
	switch {
	case id != "":
		i = e.index(id)
	case e.newest().DeleteMarker:
		return e.newest(), ErrNoKey
	}
	if i < 0 {
		return nil, ErrNoVersion
	}
	next := *e.versions[i]
	if err := change(b.Bucket, &next); err != nil {
		return e.versions[i], err
	}
	if err := journal.Save(s.journal, tableVersions, versionKey(&next), &next); err != nil {
		return nil, err
	}
	e.versions[i] = &next
	return &next, nil
}

// Deleted describes the effect of a Delete.
type Deleted struct {
	// Version is the deleted version, or nil if none was deleted.
	Version *Version
	// Marker is the created delete marker, or nil if none was created.
	Marker *Version
}

// Delete deletes the version with the given ID, or the current version if id is "". If id is "" and versioning is or
// was enabled for the bucket, Delete creates a delete marker instead. If guard is not nil, Delete calls it with the
// bucket and the affected version, which is nil if there is none. guard can return an error to reject the deletion.
func (s *Store) Delete(bucket, key, id string, guard func(b Bucket, v *Version) error) (Deleted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[bucket]
	if b == nil {
		return Deleted{}, ErrNoBucket
	}
	e, ok := b.keys.Get(&entry{key: key})
	var target *Version
	if ok {
		target = e.target(id)
	}
	if guard != nil {
		if err := guard(b.Bucket, target); err != nil {
			return Deleted{}, err
		}
	}
	r := journal.Begin(s.journal)
	if id == "" && b.Versioning != "" {
		marker := &Version{Bucket: bucket, Key: key, DeleteMarker: true}
		s.stamp(b, marker)
		show, overtaken := s.insert(b, marker, r), b.overtake(key, nil, r)
		if err := r.Commit(); err != nil {
			return Deleted{}, err
		}
		show()
		overtaken()
		return Deleted{Marker: marker}, nil
	}
	if target == nil {
		return Deleted{}, nil
	}
	r.Delete(tableVersions, versionKey(target))
	overtaken := b.overtake(key, nil, r)
	if err := r.Commit(); err != nil {
		return Deleted{}, err
	}
	overtaken()
	s.drop(b, e, target)
	return Deleted{Version: target}, nil
}

func (s *Store) drop(b *bucketState, e *entry, v *Version) {
	e.remove(e.index(v.ID))
	if len(e.versions) == 0 {
		b.keys.Delete(e)
	}
	s.blobs.Delete(ids(v.Segments)...)
}

// Read writes length bytes of a body from offset to w. The body must be pinned.
func (s *Store) Read(w io.Writer, segments []Segment, offset, length int64) error {
	for _, seg := range segments {
		if length == 0 {
			return nil
		}
		if offset >= seg.Size {
			offset -= seg.Size
			continue
		}
		n := min(length, seg.Size-offset)
		if err := s.blobs.Read(w, seg.ID, offset, n); err != nil {
			return err
		}
		offset, length = 0, length-n
	}
	return nil
}

// Open returns a version like Get and pins its body until release is called, so that a concurrent delete does not
// interrupt the read.
func (s *Store) Open(bucket, key, id string) (v *Version, release func(), err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if v, err = s.getLocked(bucket, key, id); err != nil {
		return v, nil, err
	}
	segments := ids(v.Segments)
	s.blobs.Pin(segments...)
	return v, func() { s.blobs.Unpin(segments...) }, nil
}
