// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// key is the key of a container in the journal. Deleted containers that are kept have the name and a version.
func (h *holder) key() string {
	if h.Version == "" {
		return key(h.Account, h.Name)
	}
	return key(h.Account, h.Name) + sep + h.Version
}

// keep deletes a container so that it can be restored until the end of the retention.
func (s *Store) keep(h *holder, retention time.Duration) error {
	gone, kept := h.Container, h.Container
	gone.Deleted, kept.Deleted = s.options.Now(), s.options.Now()
	kept.Version, kept.KeptUntil, kept.Lease = "01"+NewETag()[3:], kept.Deleted.Add(retention), Lease{}
	if err := s.move(h, kept, gone); err != nil {
		return err
	}
	s.containers[h.key()] = newHolder(gone)
	s.expireContainer(kept)
	return nil
}

// RestoreContainer restores a deleted container. A version identifies the deleted container among those with the name.
func (s *Store) RestoreContainer(account, name, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key(account, name)
	h := s.containers[k+sep+version]
	if version == "" || h == nil || !s.options.Now().Before(h.KeptUntil) {
		return azerr.ContainerNotFound
	}
	if err := s.free(k); err != nil {
		return err
	}
	next := h.Container
	next.Deleted, next.KeptUntil, next.Version = time.Time{}, time.Time{}, ""
	if err := s.move(h, next); err != nil {
		return err
	}
	delete(s.containers, h.key())
	return nil
}

// free returns an error if a container exists under a key or is being deleted.
func (s *Store) free(k string) error {
	switch h := s.containers[k]; {
	case h == nil:
		return nil
	case h.Deleted.IsZero():
		return azerr.ContainerAlreadyExists
	case s.options.Now().Before(h.Deleted.Add(s.options.Deletion)):
		return azerr.ContainerBeingDeleted
	}
	return nil
}

// move stores a container with its blobs under the key of its next state, together with other containers.
func (s *Store) move(h *holder, next Container, others ...Container) error {
	moved := &holder{Container: next, entries: h.entries, expires: h.expires}
	write := journal.Begin(s.options.Journal)
	h.erase(write)
	moved.save(write)
	for _, c := range others {
		write.Put(tableContainers, key(c.Account, c.Name), c)
	}
	if err := write.Commit(); err != nil {
		return fmt.Errorf("move container %s: %w", h.Name, err)
	}
	s.containers[moved.key()] = moved
	return nil
}

// save stores the container and its blobs.
func (h *holder) save(write *journal.Change) {
	write.Put(tableContainers, h.key(), h.Container)
	h.each(func(e *Entry) {
		k := h.key() + sep + e.Name
		for id, b := range e.uncommitted {
			write.Put(tableBlocks, k+sep+id, b)
		}
		if len(e.states()) > 0 {
			write.Put(tableEntries, k, e)
		}
	})
}

// erase deletes the container and its blobs.
func (h *holder) erase(write *journal.Change) {
	write.Delete(tableContainers, h.key())
	h.each(func(e *Entry) {
		k := h.key() + sep + e.Name
		write.Delete(tableEntries, k)
		for id := range e.uncommitted {
			write.Delete(tableBlocks, k+sep+id)
		}
	})
}

// discard removes the bodies of all blobs.
func (s *Store) discard(h *holder) {
	h.each(func(e *Entry) { s.options.Bodies.Delete(slices.Collect(maps.Keys(e.bodies()))...) })
}

// KeptContainers returns the deleted containers of an account that can be restored, ordered by name.
func (s *Store) KeptContainers(account string) []Container {
	return s.list(account, func(h *holder) bool { return s.options.Now().Before(h.KeptUntil) })
}

// expireContainer makes the next purge happen no later than the end of a retention.
func (s *Store) expireContainer(c Container) {
	if !c.KeptUntil.IsZero() && (s.expires.IsZero() || c.KeptUntil.Before(s.expires)) {
		s.expires = c.KeptUntil
	}
}

// purgeContainers removes the deleted containers whose retention has ended.
func (s *Store) purgeContainers() error {
	now := s.options.Now()
	if s.expires.IsZero() || now.Before(s.expires) {
		return nil
	}
	for k, h := range s.containers {
		if h.KeptUntil.IsZero() || now.Before(h.KeptUntil) {
			continue
		}
		write := journal.Begin(s.options.Journal)
		h.erase(write)
		if err := write.Commit(); err != nil {
			return fmt.Errorf("remove container %s: %w", h.Name, err)
		}
		s.discard(h)
		delete(s.containers, k)
	}
	s.expires = time.Time{}
	for _, h := range s.containers {
		s.expireContainer(h.Container)
	}
	return nil
}
