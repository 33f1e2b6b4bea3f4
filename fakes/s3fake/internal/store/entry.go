// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// entry is one key with its versions, oldest first. A new version is appended, so each write takes the same time
// regardless of the number of versions. It is read and changed under the store's lock; the versions themselves are
// immutable.
type entry struct {
	key      string
	versions []*Version
}

// order sorts the versions after loading.
func (e *entry) order() {
	slices.SortFunc(e.versions, func(a, b *Version) int { return cmp.Compare(a.Seq, b.Seq) })
}

func (e *entry) newest() *Version { return e.versions[len(e.versions)-1] }

// current returns the version that a GET without a version ID reads, or nil if there is none.
func (e *entry) current() *Version {
	if e == nil || e.newest().DeleteMarker {
		return nil
	}
	return e.newest()
}

// index returns the index of a version by ID, or -1. It searches for a null version from the newest version on,
// because the null version is the newest while versioning is suspended.
func (e *entry) index(id string) int {
	if id == NullVersion {
		for i, v := range slices.Backward(e.versions) {
			if v.ID == NullVersion {
				return i
			}
		}
		return -1
	}
	seq, ok := seqOf(id)
	if !ok {
		return -1
	}
	if i, found := e.search(seq); found && e.versions[i].ID == id {
		return i
	}
	return -1
}

// search finds the place of a sequence number.
func (e *entry) search(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(e.versions, seq, func(v *Version, seq uint64) int { return cmp.Compare(v.Seq, seq) })
}

// before returns the versions older than id. If the version has been deleted since, its former position is used,
// except for a null version: then all are returned.
func (e *entry) before(id string) []*Version {
	if i := e.index(id); i >= 0 {
		return e.versions[:i]
	}
	seq, ok := seqOf(id)
	if !ok {
		return e.versions
	}
	i, _ := e.search(seq)
	return e.versions[:i]
}

// target returns the version that a delete affects: the one with the given ID, or the newest. It is nil if there is
// none.
func (e *entry) target(id string) *Version {
	if id == "" {
		return e.newest()
	}
	if i := e.index(id); i >= 0 {
		return e.versions[i]
	}
	return nil
}

// remove removes and returns the version at index i. It does nothing if i is -1.
func (e *entry) remove(i int) *Version {
	if i < 0 {
		return nil
	}
	v := e.versions[i]
	e.versions = slices.Delete(e.versions, i, i+1)
	return v
}

// seqOf returns the sequence number in a version ID that newID created.
func seqOf(id string) (seq uint64, ok bool) {
	raw, err := idEncoding().DecodeString(id)
	if err != nil || len(raw) < 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(raw), true
}
