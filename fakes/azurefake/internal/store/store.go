// SPDX-License-Identifier: Apache-2.0

// Package store stores containers and blobs. A blob has versions, snapshots, blocks and a lease. The store writes
// every change to a journal before the change is acknowledged. It does not depend on HTTP or authorization.
package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/btree"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Tables of the journal.
const (
	tableContainers = "containers"
	tableEntries    = "entries"
	tableBlocks     = "blocks"
)

// sep separates the parts of a key. Names cannot contain it.
const sep = "\x00"

// Options are the arguments of New. All are required except Deletion.
type Options struct {
	Journal journal.Journal
	Bodies  *blob.Store
	Now     func() time.Time
	// Deletion is the time that the deletion of a container takes. During this time its name cannot be used.
	Deletion time.Duration
}

// Store holds the data of all accounts.
type Store struct {
	options Options

	mu         sync.RWMutex
	containers map[string]*holder
	// expires is the time of the next purge: no retention of a deleted container ends earlier. It is zero if none is kept.
	expires time.Time
}

// holder is a container with its blobs.
type holder struct {
	Container

	// entries are in the order of their names.
	entries *btree.BTreeG[*Entry]
	// expires is a time before which no retention of a deleted state ends. It is zero if there are no deleted states.
	expires time.Time
}

func newHolder(c Container) *holder {
	return &holder{Container: c, entries: btree.NewG(32, func(a, b *Entry) bool { return a.Name < b.Name })}
}

// entry returns the entry under a name, or nil.
func (h *holder) entry(name string) *Entry {
	e, _ := h.entries.Get(&Entry{Name: name})
	return e
}

// each shows all entries.
func (h *holder) each(show func(*Entry)) {
	h.entries.Ascend(func(e *Entry) bool {
		show(e)
		return true
	})
}

// New returns a store with the contents of the journal.
func New(o Options) (*Store, error) {
	s := &Store{options: o, containers: map[string]*holder{}}
	if err := s.load(); err != nil {
		return nil, err
	}
	return s, o.Bodies.Sweep(s.bodies())
}

func (s *Store) load() error {
	containers, entries, blocks := map[string]Container{}, map[string]*Entry{}, map[string]Block{}
	j := s.options.Journal
	if err := errors.Join(journal.Load(j, tableContainers, containers), journal.Load(j, tableEntries, entries), journal.Load(j, tableBlocks, blocks)); err != nil {
		return err
	}
	for key, c := range containers {
		s.containers[key] = newHolder(c)
		s.expireContainer(c)
	}
	for key, e := range entries {
		if h := s.containers[parent(key)]; h != nil {
			h.entries.ReplaceOrInsert(e)
			h.expireWith(e)
		}
	}
	for key, b := range blocks {
		h := s.containers[parent(parent(key))]
		if h == nil {
			continue
		}
		name := strings.TrimPrefix(parent(key), parent(parent(key))+sep)
		e := h.entry(name)
		if e == nil {
			e = &Entry{Name: name}
			h.entries.ReplaceOrInsert(e)
		}
		e.addBlock(b)
	}
	for _, h := range s.containers {
		if err := s.purge(h); err != nil {
			return err
		}
	}
	return s.purgeContainers()
}

func parent(key string) string { return key[:max(0, strings.LastIndex(key, sep))] }

// bodies returns which bodies are referred to.
func (s *Store) bodies() func(blob.ID) bool {
	known := map[blob.ID]bool{}
	for _, h := range s.containers {
		h.each(func(e *Entry) { maps.Copy(known, e.bodies()) })
	}
	return func(id blob.ID) bool { return known[id] }
}

func (e *Entry) bodies() map[blob.ID]bool {
	all := map[blob.ID]bool{}
	for _, b := range e.states() {
		for _, block := range b.Blocks {
			all[block.Body] = true
		}
	}
	delete(all, "") // pages without a body
	for _, block := range e.uncommitted {
		all[block.Body] = true
	}
	return all
}

func (e *Entry) addBlock(b Block) {
	if e.uncommitted == nil {
		e.uncommitted = map[string]Block{}
	}
	e.uncommitted[b.ID] = b
}

