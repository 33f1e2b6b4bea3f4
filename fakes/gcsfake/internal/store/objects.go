// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Body returns a writer for the body of an object or part.
func (s *Store) Body() *blob.Writer { return s.bodies.Create() }

// Discard deletes bodies that were committed but that no object refers to, for example after a failed condition.
func (s *Store) Discard(segments ...Segment) { s.bodies.Delete(ids(segments)...) }

// Guard checks a change before it is made. It gets the bucket and the affected generation, or nil if there is none,
// and returns an error to reject the change.
type Guard func(b *Bucket, current *Object) error

// Put stores o as the live generation of its name and returns the stored object.
func (s *Store) Put(o Object, guard Guard) (*Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(o, guard, journal.Begin(s.journal))
}

// put is Put as part of a change; the functions in also see the object before the change is committed, and can add to
// the change.
func (s *Store) put(o Object, guard Guard, c *journal.Change, also ...func(*Object)) (*Object, error) {
	b := s.buckets[o.Bucket]
	if b == nil {
		return nil, gcserr.NoBucket
	}
	e, _ := b.names.Get(&entry{name: o.Name})
	old := e.live()
	if guard != nil {
		if err := guard(&b.Bucket, old); err != nil {
			return nil, err
		}
	}
	if old != nil && !b.Settings.Versioning.Enabled {
		if err := b.protects(old, s.now()); err != nil {
			return nil, err
		}
	}
	o.Generation, o.Metageneration, o.Created = s.next(), 1, s.now()
	o.Updated = o.Created
	b.fillIn(&o)
	next := &entry{name: o.Name, versions: []*Object{&o}}
	c.Put(tableObjects, objectKey(&o), &o)
	done := s.supersede(b, e, next, c)
	for _, add := range also {
		add(&o)
	}
	if err := c.Commit(); err != nil {
		return nil, err
	}
	b.names.ReplaceOrInsert(next)
	done()
	return &o, nil
}

// fillIn completes an object with the bucket's defaults.
func (b *bucketState) fillIn(o *Object) {
	o.StorageClass = cmp.Or(o.StorageClass, b.Settings.StorageClass)
	if o.KMSKeyName == "" && o.CustomerKey == "" {
		o.KMSKeyName = b.Settings.Encryption.DefaultKMSKeyName
	}
	if b.Settings.DefaultEventBasedHold {
		o.EventBasedHold = true
	}
}

// supersede adds the older generations of old to next, and drops a live one unless versioning keeps it: done ends that.
func (s *Store) supersede(b *bucketState, old, next *entry, c *journal.Change) (done func()) {
	done = func() {}
	if old == nil {
		return done
	}
	live := old.live()
	for _, v := range old.versions {
		switch {
		case v != live:
			next.versions = append(next.versions, v)
		case b.Settings.Versioning.Enabled:
			next.versions = append(next.versions, s.retire(v, c))
		default:
			done = s.drop(b, v, c)
		}
	}
	return done
}

// retire is the noncurrent form of a live generation.
func (s *Store) retire(o *Object, c *journal.Change) *Object {
	out := *o
	now := s.now()
	out.Deleted = &now
	c.Put(tableObjects, objectKey(&out), &out)
	return &out
}

func objectKey(o *Object) string {
	return o.Bucket + "/" + strconv.FormatInt(o.Generation, 10) + "/" + o.Name
}

// Expires returns the time until which the bucket's retention policy protects an object. It returns the zero time if
// there is no policy, or if the object has an event-based hold.
func (b *Bucket) Expires(o *Object) time.Time {
	if b.Settings.Retention.Period == 0 || o.EventBasedHold {
		return time.Time{}
	}
	from := o.Created
	if o.HoldReleased != nil {
		from = *o.HoldReleased
	}
	return from.Add(time.Duration(b.Settings.Retention.Period) * time.Second)
}

// protects returns an error if holds or retention prevent the deletion of a generation.
func (b *bucketState) protects(o *Object, now time.Time) error {
	switch {
	case o.TemporaryHold || o.EventBasedHold:
		return gcserr.Hold.Say("Object '%s/%s' is under active %s hold and cannot be deleted, overwritten or archived until hold is removed.", o.Bucket, o.Name, holdKind(o))
	case b.Expires(o).After(now):
		return gcserr.Retention.Say("Object '%s/%s' is subject to bucket's retention policy and cannot be deleted, overwritten or archived until %s", o.Bucket, o.Name, b.Expires(o).UTC().Format(time.RFC3339))
	case o.Retention != nil && o.Retention.Until.After(now):
		return gcserr.Retention.Say("Object '%s/%s' is subject to object retention and cannot be deleted or overwritten until %s", o.Bucket, o.Name, o.Retention.Until.UTC().Format(time.RFC3339))
	}
	return nil
}

