// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"net/http"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

func (c *Call) snapshot(w http.ResponseWriter) error {
	meta, err := metadata(c.r.Header)
	if err != nil {
		return err
	}
	var made store.Blob
	err = c.api.Store.Change(c.ref(), func(e *store.Change) error {
		if e.Current == nil {
			return azerr.BlobNotFound
		}
		cond, err := readConditions(c.r.Header, "")
		if err == nil {
			err = cond.check(e.Current.ETag, e.Current.Modified, true, false)
		}
		if err == nil {
			err = e.Lease.Guard(c.leaseID(), "Blob", false, c.api.Now())
		}
		if err != nil {
			return err
		}
		made = *e.Current
		made.Version = ""
		made.Snapshot = e.NextStamp(c.api.Now())
		if meta != nil {
			made.Metadata, made.ETag = meta, store.NewETag()
		}
		e.Snapshots = append(e.Snapshots, &made)
		return nil
	})
	if err != nil {
		return err
	}
	w.Header().Set("X-Ms-Snapshot", made.Snapshot)
	c.created(w, &made, "")
	return nil
}

func (c *Call) deleteBlob(w http.ResponseWriter) error {
	q, mode := c.r.URL.Query(), c.r.Header.Get("X-Ms-Delete-Snapshots")
	if mode != "" && mode != "include" && mode != "only" {
		return azerr.InvalidHeaderValue
	}
	if mode != "" && (q.Has("snapshot") || q.Has("versionid")) {
		return azerr.New(http.StatusBadRequest, "InvalidHeaderValue", "x-ms-delete-snapshots cannot be given for a snapshot or a version.")
	}
	err := c.api.Store.Change(c.ref(), func(e *store.Change) error {
		found, err := c.pick(&e.Entry)
		if err != nil {
			return err
		}
		cond, err := readConditions(c.r.Header, "")
		if err == nil {
			err = cond.check(found.ETag, found.Modified, true, false)
		}
		if err != nil {
			return err
		}
		return c.remove(e, found, mode)
	})
	if err != nil {
		return err
	}
	w.Header().Set("X-Ms-Delete-Type-Permanent", boolText(!c.api.Versioning || q.Has("versionid") || q.Has("snapshot")))
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (c *Call) remove(e *store.Change, found *store.Blob, mode string) error {
	q := c.r.URL.Query()
	if q.Has("snapshot") {
		e.Snapshots = slices.Delete(e.Snapshots, slices.Index(e.Snapshots, found), slices.Index(e.Snapshots, found)+1)
		return nil
	}
	if at := slices.Index(e.Versions, found); at >= 0 {
		e.Versions = slices.Delete(e.Versions, at, at+1)
		return nil
	}
	if q.Has("versionid") {
		return azerr.New(http.StatusForbidden, "OperationNotAllowedOnRootBlob", "The current version of a blob is deleted without naming its version.")
	}
	if err := e.Lease.Guard(c.leaseID(), "Blob", true, c.api.Now()); err != nil {
		return err
	}
	if mode == "only" {
		e.Snapshots = nil
		return nil
	}
	if len(e.Snapshots) > 0 && mode == "" {
		return azerr.New(http.StatusConflict, "SnapshotsPresent", "This operation is not permitted because the blob has snapshots.")
	}
	e.Snapshots = nil
	if c.api.Versioning && e.Current.Version != "" {
		e.Versions = append(e.Versions, e.Current)
	}
	e.Current, e.Lease = nil, store.Lease{}
	e.ClearBlocks()
	return nil
}
