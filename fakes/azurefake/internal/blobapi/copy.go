// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
)

var errSource = azerr.New(http.StatusNotFound, "CannotVerifyCopySource", "The specified resource does not exist.")

// source prepares a call for the blob that is copied, with the same caller unless the address is signed.
func (c *Call) source() (*Call, error) {
	u, err := url.Parse(c.r.Header.Get("X-Ms-Copy-Source"))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, azerr.InvalidHeaderValue
	}
	r := c.r.Clone(c.r.Context())
	r.Method, r.URL, r.Host, r.Body, r.ContentLength = http.MethodGet, u, u.Host, http.NoBody, 0
	r.Header = http.Header{"X-Ms-Version": c.r.Header["X-Ms-Version"]}
	if auth := c.r.Header.Get("X-Ms-Copy-Source-Authorization"); auth != "" {
		r.Header.Set("Authorization", auth)
	}
	from := c.api.Prepare(r, c.requestID)
	if from.Operation != access.GetBlob {
		return nil, azerr.InvalidHeaderValue
	}
	if from.Caller, err = c.api.Directory.Authenticate(r, from.Target); err != nil {
		return nil, c.unverified(err)
	}
	if from.Caller.Kind == access.Anonymous && from.Target.Account == c.Target.Account && (c.Caller.Kind == access.SharedKey || c.Caller.Kind == access.Bearer) {
		own := *c.Caller
		from.Caller = own.For(from.Target)
	}
	if err := from.Caller.Authorize(access.GetBlob); err != nil {
		return nil, c.unverified(err)
	}
	return from, nil
}

// unverified words a refusal of the source.
func (c *Call) unverified(err error) error {
	e := azerr.From(err)
	return azerr.New(e.Status, "CannotVerifyCopySource", e.Message)
}

// copyBlob is Copy Blob, Copy Blob From URL and Put Blob From URL: a source in the same server is copied at once.
func (c *Call) copyBlob(w http.ResponseWriter) error {
	from, err := c.source()
	if err != nil {
		return err
	}
	if err := checkBlobName(c.Target.Blob); err != nil {
		return err
	}
	if err := c.api.Store.View(c.ref(), func(_ store.Container, e *store.Entry) error { return c.mayWrite(e) }); err != nil {
		return err
	}
	next, err := c.copied(from)
	if err != nil {
		return err
	}
	err = c.api.Store.Change(c.ref(), func(e *store.Change) error {
		if err := c.mayWrite(&e.Entry); err != nil {
			return err
		}
		if e.Current != nil && e.Current.Type != next.Type {
			return azerr.InvalidBlobType
		}
		e.ClearBlocks()
		c.replace(e, next)
		return nil
	})
	if err != nil {
		for _, b := range next.Blocks {
			c.api.Store.Discard(b.Body)
		}
		return err
	}
	setState(w, next.ETag, next.Modified)
	w.Header().Set("X-Ms-Copy-Id", next.Copy.ID)
	w.Header().Set("X-Ms-Copy-Status", "success")
	if next.Version != "" {
		w.Header().Set("X-Ms-Version-Id", next.Version)
	}
	status := http.StatusAccepted
	if c.r.Header.Get("X-Ms-Blob-Type") != "" {
		status = http.StatusCreated
	}
	w.WriteHeader(status)
	return nil
}

// copied reads the source and makes the new state with bodies of its own.
func (c *Call) copied(from *Call) (*store.Blob, error) {
	cond, err := readConditions(c.r.Header, "X-Ms-Source-")
	if err != nil {
		return nil, err
	}
	var src *store.Blob
	var unpin func()
	err = c.api.Store.View(from.ref(), func(_ store.Container, e *store.Entry) error {
		b, err := from.pick(e)
		if err != nil {
			return err
		}
		if cond.check(b.ETag, b.Modified, true, false) != nil {
			return azerr.New(http.StatusPreconditionFailed, "SourceConditionNotMet", "The source condition specified using HTTP conditional header(s) is not met.")
		}
		src, unpin = b, c.api.Store.Pin(b)
		return nil
	})
	if err != nil {
		if e := azerr.From(err); e.Status == http.StatusNotFound {
			return nil, errSource
		}
		return nil, err
	}
	defer unpin()
	next := *src
	next.Snapshot, next.Version, next.Created = "", "", c.api.Now().Truncate(0)
	if err := c.copyAttributes(&next); err != nil {
		return nil, err
	}
	if next.Blocks, err = c.copyBlocks(src); err != nil {
		return nil, err
	}
	shown, _, _ := strings.Cut(c.r.Header.Get("X-Ms-Copy-Source"), "?")
	next.Copy = &store.Copy{ID: uuid.NewString(), Source: shown, Completed: c.api.Now(), Bytes: next.Size}
	return &next, nil
}

// copyAttributes applies what the request sets in place of the source's.
func (c *Call) copyAttributes(next *store.Blob) error {
	own, err := c.newBlob(next.Type)
	if err != nil {
		return err
	}
	if own.Metadata != nil {
		next.Metadata = own.Metadata
	}
	next.Tags = own.Tags
	if own.Tier != "" {
		next.Tier, next.TierChanged = own.Tier, own.TierChanged
	}
	return c.scope(next)
}

func (c *Call) copyBlocks(src *store.Blob) ([]store.Block, error) {
	out := make([]store.Block, 0, len(src.Blocks))
	var offset int64
	for _, b := range src.Blocks {
		body := c.api.Store.NewBody()
		err := c.api.Store.Read(body, src, offset, b.Size)
		var id blob.ID
		if err == nil {
			id, err = body.Commit()
		}
		if err != nil {
			return nil, fmt.Errorf("copy a blob: %w", err)
		}
		offset += b.Size
		out = append(out, store.Block{ID: b.ID, Body: id, Size: b.Size})
	}
	return out, nil
}

func (c *Call) setCopy(w http.ResponseWriter, done *store.Copy) {
	h := w.Header()
	h.Set("X-Ms-Copy-Id", done.ID)
	h.Set("X-Ms-Copy-Source", done.Source)
	h.Set("X-Ms-Copy-Status", "success")
	h.Set("X-Ms-Copy-Progress", fmt.Sprintf("%d/%d", done.Bytes, done.Bytes))
	h.Set("X-Ms-Copy-Completion-Time", httpTime(done.Completed))
}