func holdKind(o *Object) string {
	if o.TemporaryHold {
		return "temporary"
	}
	return "event-based"
}

// Get returns a generation of an object and its bucket. Generation 0 means the live one.
func (s *Store) Get(bucket, name string, generation int64) (*Object, *Bucket, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.get(bucket, name, generation)
}

func (s *Store) get(bucket, name string, generation int64) (*Object, *Bucket, error) {
	b := s.buckets[bucket]
	if b == nil {
		return nil, nil, gcserr.NoBucket
	}
	out := b.Bucket
	e, _ := b.names.Get(&entry{name: name})
	o := e.find(generation)
	if o == nil {
		return nil, &out, gcserr.NoObject.Say("No such object: %s/%s", bucket, name)
	}
	return o, &out, nil
}

// Open pins the body of a generation, a soft-deleted one included, until release is called.
func (s *Store) Open(o *Object) (release func(), err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	find := s.get
	if o.SoftDelete != nil {
		find = s.getSoft
	}
	if _, _, err := find(o.Bucket, o.Name, o.Generation); err != nil {
		return nil, err
	}
	segments := ids(o.Segments)
	s.bodies.Pin(segments...)
	return func() { s.bodies.Unpin(segments...) }, nil
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
		if err := s.bodies.Read(w, seg.ID, offset, n); err != nil {
			return err
		}
		offset, length = 0, length-n
	}
	return nil
}

// Update calls change with a copy of a generation and stores the changed attributes, unless change returns an error.
func (s *Store) Update(bucket, name string, generation int64, change func(*Bucket, *Object) error) (*Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, _, err := s.get(bucket, name, generation)
	if err != nil {
		return nil, err
	}
	b := s.buckets[bucket]
	next := *old
	next.Metageneration++
	next.Updated = s.now()
	if err := change(&b.Bucket, &next); err != nil {
		return nil, err
	}
	if err := journal.Save(s.journal, tableObjects, objectKey(&next), &next); err != nil {
		return nil, err
	}
	e, _ := b.names.Get(&entry{name: name})
	versions := slices.Clone(e.versions)
	versions[slices.Index(versions, old)] = &next
	b.names.ReplaceOrInsert(&entry{name: name, versions: versions})
	return &next, nil
}

// Delete deletes a generation. If the bucket has a soft delete policy, the deletion is soft. Generation 0 means the
// live one, which becomes noncurrent if versioning is enabled.
func (s *Store) Delete(bucket, name string, generation int64, guard Guard) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[bucket]
	if b == nil {
		return gcserr.NoBucket
	}
	e, _ := b.names.Get(&entry{name: name})
	target := e.find(generation)
	if guard != nil {
		if err := guard(&b.Bucket, target); err != nil {
			return err
		}
	}
	if target == nil {
		return gcserr.NoObject.Say("No such object: %s/%s", bucket, name)
	}
	c := journal.Begin(s.journal)
	done, err := s.remove(b, e, target, generation == 0, c)
	if err != nil {
		return err
	}
	if err := c.Commit(); err != nil {
		return err
	}
	done()
	return nil
}

// remove removes a generation from its entry. The returned function completes the removal after the commit of the
// change. plain means that the request does not specify a generation.
func (s *Store) remove(b *bucketState, e *entry, target *Object, plain bool, c *journal.Change) (done func(), err error) {
	versions := slices.Clone(e.versions)
	i := slices.Index(versions, target)
	if plain && b.Settings.Versioning.Enabled {
		versions[i] = s.retire(target, c)
		return func() { b.names.ReplaceOrInsert(&entry{name: e.name, versions: versions}) }, nil
	}
	if err := b.protects(target, s.now()); err != nil {
		return nil, err
	}
	drop := s.drop(b, target, c)
	versions = slices.Delete(versions, i, i+1)
	return func() {
		if len(versions) == 0 {
			b.names.Delete(e)
		} else {
			b.names.ReplaceOrInsert(&entry{name: e.name, versions: versions})
		}
		drop()
	}, nil
}

