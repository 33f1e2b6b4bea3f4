// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/btree"

	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Tables of the journal.
const (
	tableBuckets  = "s3.bucket"
	tableVersions = "s3.version"
	tableUploads  = "s3.upload"
	tableParts    = "s3.part"
)

// Store contains buckets, versions and uploads. Its methods are safe for concurrent use.
type Store struct {
	journal journal.Journal
	blobs   *blob.Store
	now     func() time.Time

	mu      sync.RWMutex
	seq     uint64
	buckets map[string]*bucketState
	// completed are recently completed uploads by bucket and upload ID.
	completed map[string]*Version
}

// bucketState is a bucket with its keys in order.
type bucketState struct {
	Bucket
	keys    *btree.BTreeG[*entry]
	uploads map[string]*Upload
	// open are the uploads by key.
	open map[string][]*Upload
}

func byKey(a, b *entry) bool { return a.key < b.key }

func newBucketState(b Bucket) *bucketState {
	return &bucketState{Bucket: b, keys: btree.NewG(32, byKey), uploads: map[string]*Upload{}, open: map[string][]*Upload{}}
}

// Options are the arguments of New.
type Options struct {
	Journal journal.Journal
	Blobs   *blob.Store
	Now     func() time.Time
}

// New returns a store with the contents of the journal.
func New(o Options) (*Store, error) {
	s := &Store{journal: o.Journal, blobs: o.Blobs, now: o.Now, buckets: map[string]*bucketState{}, completed: map[string]*Version{}}
	if err := s.load(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) load() error {
	known := map[blob.ID]bool{}
	err := journal.Each(s.journal, tableBuckets, func(_ string, b *Bucket) { s.buckets[b.Name] = newBucketState(*b) })
	if err == nil {
		err = s.loadVersions(known)
	}
	if err == nil {
		err = s.loadUploads(known)
	}
	if err != nil {
		return err
	}
	return s.blobs.Sweep(func(id blob.ID) bool { return known[id] })
}

func (s *Store) loadVersions(known map[blob.ID]bool) error {
	err := journal.Each(s.journal, tableVersions, func(_ string, v *Version) {
		b := s.buckets[v.Bucket]
		if b == nil {
			return
		}
		e, ok := b.keys.Get(&entry{key: v.Key})
		if !ok {
			e = &entry{key: v.Key}
			b.keys.ReplaceOrInsert(e)
		}
		e.versions = append(e.versions, v)
		s.seq = max(s.seq, v.Seq)
		remember(known, v.Segments)
	})
	for _, b := range s.buckets {
		b.keys.Ascend(func(e *entry) bool {
			e.order()
			return true
		})
	}
	return err
}

func (s *Store) loadUploads(known map[blob.ID]bool) error {
	err := journal.Each(s.journal, tableUploads, func(_ string, u *Upload) {
		u.Parts = map[int]Part{}
		if b := s.buckets[u.Bucket]; b != nil {
			b.begin(u)
		}
	})
	if err != nil {
		return err
	}
	return journal.Each(s.journal, tableParts, func(key string, p *Part) {
		bucket, rest, _ := strings.Cut(key, "/")
		upload, _, _ := strings.Cut(rest, "/")
		if b := s.buckets[bucket]; b != nil && b.uploads[upload] != nil {
			b.uploads[upload].Parts[p.Number] = *p
			remember(known, p.Segments)
		}
	})
}

func remember(known map[blob.ID]bool, segments []Segment) {
	for _, seg := range segments {
		known[seg.ID] = true
	}
}

// CreateBucket adds an empty bucket.
func (s *Store) CreateBucket(b Bucket) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buckets[b.Name] != nil {
		return ErrBucketExists
	}
	b.Created = s.now()
	if err := journal.Save(s.journal, tableBuckets, b.Name, b); err != nil {
		return err
	}
	s.buckets[b.Name] = newBucketState(b)
	return nil
}

// Bucket returns a bucket by name.
func (s *Store) Bucket(name string) (Bucket, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.buckets[name]
	if b == nil {
		return Bucket{}, ErrNoBucket
	}
	return b.Bucket, nil
}

// Buckets returns all buckets, ordered by name.
func (s *Store) Buckets() []Bucket {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := slices.Sorted(maps.Keys(s.buckets))
	out := make([]Bucket, len(names))
	for i, name := range names {
		out[i] = s.buckets[name].Bucket
	}
	return out
}

// UpdateBucket calls change with a copy of a bucket's configuration and stores the copy unless change returns an
// error.
func (s *Store) UpdateBucket(name string, change func(*Bucket) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[name]
	if b == nil {
		return ErrNoBucket
	}
	next := b.Bucket
	next.Config = maps.Clone(b.Config)
	if next.Config == nil {
		next.Config = map[string][]byte{}
	}
	if err := change(&next); err != nil {
		return err
	}
	if err := journal.Save(s.journal, tableBuckets, name, next); err != nil {
		return err
	}
	b.Bucket = next
	return nil
}

// DeleteBucket deletes a bucket that has no versions. It also deletes the bucket's unfinished uploads.
func (s *Store) DeleteBucket(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[name]
	if b == nil {
		return ErrNoBucket
	}
	if b.keys.Len() > 0 {
		return ErrBucketNotEmpty
	}
	r := journal.Begin(s.journal)
	r.Delete(tableBuckets, name)
	var bodies []blob.ID
	for _, u := range b.uploads {
		bodies = append(bodies, dropUpload(r, u)...)
	}
	if err := r.Commit(); err != nil {
		return err
	}
	delete(s.buckets, name)
	s.blobs.Delete(bodies...)
	return nil
}

// Count returns the numbers of items in a bucket.
func (s *Store) Count(bucket string) (Counts, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.buckets[bucket]
	if b == nil {
		return Counts{}, ErrNoBucket
	}
	c := Counts{Uploads: len(b.uploads)}
	b.keys.Ascend(func(e *entry) bool {
		c.Versions += len(e.versions)
		if e.current() != nil {
			c.Objects++
		}
		return true
	})
	return c, nil
}

// newID returns a version or upload ID that sorts by time; mark are its last bytes.
func newID(seq uint64, mark ...byte) string {
	var b [20]byte
	for i := range 8 {
		b[i] = byte(seq >> (56 - 8*i)) //nolint:gosec // one byte of eight
	}
	_, _ = rand.Read(b[8:]) // never fails: crypto/rand ends the process instead
	copy(b[len(b)-len(mark):], mark)
	return idEncoding().EncodeToString(b[:])
}

// newVersionID returns a version ID whose last bytes are a checksum, by which Issued recognizes it.
func newVersionID(seq uint64) string {
	raw, _ := idEncoding().DecodeString(newID(seq)) // its own encoding
	sum := sha256.Sum256(raw[:16])
	copy(raw[16:], sum[:])
	return idEncoding().EncodeToString(raw)
}

// Issued reports whether the store generated a version ID, even if the version no longer exists.
func Issued(id string) bool {
	raw, err := idEncoding().DecodeString(id)
	if id == NullVersion || err != nil || len(raw) != 20 {
		return id == NullVersion
	}
	sum := sha256.Sum256(raw[:16])
	return bytes.Equal(raw[16:], sum[:4])
}

func idEncoding() *base32.Encoding { return base32.HexEncoding.WithPadding(base32.NoPadding) }

func ids(segments []Segment) []blob.ID {
	out := make([]blob.ID, len(segments))
	for i, seg := range segments {
		out[i] = seg.ID
	}
	return out
}
