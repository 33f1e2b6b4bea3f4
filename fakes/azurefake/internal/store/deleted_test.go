// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// TestExpiredStatesAreRemoved moves the clock past the retention of a deleted blob. Its record and body are removed with
// the next change of the container, or at the next start.
func TestExpiredStatesAreRemoved(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"at a change": false, "at a start": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, now := t.TempDir(), time.Now()
			open := func() (*journal.File, *store.Store) {
				log, err := journal.Open(dir, "test")
				wantNoError(t, err)
				bodies, err := blob.New(dir, 0)
				wantNoError(t, err)
				s, err := store.New(store.Options{Journal: log, Bodies: bodies, Now: func() time.Time { return now }})
				wantNoError(t, err)
				return log, s
			}
			log, s := open()
			_, err := s.CreateContainer(store.Container{Account: "a", Name: "c"})
			wantNoError(t, err)
			write(t, s, "old")
			wantNoError(t, s.Change(store.Ref{Account: "a", Container: "c", Name: "old"}, func(c *store.Change) error {
				c.SoftDelete(c.Current, now, now.Add(time.Hour))
				c.Current = nil
				return nil
			}))
			if restart {
				write(t, s, "new")
				wantNoError(t, log.Close())
			}
			now = now.Add(2 * time.Hour)
			if restart {
				log, _ = open()
			} else {
				write(t, s, "new")
			}
			wantNoError(t, log.Close())
			bodies, err := filepath.Glob(filepath.Join(dir, "bodies", "*", "*"))
			wantNoError(t, err)
			log, err = journal.Open(dir, "test")
			wantNoError(t, err)
			if records := log.Table("entries"); len(bodies) != 1 || len(records) != 1 {
				t.Errorf("%d bodies and %d records remain, want one of each", len(bodies), len(records))
			}
			wantNoError(t, log.Close())
		})
	}
}

// write stores a blob of one byte.
func write(t *testing.T, s *store.Store, name string) {
	t.Helper()
	body := s.NewBody()
	_, err := body.Write([]byte("x"))
	wantNoError(t, err)
	id, err := body.Commit()
	wantNoError(t, err)
	wantNoError(t, s.Change(store.Ref{Account: "a", Container: "c", Name: name}, func(c *store.Change) error {
		c.Current = &store.Blob{Type: store.BlockBlob, Blocks: []store.Block{{Body: id, Size: 1}}, Size: 1}
		return nil
	}))
}

func wantNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
