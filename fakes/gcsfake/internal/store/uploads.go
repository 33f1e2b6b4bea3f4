// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// maxCompleted bounds the completed uploads that are remembered for clients that ask again.
const maxCompleted = 1000

func newUploadID() string {
	var b [48]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// bodies are all bodies of an upload.
func (u *Upload) bodies() []blob.ID {
	out := ids(u.Segments)
	for _, p := range u.Parts {
		out = append(out, p.Segment.ID)
	}
	return out
}

func partKey(u *Upload, number int) string { return fmt.Sprintf("%s/%d", u.ID, number) }

func dropUpload(c *journal.Change, u *Upload) {
	c.Delete(tableUploads, u.ID)
	for n := range u.Parts {
		c.Delete(tableParts, partKey(u, n))
	}
}

// StartUpload starts an upload and returns it with its ID.
func (s *Store) StartUpload(u Upload) (Upload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buckets[u.Bucket] == nil {
		return Upload{}, gcserr.NoBucket
	}
	u.ID, u.Created, u.Parts = newUploadID(), s.now(), map[int]Part{}
	if err := journal.Save(s.journal, tableUploads, u.ID, u); err != nil {
		return Upload{}, err
	}
	s.uploads[u.ID] = &u
	return u, nil
}

// Upload returns an unfinished upload.
func (s *Store) Upload(id string) (Upload, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	u := s.uploads[id]
	if u == nil {
		return Upload{}, gcserr.NoUpload
	}
	out := *u
	out.Parts = maps.Clone(u.Parts)
	return out, nil
}

// Completed returns the object that a recently completed upload created, or nil if there is none.
func (s *Store) Completed(id string) *Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.completed[id]
}

// Uploads returns the unfinished multipart uploads of a bucket, ordered by name.
func (s *Store) Uploads(bucket string) ([]Upload, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.buckets[bucket] == nil {
		return nil, gcserr.NoBucket
	}
	var out []Upload
	for _, u := range s.uploads {
		if u.Bucket == bucket && u.Multipart {
			out = append(out, *u)
		}
	}
	slices.SortFunc(out, func(a, b Upload) int { return slices.Compare([]string{a.Name, a.ID}, []string{b.Name, b.ID}) })
	return out, nil
}

// Extend stores an additional segment of a resumable upload. before is the upload as returned by Upload, and next is
// the same upload with the new segment and checksums.
func (s *Store) Extend(before, next Upload) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[next.ID]
	if u == nil {
		return gcserr.NoUpload
	}
	if u.Size != before.Size {
		return gcserr.Conflict.Say("Another request has extended the upload in the meantime.")
	}
	if err := journal.Save(s.journal, tableUploads, next.ID, next); err != nil {
		return err
	}
	next.Parts = u.Parts
	s.uploads[next.ID] = &next
	return nil
}

// PutPart stores a part and replaces an earlier one with the same number.
func (s *Store) PutPart(id string, p Part) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[id]
	if u == nil {
		return gcserr.NoUpload
	}
	if err := journal.Save(s.journal, tableParts, partKey(u, p.Number), p); err != nil {
		return err
	}
	old, replaced := u.Parts[p.Number]
	u.Parts[p.Number] = p
	if replaced {
		s.bodies.Delete(old.Segment.ID)
	}
	return nil
}

// FinishUpload ends an upload and stores o. It deletes the bodies of the upload that o does not use.
func (s *Store) FinishUpload(id string, o Object, guard Guard) (*Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[id]
	if u == nil {
		return nil, gcserr.NoUpload
	}
	c := journal.Begin(s.journal)
	dropUpload(c, u)
	full := len(s.completed) >= maxCompleted
	if full {
		for old := range s.completed {
			c.Delete(tableCompleted, old)
		}
	}
	stored, err := s.put(o, guard, c, func(stored *Object) { c.Put(tableCompleted, id, stored) })
	if err != nil {
		return nil, err
	}
	delete(s.uploads, id)
	if full {
		clear(s.completed)
	}
	s.completed[id] = stored
	used := ids(stored.Segments)
	for _, b := range u.bodies() {
		if !slices.Contains(used, b) {
			s.bodies.Delete(b)
		}
	}
	return stored, nil
}

// CancelUpload ends an upload and deletes the data that it has received.
func (s *Store) CancelUpload(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[id]
	if u == nil {
		return gcserr.NoUpload
	}
	c := journal.Begin(s.journal)
	dropUpload(c, u)
	if err := c.Commit(); err != nil {
		return err
	}
	delete(s.uploads, id)
	s.bodies.Delete(u.bodies()...)
	return nil
}
