// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"crypto/md5" //nolint:gosec // the protocol's checksum
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
)

var errSource = azerr.New(http.StatusNotFound, "CannotVerifyCopySource", "The specified resource does not exist.")

// source prepares a call for the source blob. If the source URL is not signed, the source must be public, except that
// Copy Blob within an account uses the caller's own access.
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
	if from.ambiguous != nil {
		return nil, c.unverified(from.ambiguous)
	}
	if from.Operation != access.GetBlob {
		return nil, azerr.InvalidHeaderValue
	}
	if from.Caller, err = c.api.Directory.Authenticate(r, from.Target); err != nil {
		return nil, c.unverified(err)
	}
	keyed := c.Caller.Kind == access.SharedKey || c.Caller.Kind == access.Bearer
	if keyed && from.Caller.Kind == access.Anonymous && from.Target.Account == c.Target.Account && c.Operation == access.CopyBlob && c.later() {
		own := *c.Caller
		from.Caller = own.For(from.Target)
	}
	if err := from.Caller.Authorize(access.GetBlob); err != nil {
		return nil, c.unverified(err)
	}
	if err := from.checkParameters(); err != nil {
		return nil, c.unverified(err)
	}
	return from, nil
}

// abortCopy implements Abort Copy Blob. Copies complete before the response, so there is never a copy to abort.
func (c *Call) abortCopy(http.ResponseWriter) error {
	q, action := c.query, c.r.Header.Get("X-Ms-Copy-Action")
	switch {
	case q.Get("copyid") == "":
		return azerr.MissingQuery
	case uuid.Validate(q.Get("copyid")) != nil:
		return azerr.InvalidQueryValue
	case action == "":
		return azerr.MissingHeader
	case action != "abort":
		return azerr.InvalidHeaderValue
	}
	return c.api.Store.View(c.ref(), func(e *store.Entry) error {
		if e.Current == nil {
			return azerr.BlobNotFound
		}
		if err := c.guard(e.Lease, true); err != nil {
			return err
		}
		return azerr.New(http.StatusConflict, "NoPendingCopyOperation", "There is currently no pending copy operation.")
	})
}

// unverified returns the error for an unauthorized source.
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
	if err := c.api.Store.View(c.ref(), func(e *store.Entry) error { return c.mayWrite(e) }); err != nil {
		return err
	}
	next, err := c.copied(from)
	if err != nil {
		return err
	}
	err = c.api.Store.Change(c.ref(), func(e *store.Change) error {
		if err := c.mayReplace(&e.Entry, next.Type); err != nil {
			return err
		}
		if e.Lease.Locked(c.api.Now()) && e.Lease.Duration != store.Infinite && !c.fromURL() {
			return azerr.New(http.StatusPreconditionFailed, "InfiniteLeaseDurationRequired", "The lease ID matched, but the specified lease must be an infinite-duration lease.")
		}
		e.ClearBlocks()
		c.replace(e, next)
		return nil
	})
	if err != nil {
		c.discard(next.Blocks)
		return err
	}
	if c.fromURL() {
		c.created(w, next, next.Headers["Content-Md5"])
		return nil
	}
	setState(w, next.ETag, next.Modified)
	w.Header().Set("X-Ms-Copy-Id", next.Copy.ID)
	w.Header().Set("X-Ms-Copy-Status", "success")
	if sum := c.r.Header.Get("X-Ms-Source-Content-Md5"); sum != "" && !c.later() {
		w.Header().Set("Content-Md5", sum)
	}
	setUnlessEmpty(w, "X-Ms-Version-Id", next.Version)
	setUnlessEmpty(w, "X-Ms-Encryption-Scope", next.Scope)
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// fromURL reports whether the call is Put Blob From URL, which creates a block blob and does not record a copy.
func (c *Call) fromURL() bool { return c.r.Header.Get("X-Ms-Blob-Type") != "" }

// putFromURL gives a new blob the content of a pinned state, and the state's properties except those that the request
// sets.
func (c *Call) putFromURL(src, next *store.Blob) error {
	if c.r.Header.Get("X-Ms-Blob-Type") != string(store.BlockBlob) || c.r.ContentLength > 0 {
		return azerr.InvalidHeaderValue
	}
	if src.Size > maxPutBlob {
		return errSize
	}
	got, err := c.copyPart(src, span{0, src.Size, false})
	if err != nil {
		return err
	}
	next.Type, next.Sealed, next.Copy = store.BlockBlob, false, nil
	next.Blocks = []store.Block{{Body: got.id, Size: got.size}}
	next.Headers = map[string]string{"Content-Type": anyContent}
	if c.r.Header.Get("X-Ms-Copy-Source-Blob-Properties") != "false" {
		maps.Copy(next.Headers, src.Headers)
	}
	maps.Copy(next.Headers, blobHeaders(c.r.Header))
	if declared := c.r.Header.Get("X-Ms-Blob-Content-Md5"); declared != "" && declared != got.md5 {
		c.api.Store.Discard(got.id)
		return errMD5
	}
	next.Headers["Content-Md5"] = got.md5
	return nil
}