// Move atomically stores o as the live generation of its name and removes the live generation of from. The body of o
// must be a copy. source can reject the generation of from.
func (s *Store) Move(from string, o Object, source, guard Guard) (*Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[o.Bucket]
	if b == nil {
		return nil, gcserr.NoBucket
	}
	e, _ := b.names.Get(&entry{name: from})
	target := e.live()
	if err := source(&b.Bucket, target); err != nil {
		return nil, err
	}
	if target == nil {
		return nil, gcserr.NoObject.Say("No such object: %s/%s", o.Bucket, from)
	}
	c := journal.Begin(s.journal)
	done, err := s.remove(b, e, target, true, c)
	if err != nil {
		return nil, err
	}
	stored, err := s.put(o, guard, c)
	if err != nil {
		return nil, err
	}
	done()
	return stored, nil
}

// Query selects the objects of a listing.
type Query struct {
	Bucket, Prefix, Delimiter string
	// From and To limit the names: From <= name < To; "" means no limit.
	From, To string
	// After is the last name of the previous page, and AfterGeneration its last generation.
	After           string
	AfterGeneration int64
	// Versions includes noncurrent generations. SoftDeleted lists only soft-deleted generations.
	Versions, SoftDeleted bool
	// TrailingDelimiter includes objects whose names end in the delimiter in addition to their prefixes.
	TrailingDelimiter bool
	Max               int
	// Match selects names, and with a delimiter also prefixes; nil selects all.
	Match func(name string) bool
}

// Page is one page of a listing.
type Page struct {
	Objects  []*Object
	Prefixes []string
	// More reports whether there are further entries after Last and LastGeneration.
	More           bool
	Last           string
	LastGeneration int64
}

// List lists objects, ordered by name. Generations of the same name are ordered from the oldest to the newest.
func (s *Store) List(q Query) (Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.buckets[q.Bucket]
	if b == nil {
		return Page{}, gcserr.NoBucket
	}
	l := lister{q: q}
	start := max(q.Prefix, q.From, q.After)
	if q.SoftDeleted {
		l.q.Versions = true
		b.listSoft(start, s.now(), l.visit)
		return l.page, nil
	}
	b.names.AscendGreaterOrEqual(&entry{name: start}, l.visit)
	return l.page, nil
}

type lister struct {
	q    Query
	page Page
}

func (l *lister) full(last string, generation int64) bool {
	if len(l.page.Objects)+len(l.page.Prefixes) >= l.q.Max {
		l.page.More = true
		return true
	}
	l.page.Last, l.page.LastGeneration = last, generation
	return false
}

func (l *lister) visit(e *entry) bool {
	q := l.q
	if (q.To != "" && e.name >= q.To) || !strings.HasPrefix(e.name, q.Prefix) {
		return q.To == "" && e.name < q.Prefix
	}
	if e.live() == nil && !q.Versions {
		return true
	}
	if prefix, ok := l.prefix(e.name); ok {
		if (q.Match == nil || q.Match(prefix)) && !l.fold(e.name, prefix) {
			return false
		}
		if !q.TrailingDelimiter || e.name != prefix {
			return true
		}
	}
	if q.Match != nil && !q.Match(e.name) {
		return true
	}
	return l.generations(e)
}

// fold adds a name's prefix to the page, once; it returns false when the page is full.
func (l *lister) fold(name, prefix string) bool {
	n := len(l.page.Prefixes)
	seen := (n > 0 && l.page.Prefixes[n-1] == prefix) || (l.q.After != "" && strings.HasPrefix(l.q.After, prefix))
	reached := maxGeneration
	if name == prefix && l.q.TrailingDelimiter {
		reached = 0 // the object of that name is still to come
	}
	if !seen {
		if l.full(name, reached) {
			return false
		}
		l.page.Prefixes = append(l.page.Prefixes, prefix)
	}
	if reached == maxGeneration {
		l.page.Last, l.page.LastGeneration = name, maxGeneration
	}
	return true
}

// maxGeneration is after all generations of a name.
const maxGeneration = int64(^uint64(0) >> 1)

func (l *lister) prefix(name string) (string, bool) {
	if l.q.Delimiter == "" {
		return "", false
	}
	i := strings.Index(name[len(l.q.Prefix):], l.q.Delimiter)
	if i < 0 {
		return "", false
	}
	return name[:len(l.q.Prefix)+i+len(l.q.Delimiter)], true
}

func (l *lister) generations(e *entry) bool {
	for _, o := range slices.Backward(e.versions) {
		if !l.q.Versions && o.Deleted != nil {
			continue
		}
		if e.name == l.q.After && o.Generation <= l.q.AfterGeneration {
			continue
		}
		if l.full(e.name, o.Generation) {
			return false
		}
		l.page.Objects = append(l.page.Objects, o)
	}
	return true
}
