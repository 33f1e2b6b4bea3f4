// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"net/http"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

// retention returns for how long deleted blobs of the account are kept, or 0.
func (c *Call) retention() time.Duration {
	account, _ := c.api.Directory.Account(c.Target.Account)
	if account.Service == "" {
		return 0
	}
	stored, err := storedService(account)
	if err != nil || stored.Deletion == nil || !*stored.Deletion.Enabled {
		return 0
	}
	return time.Duration(*stored.Deletion.Days) * 24 * time.Hour
}

// softDelete keeps the states that are deleted, if the account has soft delete.
func (c *Call) softDelete(e *store.Change, states ...*store.Blob) {
	if kept := c.retention(); kept > 0 {
		now := c.api.Now()
		for _, b := range states {
			e.SoftDelete(b, now, now.Add(kept))
		}
	}
}

// softReplace keeps the state that a new one replaces, unless it becomes a version.
func (c *Call) softReplace(e *store.Change) {
	now := c.api.Now()
	e.ArchiveDeleted(now)
	if kept := c.retention(); kept > 0 && e.Current != nil && !c.versioned(e.Current) {
		e.SoftDeleteReplaced(e.Current, now, now.Add(kept))
	}
}

// versioned reports whether a current state becomes a version when it is replaced or deleted.
func (c *Call) versioned(b *store.Blob) bool { return c.api.Versioning && b.Version != "" }

// undelete implements Undelete Blob. It restores the blob and all of its snapshots and versions; without deleted states
// it has no effect.
func (c *Call) undelete(w http.ResponseWriter) error {
	err := c.api.Store.Change(c.ref(), func(e *store.Change) error {
		if !e.Undelete() {
			return azerr.BlobNotFound
		}
		return nil
	})
	return respond(w, http.StatusOK, err)
}

// deletedItems are the deleted states that a listing asks for: the blob, and its snapshots and versions if the listing
// has them.
func (c *Call) deletedItems(e *store.Entry, l listing, add func(string, func() blobXML)) {
	if !l.include["deleted"] {
		return
	}
	for _, b := range e.Deleted {
		state, listed := stateDeleted, true
		switch {
		case b.Snapshot != "":
			state, listed = stateSnapshot+b.Snapshot, l.include["snapshots"]
		case b.Version != "":
			state, listed = stateVersion+b.Version, l.include["versions"]
		}
		if listed {
			add(state, func() blobXML {
				one := c.blobXML(e, b, l)
				left := int(b.KeptUntil.Sub(c.api.Now()) / (24 * time.Hour))
				one.Deleted, one.Properties.DeletedTime, one.Properties.RemainingDays = true, httpTime(b.Deleted), &left
				return one
			})
		}
	}
}
