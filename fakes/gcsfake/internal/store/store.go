// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/btree"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Tables of the journal.
const (
	tableBuckets = "gcs.bucket"
	tableObjects = "gcs.object"
	tableUploads = "gcs.upload"
	tableParts   = "gcs.part"

	// tableCompleted has the objects of completed uploads, by the upload's ID.
	tableCompleted = "gcs.completed"
)

// Store contains buckets, objects and uploads. Its methods are safe for concurrent use. Do not modify returned
// values.
type Store struct {
	journal journal.Journal
	bodies  *blob.Store
	now     func() time.Time

	mu         sync.RWMutex
	generation int64
	buckets    map[string]*bucketState
	uploads    map[string]*Upload
	completed  map[string]*Object
	bin        bin
}

type bucketState struct {
	Bucket
	names *btree.BTreeG[*entry]
	soft  softDeleted
}

// entry is one name with its generations, newest first.
type entry struct {
	name     string
	versions []*Object
}

// live is the generation that a plain request sees, nil for none.
func (e *entry) live() *Object {
	if e == nil || e.versions[0].Deleted != nil {
		return nil
	}
	return e.versions[0]
}

// find returns a generation, or the live one for 0.
func (e *entry) find(generation int64) *Object {
	if generation == 0 || e == nil {
		return e.live()
	}
	for _, o := range e.versions {
		if o.Generation == generation {
			return o
		}
	}
	return nil
}

func newState(b Bucket) *bucketState {
	return &bucketState{Bucket: b, names: btree.NewG(32, func(a, b *entry) bool { return a.name < b.name }), soft: newSoftDeleted()}
}

// Options are the arguments of New.
type Options struct {
	Journal journal.Journal
	Bodies  *blob.Store
	Now     func() time.Time
}

// New returns a store with the contents of the journal.
func New(o Options) (*Store, error) {
	s := &Store{journal: o.Journal, bodies: o.Bodies, now: o.Now, buckets: map[string]*bucketState{}, uploads: map[string]*Upload{}, completed: map[string]*Object{}}
	known := map[blob.ID]bool{}
	if err := errors.Join(s.loadBuckets(), s.loadObjects(known), s.loadUploads(known)); err != nil {
		return nil, err
	}
	return s, s.bodies.Sweep(func(id blob.ID) bool { return known[id] })
}

func (s *Store) loadBuckets() error {
	buckets := map[string]Bucket{}
	if err := journal.Load(s.journal, tableBuckets, buckets); err != nil {
		return err
	}
	for _, b := range buckets {
		if err := b.Parse(); err != nil {
			return err
		}
		s.generation = max(s.generation, b.Generation)
		s.buckets[b.Name] = newState(b)
	}
	return nil
}

func (s *Store) loadObjects(known map[blob.ID]bool) error {
	for key, raw := range s.journal.Table(tableObjects) {
		o := &Object{}
		if err := journal.Decode(tableObjects, key, raw, o); err != nil {
			return err
		}
		b := s.buckets[o.Bucket]
		if b == nil {
			continue
		}
		s.generation = max(s.generation, o.Generation)
		remember(known, o.Segments)
		if o.SoftDelete != nil {
			s.bin.add(b, o)
			continue
		}
		e, ok := b.names.Get(&entry{name: o.Name})
		if !ok {
			e = &entry{name: o.Name}
			b.names.ReplaceOrInsert(e)
		}
		e.versions = append(e.versions, o)
		slices.SortFunc(e.versions, func(a, b *Object) int { return cmp.Compare(b.Generation, a.Generation) })
	}
	s.sortSoft()
	return nil
}

func (s *Store) loadUploads(known map[blob.ID]bool) error {
	parts := map[string]Part{}
	if err := errors.Join(journal.Load(s.journal, tableUploads, s.uploads), journal.Load(s.journal, tableParts, parts)); err != nil {
		return err
	}
	for _, u := range s.uploads {
		u.Parts = map[int]Part{}
		remember(known, u.Segments)
	}
	for key, p := range parts {
		id, _, _ := strings.Cut(key, "/")
		if u := s.uploads[id]; u != nil {
			u.Parts[p.Number] = p
			known[p.Segment.ID] = true
		}
	}
	return journal.Load(s.journal, tableCompleted, s.completed)
}

func remember(known map[blob.ID]bool, segments []Segment) {
	for _, seg := range segments {
		known[seg.ID] = true
	}
}

