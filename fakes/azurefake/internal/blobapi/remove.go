// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

func (c *Call) snapshot(w http.ResponseWriter) error {
	meta, err := metadata(c.r.Header)
	if err != nil {
		return err
	}
	var made store.Blob
	var version string
	err = c.api.Store.Change(c.ref(), func(e *store.Change) error {
		if e.Current == nil {
			return azerr.BlobNotFound
		}
		if err := cmp.Or(c.fulfilled(stateOf(e.Current), false), c.guard(e.Lease, false), c.sameScope(e.Current), c.namesScope(e), online(e.Current)); err != nil {
			return err
		}
		made = *e.Current
		made.Version = ""
		made.Snapshot = e.NextStamp(c.api.Now())
		if meta != nil {
			made.Metadata, made.ETag = meta, store.NewETag()
		}
		e.Snapshots = append(e.Snapshots, &made)
		version = c.nextVersion(e)
		return nil
	})
	if err != nil {
		return err
	}
	w.Header().Set("X-Ms-Snapshot", made.Snapshot)
	setUnlessEmpty(w, "X-Ms-Version-Id", version)
	setState(w, made.ETag, made.Modified)
	encrypted(w, made.Scope)
	w.Header().Set("X-Ms-Request-Server-Encrypted", "false") // azblob's TestBlobSnapshotWithCPKScope records this
	w.WriteHeader(http.StatusCreated)
	return nil
}

// nextVersion creates a new version of the current state, like a snapshot of a blob with versions, and returns its
// name, or "" without versioning.
func (c *Call) nextVersion(e *store.Change) string {
	if !c.versioned(e.Current) {
		return ""
	}
	next := *e.Current
	next.Version = e.NextStamp(c.api.Now())
	e.Versions = append(e.Versions, e.Current)
	e.Current = &next
	return next.Version
}

func (c *Call) deleteBlob(w http.ResponseWriter) error {
	mode, err := c.deletion()
	if err != nil {
		return err
	}
	past := c.namesPast()
	err = c.api.Store.Change(c.ref(), func(e *store.Change) error {
		if e.Current == nil && e.HasUncommitted() && !past {
			e.ClearBlocks()
			return c.fulfilled(state{}, false)
		}
		found, err := c.pick(&e.Entry)
		if err != nil {
			return err
		}
		if err := cmp.Or(c.fulfilled(stateOf(found), false), c.tierCondition(found)); err != nil {
			return err
		}
		return c.remove(e, found, mode)
	})
	if err != nil {
		return err
	}
	w.Header().Set("X-Ms-Delete-Type-Permanent", strconv.FormatBool(c.retention() == 0 && (!c.api.Versioning || past)))
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// errTierTime has the code that azblob's TestBlobDeleteAccessTierIfModifiedSinceFalse records.
var errTierTime = azerr.New(http.StatusPreconditionFailed, "AccessTierChangeTimeConditionNotMet", "The condition specified using access tier change time conditional header(s) is not met.")

// tierCondition applies the conditions of Delete Blob on when the tier was set. If the tier was never set, the time
// of creation counts.
func (c *Call) tierCondition(b *store.Blob) error {
	cond, err := readConditions(c.r.Header, "X-Ms-Access-Tier-", "")
	if err != nil {
		return err
	}
	if err := cond.check(state{modified: cmp.Or(b.TierChanged, b.Created), exists: true}, false); err != nil {
		return errTierTime
	}
	return nil
}

// deletion returns what to delete in addition to the blob: "" for nothing, or the values include or only for its
// snapshots.
func (c *Call) deletion() (string, error) {
	mode := c.r.Header.Get("X-Ms-Delete-Snapshots")
	switch {
	case mode != "" && mode != "include" && mode != "only":
		return "", azerr.InvalidHeaderValue
	case mode != "" && c.namesPast():
		return "", azerr.New(http.StatusBadRequest, "InvalidHeaderValue", "x-ms-delete-snapshots cannot be given for a snapshot or a version.")
	}
	return mode, c.permanent()
}

// permanent rejects permanent deletion of soft-deleted blobs, because the account does not have soft delete.
func (c *Call) permanent() error {
	q := c.query
	switch {
	case !q.Has("deletetype"):
		return nil
	case !strings.EqualFold(q.Get("deletetype"), "permanent"): // azblob sends it with a capital
		return azerr.InvalidQueryValue
	}
	return azerr.New(http.StatusConflict, "FeatureNotSupportedForAccount", "Permanent delete is not enabled for this account.")
}

func (c *Call) remove(e *store.Change, found *store.Blob, mode string) error {
	q := c.query
	if q.Has("snapshot") {
		c.softDelete(e, found)
		e.Snapshots = slices.Delete(e.Snapshots, slices.Index(e.Snapshots, found), slices.Index(e.Snapshots, found)+1)
		return nil
	}
	if at := slices.Index(e.Versions, found); at >= 0 {
		c.softDelete(e, found)
		e.Versions = slices.Delete(e.Versions, at, at+1)
		return nil
	}
	if q.Has("versionid") {
		return azerr.New(http.StatusForbidden, "OperationNotAllowedOnRootBlob", "The current version of a blob cannot be deleted by its version ID. Delete the blob without a version ID.")
	}
	if err := c.guard(e.Lease, true); err != nil {
		return err
	}
	if mode == "only" {
		c.softDelete(e, e.Snapshots...)
		e.Snapshots = nil
		return nil
	}
	if len(e.Snapshots) > 0 && mode == "" {
		return azerr.New(http.StatusConflict, "SnapshotsPresent", "This operation is not permitted because the blob has snapshots.")
	}
	c.softDelete(e, e.Snapshots...)
	e.Snapshots = nil
	kept := *e.Current
	kept.Rehydration = nil // "delete of root blob when in rehydrate pending will result in cancellation" (Set Blob Tier)
	if c.versioned(e.Current) {
		e.Versions = append(e.Versions, &kept)
	} else {
		kept.Version = "" // with one, it would be restored as a version
		c.softDelete(e, &kept)
	}
	e.Current, e.Lease = nil, store.Lease{}
	e.ClearBlocks()
	return nil
}