func key(account, container string) string { return account + sep + container }

// CreateContainer adds a container.
func (s *Store) CreateContainer(c Container) (Container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Now()
	k := key(c.Account, c.Name)
	if err := s.free(k); err != nil {
		return c, err
	}
	if err := s.purgeContainers(); err != nil {
		return c, err
	}
	c.ETag, c.Modified = NewETag(), now
	if err := s.put(tableContainers, k, c); err != nil {
		return c, err
	}
	s.containers[k] = newHolder(c)
	return c, nil
}

// Container returns an existing container.
func (s *Store) Container(account, name string) (Container, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h, err := s.live(account, name)
	if err != nil {
		return Container{}, err
	}
	return h.Container, nil
}

func (s *Store) live(account, name string) (*holder, error) {
	h := s.containers[key(account, name)]
	if h == nil || !h.Deleted.IsZero() {
		return nil, azerr.ContainerNotFound
	}
	return h, nil
}

// Containers returns the containers of an account, ordered by name.
func (s *Store) Containers(account string) []Container {
	return s.list(account, func(h *holder) bool { return h.Deleted.IsZero() })
}

func (s *Store) list(account string, shown func(*holder) bool) []Container {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []Container
	for _, h := range s.containers {
		if h.Account == account && shown(h) {
			out = append(out, h.Container)
		}
	}
	slices.SortFunc(out, func(a, b Container) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ChangeContainer calls change to edit a copy of the container and stores the copy unless change returns an error.
func (s *Store) ChangeContainer(account, name string, change func(*Container) error) (Container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.live(account, name)
	if err != nil {
		return Container{}, err
	}
	next := h.Container
	if err := change(&next); err != nil {
		return h.Container, err
	}
	if err := s.put(tableContainers, key(account, name), next); err != nil {
		return h.Container, err
	}
	h.Container = next
	return next, nil
}

// DeleteContainer calls check and, if it returns no error, starts the deletion of the container. The blobs are
// deleted immediately, unless the container is kept to be restored.
func (s *Store) DeleteContainer(account, name string, retention time.Duration, check func(Container) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key(account, name)
	if errors.Is(s.free(k), azerr.ContainerBeingDeleted) {
		return nil // recorded: https://github.com/Azure/azure-sdk-for-go/issues/883
	}
	h, err := s.live(account, name)
	if err != nil {
		return err
	}
	if err := check(h.Container); err != nil {
		return err
	}
	if err := s.purgeContainers(); err != nil {
		return err
	}
	if retention > 0 {
		return s.keep(h, retention)
	}
	gone := h.Container
	gone.Deleted = s.options.Now()
	write := journal.Begin(s.options.Journal)
	h.erase(write)
	write.Put(tableContainers, k, gone)
	if err := write.Commit(); err != nil {
		return fmt.Errorf("delete container %s: %w", name, err)
	}
	s.discard(h)
	s.containers[k] = newHolder(gone)
	return nil
}

func (s *Store) put(table, k string, value any) error {
	if err := journal.Save(s.options.Journal, table, k, value); err != nil {
		return fmt.Errorf("store %s: %w", table, err)
	}
	return nil
}

// Count returns the numbers of items in a container.
func (s *Store) Count(account, name string) (Counts, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out Counts
	h, err := s.live(account, name)
	if err != nil {
		return out, err
	}
	h.each(func(e *Entry) {
		out.Versions += len(e.Versions)
		out.Snapshots += len(e.Snapshots)
		out.Deleted += len(e.kept(s.options.Now()))
		if e.Current != nil {
			out.Blobs++
			out.Bytes += e.Current.Size
		} else if e.HasUncommitted() {
			out.Uncommitted++
		}
	})
	return out, nil
}

// Names returns at most limit names of current blobs in a container.
func (s *Store) Names(account, name string, limit int) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := []string{}
	h, err := s.live(account, name)
	if err != nil {
		return out
	}
	h.entries.Ascend(func(e *Entry) bool {
		if e.Current != nil && len(out) < limit {
			out = append(out, e.Name)
		}
		return len(out) < limit
	})
	return out
}
