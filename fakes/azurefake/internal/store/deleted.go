// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"time"
)

// wasCurrent reports whether a deleted state is neither a snapshot nor a version.
func (b *Blob) wasCurrent() bool { return b.Snapshot == "" && b.Version == "" }

// SoftDelete keeps a deleted state until the given time. A current state that was kept earlier becomes a snapshot.
func (c *Change) SoftDelete(b *Blob, now, until time.Time) {
	kept := *b
	kept.Deleted, kept.KeptUntil = now, until
	if kept.wasCurrent() {
		c.ArchiveDeleted(now)
	}
	c.Deleted = append(c.Deleted, &kept)
}

// SoftDeleteReplaced keeps a replaced state as a deleted snapshot.
func (c *Change) SoftDeleteReplaced(b *Blob, now, until time.Time) {
	kept := *b
	kept.Version, kept.Snapshot = "", c.NextStamp(now)
	c.SoftDelete(&kept, now, until)
}

// ArchiveDeleted makes the deleted current state a deleted snapshot, because a new current state replaces it.
func (c *Change) ArchiveDeleted(now time.Time) {
	for i, b := range c.Deleted {
		if b.wasCurrent() {
			next := *b
			next.Snapshot = c.NextStamp(now)
			c.Deleted[i] = &next
		}
	}
}

// Undelete restores all deleted states. It reports false if there is neither a current state nor a version after that.
func (c *Change) Undelete() bool {
	for _, b := range c.Deleted {
		next := *b
		next.Deleted, next.KeptUntil = time.Time{}, time.Time{}
		switch {
		case next.Snapshot != "":
			c.Snapshots = append(c.Snapshots, &next)
		case next.Version != "":
			c.Versions = append(c.Versions, &next)
		default:
			c.Current = &next
		}
	}
	c.Deleted = nil
	for _, list := range [][]*Blob{c.Snapshots, c.Versions} {
		slices.SortFunc(list, func(a, b *Blob) int { return strings.Compare(a.Snapshot+a.Version, b.Snapshot+b.Version) })
	}
	return c.Current != nil || len(c.Versions) > 0
}

// expired reports whether the retention of some deleted states has ended.
func (e *Entry) expired(now time.Time) bool {
	return slices.ContainsFunc(e.Deleted, func(b *Blob) bool { return !now.Before(b.KeptUntil) })
}

// kept are the deleted states whose retention has not ended.
func (e *Entry) kept(now time.Time) []*Blob {
	return slices.DeleteFunc(slices.Clone(e.Deleted), func(b *Blob) bool { return !now.Before(b.KeptUntil) })
}

// expireWith moves the time of the next purge forward to the end of the first retention in an entry.
func (h *holder) expireWith(e *Entry) {
	for _, b := range e.Deleted {
		if h.expires.IsZero() || b.KeptUntil.Before(h.expires) {
			h.expires = b.KeptUntil
		}
	}
}

// purge removes the deleted states of a container whose retention has ended, with their bodies.
func (s *Store) purge(h *holder) error {
	now := s.options.Now()
	if h.expires.IsZero() || now.Before(h.expires) {
		return nil
	}
	var over []*Entry
	h.each(func(e *Entry) {
		if e.expired(now) {
			over = append(over, e)
		}
	})
	for _, e := range over {
		c := &Change{Entry: *e}
		c.Deleted = e.kept(now)
		if err := s.record(h.key()+sep+e.Name, e, c); err != nil {
			return err
		}
		s.settle(h, e, c)
	}
	h.expires = time.Time{}
	h.each(h.expireWith)
	return nil
}

// states are all states of the entry.
func (e *Entry) states() []*Blob {
	all := slices.Concat(e.Versions, e.Snapshots, e.Deleted)
	if e.Current != nil {
		all = append(all, e.Current)
	}
	return all
}