// later reports whether the service may make the copy after its response, as Copy Blob does and the two others do not.
func (c *Call) later() bool {
	return c.r.Header.Get("X-Ms-Requires-Sync") == "" && !c.fromURL()
}

// copied reads the source and returns the new state, whose bodies are copies.
func (c *Call) copied(from *Call) (*store.Blob, error) {
	src, unpin, err := c.sourceState(from)
	if err != nil {
		return nil, err
	}
	defer unpin()
	if src.Type == store.PageBlob && !c.later() && !c.fromURL() { // "any committed block blob"
		return nil, azerr.InvalidBlobType
	}
	next := *src
	next.Snapshot, next.Version, next.Created = "", "", c.api.Now().Truncate(0)
	next.Tier, next.TierChanged, next.Rehydration = "", time.Time{}, nil // they do not come along
	if seal := c.r.Header.Get("X-Ms-Seal-Blob"); seal != "" {
		if src.Type != store.AppendBlob { // "valid for append blobs only"
			return nil, azerr.InvalidHeaderValue
		}
		// The seal is copied unless the request overrides it: azblob's TestCopySealedBlob records the service's behavior.
		next.Sealed = seal == "true"
	}
	if err := c.copyAttributes(from, &next); err != nil {
		return nil, err
	}
	if src.Tier == store.Archive {
		next.Rehydration, next.Tier = c.rehydration(next.Tier), store.Archive
	}
	if c.fromURL() {
		return &next, c.putFromURL(src, &next)
	}
	if err := c.sourceMD5(src); err != nil {
		return nil, err
	}
	if next.Blocks, err = c.copyBlocks(src); err != nil {
		return nil, err
	}
	next.Copy = &store.Copy{ID: uuid.NewString(), Source: unsigned(c.r.Header.Get("X-Ms-Copy-Source")), Completed: c.api.Now(), Bytes: next.Size}
	return &next, nil
}

// unsigned returns the address of a source without its signature: the query has only the snapshot or version.
func unsigned(address string) string {
	source, query, _ := strings.Cut(address, "?")
	for part := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(part, "="); name == "snapshot" || name == "versionid" {
			return source + "?" + part
		}
	}
	return source
}

// sourceMD5 compares a pinned state with the checksum that Copy Blob From URL may name.
func (c *Call) sourceMD5(src *store.Blob) error {
	want := c.r.Header.Get("X-Ms-Source-Content-Md5")
	if want == "" || c.later() {
		return nil
	}
	if err := checkMD5(want); err != nil {
		return err
	}
	sum := md5.New() //nolint:gosec // the protocol's checksum
	if err := c.api.Store.Read(sum, src, 0, src.Size); err != nil {
		return err
	}
	if base64.StdEncoding.EncodeToString(sum.Sum(nil)) != want {
		return errMD5
	}
	return nil
}

// sourceState finds the state that is copied, and keeps it readable until the returned function is called.
func (c *Call) sourceState(from *Call) (src *store.Blob, unpin func(), err error) {
	cond, err := c.sourceConditions()
	if err != nil {
		return nil, nil, err
	}
	err = c.api.Store.View(from.ref(), func(e *store.Entry) error {
		b, err := from.pick(e)
		if err != nil {
			return err
		}
		err = cond.check(stateOf(b), c.fromURL())
		if err != nil && azerr.From(err).Status == http.StatusNotModified {
			return c.unverified(err) // azblob's TestPutBlobFromUrlSourceIfNoneMatchFalse expects the error of the read
		}
		if err != nil {
			return azerr.New(http.StatusPreconditionFailed, "SourceConditionNotMet", "The source condition specified using HTTP conditional header(s) is not met.")
		}
		if err := c.copyable(from, b); err != nil {
			if from.Target.Account != c.Target.Account {
				return c.unverified(err)
			}
			return err
		}
		src, unpin = b, c.api.Store.Pin(b)
		return nil
	})
	// Copy Blob returns the source's own error (recorded by gocloud.dev v0.46.0).
	if err != nil && azerr.From(err).Status == http.StatusNotFound && (c.Operation != access.CopyBlob || !c.later()) {
		err = errSource
	}
	return src, unpin, err
}

// copyable rejects an archived source, except for a copy to an online tier, which is initially archived and then
// rehydrated ("Copying an archived blob" of Copy Blob). An earlier state cannot be rehydrated in place.
func (c *Call) copyable(from *Call, b *store.Blob) error {
	tier := c.r.Header.Get("X-Ms-Access-Tier")
	isCopy := c.Operation == access.CopyBlob && !c.fromURL() && from.ref() != c.ref()
	if isCopy && tier != "" && tier != store.Archive && b.Rehydration == nil {
		return nil
	}
	return online(b)
}

