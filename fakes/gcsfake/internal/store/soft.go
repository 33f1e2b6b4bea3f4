// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/btree"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Limits for soft-deleted objects. The service keeps them for as long as the bucket's policy says, at the owner's
// expense. Here the oldest are removed beyond these limits, so that the store does not grow when objects are
// overwritten for days.
const (
	maxSoftObjects = 1000
	maxSoftBytes   = 64 << 20
)

// softDeleted are the soft-deleted generations of one bucket.
type softDeleted struct{ byName *btree.BTreeG[*Object] }

func newSoftDeleted() softDeleted {
	return softDeleted{btree.NewG(32, func(a, b *Object) bool {
		return a.Name < b.Name || (a.Name == b.Name && a.Generation < b.Generation)
	})}
}

// bin has the soft-deleted generations of all buckets in the order of their deletion.
type bin struct {
	queue []binned
	bytes int64
}

type binned struct {
	from *bucketState
	*Object
}

func (d *bin) add(b *bucketState, o *Object) {
	b.soft.byName.ReplaceOrInsert(o)
	d.queue = append(d.queue, binned{b, o})
	d.bytes += o.Size
}

// excess removes objects beyond the limits, and expired ones from the front.
func (d *bin) excess(now time.Time) []*Object {
	var out []*Object
	for len(d.queue) > 0 {
		first := d.queue[0]
		if len(d.queue) <= maxSoftObjects && d.bytes <= maxSoftBytes && first.HardDelete.After(now) {
			return out
		}
		d.queue = d.queue[1:]
		d.bytes -= first.Size
		first.from.soft.byName.Delete(first.Object)
		out = append(out, first.Object)
	}
	return out
}

// forgetBucket removes all soft-deleted objects of a bucket.
func (d *bin) forgetBucket(b *bucketState) {
	d.queue = slices.DeleteFunc(d.queue, func(e binned) bool {
		if e.from == b {
			d.bytes -= e.Size
		}
		return e.from == b
	})
}

// find returns a generation that is still there.
func (d *softDeleted) find(name string, generation int64, now time.Time) *Object {
	o, ok := d.byName.Get(&Object{Name: name, Generation: generation})
	if !ok || !o.HardDelete.After(now) {
		return nil
	}
	return o
}

// drop removes a generation from a bucket's objects, permanently or softly according to the bucket's policy. Call the
// returned function only after the change has been committed.
func (s *Store) drop(b *bucketState, o *Object, c *journal.Change) (done func()) {
	keep := time.Duration(b.Settings.SoftDelete.Seconds) * time.Second
	if keep == 0 {
		c.Delete(tableObjects, objectKey(o))
		return func() { s.bodies.Delete(ids(o.Segments)...) }
	}
	soft := *o
	now := s.now()
	until := now.Add(keep)
	soft.SoftDelete, soft.HardDelete = &now, &until
	c.Put(tableObjects, objectKey(&soft), &soft)
	return func() {
		s.bin.add(b, &soft)
		s.forget(s.bin.excess(now))
	}
}

// forget permanently removes soft-deleted generations. A leftover record is removed on the next start.
func (s *Store) forget(gone []*Object) {
	if len(gone) == 0 {
		return
	}
	c := journal.Begin(s.journal)
	for _, o := range gone {
		c.Delete(tableObjects, objectKey(o))
	}
	if c.Commit() != nil {
		return
	}
	for _, o := range gone {
		s.bodies.Delete(ids(o.Segments)...)
	}
}

// SoftDeleted returns a soft-deleted generation.
func (s *Store) SoftDeleted(bucket, name string, generation int64) (*Object, *Bucket, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.getSoft(bucket, name, generation)
}

func (s *Store) getSoft(bucket, name string, generation int64) (*Object, *Bucket, error) {
	b := s.buckets[bucket]
	if b == nil {
		return nil, nil, gcserr.NoBucket
	}
	out := b.Bucket
	o := b.soft.find(name, generation, s.now())
	if o == nil {
		return nil, &out, gcserr.NoObject.Say("No such object: %s/%s", bucket, name)
	}
	return o, &out, nil
}

// IsSoftDeleted reports whether a name has a soft-deleted generation.
func (s *Store) IsSoftDeleted(bucket, name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b, found := s.buckets[bucket], false
	if b == nil {
		return false
	}
	b.soft.byName.AscendGreaterOrEqual(&Object{Name: name}, func(o *Object) bool {
		found = o.Name == name && o.HardDelete.After(s.now())
		return o.Name == name && !found
	})
	return found
}

// listSoft shows the soft-deleted generations to a listing, name by name.
func (b *bucketState) listSoft(start string, now time.Time, visit func(*entry) bool) {
	var e *entry
	more := true
	b.soft.byName.AscendGreaterOrEqual(&Object{Name: start}, func(o *Object) bool {
		if !o.HardDelete.After(now) {
			return true
		}
		if e != nil && e.name == o.Name {
			e.versions = append([]*Object{o}, e.versions...)
			return true
		}
		if e != nil {
			more = visit(e)
		}
		e = &entry{name: o.Name, versions: []*Object{o}}
		return more
	})
	if e != nil && more {
		visit(e)
	}
}

// sortSoft puts the loaded soft-deleted generations into the order of their deletion.
func (s *Store) sortSoft() {
	slices.SortFunc(s.bin.queue, func(x, y binned) int {
		return cmp.Or(x.SoftDelete.Compare(*y.SoftDelete), cmp.Compare(x.Generation, y.Generation))
	})
	s.forget(s.bin.excess(s.now()))
}