// next is a new generation: the time in microseconds, and more than any before.
func (s *Store) next() int64 {
	s.generation = max(s.generation+1, s.now().UnixMicro())
	return s.generation
}

// CreateBucket adds an empty bucket.
func (s *Store) CreateBucket(b Bucket) (Bucket, error) {
	if err := b.Parse(); err != nil {
		return Bucket{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.buckets[b.Name]; old != nil {
		if old.Project != b.Project {
			return old.Bucket, gcserr.BucketTaken
		}
		return old.Bucket, gcserr.BucketExists
	}
	b.Created = s.now()
	b.Updated, b.Generation, b.Metageneration = b.Created, s.next(), 1
	if err := journal.Save(s.journal, tableBuckets, b.Name, b); err != nil {
		return Bucket{}, err
	}
	s.buckets[b.Name] = newState(b)
	return b, nil
}

// Bucket returns a bucket by name.
func (s *Store) Bucket(name string) (*Bucket, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.buckets[name]
	if b == nil {
		return nil, gcserr.NoBucket
	}
	out := b.Bucket
	return &out, nil
}

// Buckets returns the buckets of a project, ordered by name. If project is "", it returns those of all projects.
func (s *Store) Buckets(project string) []Bucket {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []Bucket
	for _, name := range slices.Sorted(maps.Keys(s.buckets)) {
		if b := s.buckets[name]; project == "" || b.Project == project {
			out = append(out, b.Bucket)
		}
	}
	return out
}

// UpdateBucket calls change with a copy of a bucket and stores the copy unless change returns an error.
func (s *Store) UpdateBucket(name string, change func(*Bucket) error) (Bucket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[name]
	if b == nil {
		return Bucket{}, gcserr.NoBucket
	}
	next := b.Bucket
	next.Config = maps.Clone(b.Config)
	next.Metageneration++
	next.Updated = s.now()
	if err := change(&next); err != nil {
		return b.Bucket, err
	}
	if err := next.Parse(); err != nil {
		return b.Bucket, gcserr.Invalid.Say("%v", err)
	}
	if err := journal.Save(s.journal, tableBuckets, name, next); err != nil {
		return b.Bucket, err
	}
	b.Bucket = next
	return next, nil
}

// DeleteBucket deletes a bucket that has no objects. It also deletes the bucket's unfinished uploads and soft-deleted
// objects. guard can return an error to reject the deletion.
func (s *Store) DeleteBucket(name string, guard func(Bucket) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[name]
	if b == nil {
		return gcserr.NoBucket
	}
	if err := guard(b.Bucket); err != nil {
		return err
	}
	if b.names.Len() > 0 {
		return gcserr.BucketNotEmpty
	}
	c := journal.Begin(s.journal)
	c.Delete(tableBuckets, name)
	var gone []*Upload
	for _, u := range s.uploads {
		if u.Bucket == name {
			dropUpload(c, u)
			gone = append(gone, u)
		}
	}
	var soft []*Object
	b.soft.byName.Ascend(func(o *Object) bool {
		soft = append(soft, o)
		c.Delete(tableObjects, objectKey(o))
		return true
	})
	if err := c.Commit(); err != nil {
		return err
	}
	delete(s.buckets, name)
	s.bin.forgetBucket(b)
	for _, o := range soft {
		s.bodies.Delete(ids(o.Segments)...)
	}
	for _, u := range gone {
		delete(s.uploads, u.ID)
		s.bodies.Delete(u.bodies()...)
	}
	return nil
}

// Counts are the numbers of items in a bucket.
type Counts struct {
	Live, Noncurrent, Uploads int
	Bytes                     int64
}

// Count counts the items in a bucket.
func (s *Store) Count(bucket string) (Counts, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.buckets[bucket]
	if b == nil {
		return Counts{}, gcserr.NoBucket
	}
	var c Counts
	b.names.Ascend(func(e *entry) bool {
		for _, o := range e.versions {
			c.Bytes += o.Size
			if o.Deleted == nil {
				c.Live++
			} else {
				c.Noncurrent++
			}
		}
		return true
	})
	for _, u := range s.uploads {
		if u.Bucket == bucket {
			c.Uploads++
		}
	}
	return c, nil
}

func ids(segments []Segment) []blob.ID {
	out := make([]blob.ID, len(segments))
	for i, seg := range segments {
		out[i] = seg.ID
	}
	return out
}