// receivePart is receive for a piece of a blob, which may come from another blob: Put Block From URL, Append Block From
// URL and Put Page From URL.
func (c *Call) receivePart(limit int64) (received, error) {
	if c.r.Header.Get("X-Ms-Copy-Source") == "" {
		return c.receive(limit)
	}
	if c.r.ContentLength > 0 {
		return received{}, azerr.InvalidHeaderValue
	}
	from, err := c.source()
	if err != nil {
		return received{}, err
	}
	src, unpin, err := c.sourceState(from)
	if err != nil {
		return received{}, err
	}
	defer unpin()
	part, err := rangeOf(http.Header{"Range": c.r.Header["X-Ms-Source-Range"]}, src.Size)
	if err == nil && part.length > limit {
		err = errSize
	}
	if err != nil {
		return received{}, err
	}
	return c.copyPart(src, part)
}

// copyPart makes a body of a part of a pinned state and compares it with the checksum that the request has.
func (c *Call) copyPart(src *store.Blob, part span) (received, error) {
	sum, crc := md5.New(), newCRC() //nolint:gosec // the protocol's checksum
	body := c.api.Store.NewBody()
	err := c.api.Store.Read(io.MultiWriter(body, sum, crc), src, part.offset, part.length)
	got := received{size: part.length, md5: base64.StdEncoding.EncodeToString(sum.Sum(nil))}
	wantSum, wantCRC := c.r.Header.Get("X-Ms-Source-Content-Md5"), c.r.Header.Get("X-Ms-Source-Content-Crc64")
	got.crc64 = crcText(crc)
	switch {
	case err != nil:
	case checkMD5(wantSum) != nil:
		err = errInvalid
	case wantSum != "" && wantSum != got.md5:
		err = errMD5
	case wantCRC != "" && wantCRC != got.crc64:
		err = errCRC
	}
	if err != nil {
		return received{}, errors.Join(err, body.Abort())
	}
	got.id, err = body.Commit()
	return got, err
}

// copyAttributes applies the attributes that the request sets instead of the source's.
func (c *Call) copyAttributes(from *Call, next *store.Blob) error {
	own, err := c.newBlob(next.Type)
	if err != nil {
		return err
	}
	if own.Metadata != nil {
		next.Metadata = own.Metadata
	}
	next.Scope = own.Scope
	if next.Tags, err = c.copiedTags(from, next.Tags, own.Tags); err != nil {
		return err
	}
	if own.Tier != "" {
		next.Tier, next.TierChanged = own.Tier, own.TierChanged
	}
	return c.scope(next)
}

// copiedTags returns the tags of a copy: those of the request, unless it asks for the source's.
func (c *Call) copiedTags(from *Call, source, own map[string]string) (map[string]string, error) {
	switch c.r.Header.Get("X-Ms-Copy-Source-Tag-Option") {
	case "", "REPLACE":
		return own, nil
	case "COPY":
		if len(own) > 0 {
			return nil, azerr.New(http.StatusConflict, "InvalidInput", "x-ms-tags cannot be given when the tags of the source are copied.")
		}
		if err := from.Caller.Authorize(access.GetBlobTags); err != nil {
			return nil, c.unverified(err)
		}
		return source, c.Caller.Authorize(access.SetBlobTags)
	}
	return nil, azerr.InvalidHeaderValue
}

func (c *Call) copyBlocks(src *store.Blob) ([]store.Block, error) {
	out := make([]store.Block, 0, len(src.Blocks))
	var offset int64
	for _, b := range src.Blocks {
		if b.Body == "" {
			offset += b.Size
			out = append(out, b)
			continue
		}
		body := c.api.Store.NewBody()
		err := c.api.Store.Read(body, src, offset, b.Size)
		var id blob.ID
		if err == nil {
			id, err = body.Commit()
		} else {
			err = errors.Join(err, body.Abort())
		}
		if err != nil {
			c.discard(out)
			return nil, fmt.Errorf("copy a blob: %w", err)
		}
		offset += b.Size
		out = append(out, store.Block{ID: b.ID, Body: id, Size: b.Size})
	}
	return out, nil
}

// discard removes the bodies of a copy that failed.
func (c *Call) discard(made []store.Block) {
	for _, b := range made {
		c.api.Store.Discard(b.Body)
	}
}

func (c *Call) setCopy(w http.ResponseWriter, done *store.Copy) {
	h := w.Header()
	h.Set("X-Ms-Copy-Id", done.ID)
	h.Set("X-Ms-Copy-Source", done.Source)
	h.Set("X-Ms-Copy-Status", "success")
	h.Set("X-Ms-Copy-Progress", progress(done))
	h.Set("X-Ms-Copy-Completion-Time", httpTime(done.Completed))
}

// progress is how much of a copy is done, which is all of it.
func progress(done *store.Copy) string { return fmt.Sprintf("%d/%d", done.Bytes, done.Bytes) }
