// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

func uploadKey(u *Upload) string { return u.Bucket + "/" + u.ID }

func partKey(u *Upload, number int) string { return fmt.Sprintf("%s/%s/%d", u.Bucket, u.ID, number) }

// uploadMark is the suffix of an upload's ID. It shows whether an ID was issued for a key, even after the upload has
// been completed.
func uploadMark(bucket, key string) []byte {
	sum := sha256.Sum256([]byte(bucket + "/" + key))
	return sum[:4]
}

// IssuedFor reports whether the store issued id for an upload of the key.
func IssuedFor(id, bucket, key string) bool {
	raw, err := idEncoding().DecodeString(id)
	return err == nil && bytes.HasSuffix(raw, uploadMark(bucket, key))
}

// CreateUpload starts a multipart upload and returns it with its ID.
func (s *Store) CreateUpload(u Upload) (*Upload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[u.Bucket]
	if b == nil {
		return nil, ErrNoBucket
	}
	u.Initiated = s.now()
	u.ID = newID(uint64(u.Initiated.UnixNano()), uploadMark(u.Bucket, u.Key)...)
	u.Parts = map[int]Part{}
	if err := journal.Save(s.journal, tableUploads, uploadKey(&u), u); err != nil {
		return nil, err
	}
	b.begin(&u)
	return &u, nil
}

func (b *bucketState) begin(u *Upload) {
	b.uploads[u.ID] = u
	b.open[u.Key] = append(b.open[u.Key], u)
}

func (b *bucketState) end(u *Upload) {
	delete(b.uploads, u.ID)
	rest := slices.DeleteFunc(b.open[u.Key], func(other *Upload) bool { return other == u })
	b.open[u.Key] = rest
	if len(rest) == 0 {
		delete(b.open, u.Key)
	}
}

// overtake records that a key changes while uploads of it are in progress, except for the upload that changes it. It
// returns the function that makes the change visible.
func (b *bucketState) overtake(key string, by *Upload, r *journal.Change) func() {
	var changed []*Upload
	for _, u := range b.open[key] {
		if u == by || u.Overtaken {
			continue
		}
		next := *u
		next.Overtaken = true
		r.Put(tableUploads, uploadKey(u), next)
		changed = append(changed, u)
	}
	return func() {
		for _, u := range changed {
			u.Overtaken = true
		}
	}
}

// Upload returns a copy of an upload with its parts.
func (s *Store) Upload(bucket, key, id string) (*Upload, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	u, err := s.uploadLocked(bucket, key, id)
	if err != nil {
		return nil, err
	}
	c := *u
	c.Parts = maps.Clone(u.Parts)
	return &c, nil
}

func (s *Store) uploadLocked(bucket, key, id string) (*Upload, error) {
	b := s.buckets[bucket]
	if b == nil {
		return nil, ErrNoBucket
	}
	u := b.uploads[id]
	if u == nil || u.Key != key {
		return nil, ErrNoUpload
	}
	return u, nil
}

// PutPart adds or replaces a part. If it fails, it deletes the part's body.
func (s *Store) PutPart(bucket, key, id string, p Part) (Part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.uploadLocked(bucket, key, id)
	if err != nil {
		s.blobs.Delete(ids(p.Segments)...)
		return Part{}, err
	}
	p.Modified = s.now()
	if err := journal.Save(s.journal, tableParts, partKey(u, p.Number), p); err != nil {
		s.blobs.Delete(ids(p.Segments)...)
		return Part{}, err
	}
	old := u.Parts[p.Number]
	u.Parts[p.Number] = p
	s.blobs.Delete(ids(old.Segments)...)
	return p, nil
}

// Complete ends an upload and stores the result of build as the newest version of its key. It deletes the bodies of
// parts that the version does not use. guard is as in Put.
func (s *Store) Complete(bucket, key, id string, build func(u *Upload) (Version, error), guard func(b Bucket, current *Version, v *Version) error) (*Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.uploadLocked(bucket, key, id)
	if err != nil {
		return nil, err
	}
	v, err := build(u)
	if err != nil {
		return nil, err
	}
	used := map[blob.ID]bool{}
	remember(used, v.Segments)
	r := journal.Begin(s.journal)
	bodies := dropUpload(r, u)
	stored, err := s.putLocked(v, guard, r, u)
	if err != nil {
		return nil, err
	}
	s.buckets[bucket].end(u)
	s.remember(bucket+"/"+id, stored)
	for _, body := range bodies {
		if !used[body] {
			s.blobs.Delete(body)
		}
	}
	return stored, nil
}

// maxCompleted bounds how many completed uploads are remembered.
const maxCompleted = 1000

// remember stores the outcome of a completion, because the client may not have received the response.
func (s *Store) remember(key string, v *Version) {
	if len(s.completed) >= maxCompleted {
		s.completed = map[string]*Version{}
	}
	s.completed[key] = v
}

// Completed returns the version that a completed upload created, if the version still exists.
func (s *Store) Completed(bucket, key, id string) (*Version, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v := s.completed[bucket+"/"+id]
	if v == nil || v.Key != key {
		return nil, false
	}
	_, err := s.getLocked(bucket, key, v.ID)
	return v, err == nil
}

// dropUpload records the end of an upload and returns the bodies of its parts.
func dropUpload(r *journal.Change, u *Upload) []blob.ID {
	r.Delete(tableUploads, uploadKey(u))
	var bodies []blob.ID
	for n, p := range u.Parts {
		r.Delete(tableParts, partKey(u, n))
		bodies = append(bodies, ids(p.Segments)...)
	}
	return bodies
}

// Abort ends an upload and deletes its parts.
func (s *Store) Abort(bucket, key, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.uploadLocked(bucket, key, id)
	if err != nil {
		return err
	}
	r := journal.Begin(s.journal)
	bodies := dropUpload(r, u)
	if err := r.Commit(); err != nil {
		return err
	}
	s.buckets[bucket].end(u)
	s.blobs.Delete(bodies...)
	return nil
}
