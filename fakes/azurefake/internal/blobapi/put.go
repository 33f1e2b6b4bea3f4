// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"cmp"
	"crypto/md5" //nolint:gosec // the protocol's checksum
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc64"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
)

// The largest bodies of single requests.
const (
	maxPutBlob     = 5000 << 20
	maxPutBlock    = 4000 << 20
	maxAppendBlock = 100 << 20
)

var (
	errOverwrite = azerr.New(http.StatusForbidden, "UnauthorizedBlobOverwrite", "This request is not authorized to perform blob overwrites.")
	errSize      = azerr.New(http.StatusRequestEntityTooLarge, "RequestBodyTooLarge", "The size of the request body exceeds the maximum size permitted.")
	errMD5       = azerr.New(http.StatusBadRequest, "Md5Mismatch", "The MD5 value specified in the request did not match the MD5 value calculated by the server.")
	errCRC       = azerr.New(http.StatusBadRequest, "Crc64Mismatch", "The CRC64 value specified in the request did not match the CRC64 value calculated by the server.")
	errInvalid   = azerr.New(http.StatusBadRequest, "InvalidMd5", "The MD5 value specified in the request is invalid. MD5 values must be 128 bits and base64-encoded.")
	errScope     = azerr.New(http.StatusConflict, "BlobCustomerSpecifiedEncryptionMismatch", "The given customer specified encryption does not match the encryption used to encrypt the blob.")
)

// received is a body that was read.
type received struct {
	id         blob.ID
	size       int64
	md5, crc64 string
}

// polynomial is that of the service's CRC-64, bits reversed.
const polynomial = 0x9A6C9329AC4BC9B5

func newCRC() hash.Hash64 { return crc64.New(crcTable()) }

// crcTable is created only once, because creating it takes longer than the checksum of a small blob.
var crcTable = sync.OnceValue(func() *crc64.Table { return crc64.MakeTable(polynomial) })

// crcText is a CRC-64 as headers have it: base64, the lowest byte first.
func crcText(sum hash.Hash64) string {
	return base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(nil, sum.Sum64()))
}

// receive reads the body of a request and checks its checksum.
func (c *Call) receive(limit int64) (received, error) {
	if c.r.ContentLength < 0 {
		return received{}, azerr.New(http.StatusLengthRequired, "MissingContentLengthHeader", "The Content-Length header was not specified.")
	}
	if c.r.ContentLength > limit {
		return received{}, errSize
	}
	if err := c.checksums(); err != nil {
		return received{}, err
	}
	body := c.api.Store.NewBody()
	n, got, err := c.copyBody(body)
	if err == nil && n != c.r.ContentLength {
		err = http.ErrAbortHandler
	}
	if err != nil {
		return received{}, errors.Join(err, body.Abort())
	}
	id, err := body.Commit()
	got.id, got.size = id, n
	return got, err
}

// checksums rejects invalid checksums of a body, and several of them.
func (c *Call) checksums() error {
	sum, crc := c.r.Header.Get("Content-Md5"), c.r.Header.Get("X-Ms-Content-Crc64")
	if sum != "" && crc != "" {
		return azerr.New(http.StatusBadRequest, "BothCrc64AndMd5HeaderPresent", "Both an MD5 and a CRC64 header are in the request.")
	}
	if raw, err := base64.StdEncoding.DecodeString(crc); err != nil || crc != "" && len(raw) != crc64.Size {
		return azerr.InvalidHeaderValue
	}
	return checkMD5(sum)
}

// checkMD5 rejects an invalid MD5 in a header.
func checkMD5(text string) error {
	if raw, err := base64.StdEncoding.DecodeString(text); err != nil || text != "" && len(raw) != md5.Size {
		return errInvalid
	}
	return nil
}

// checkStoredMD5 rejects an MD5 that is not base64. Its length is not checked where the service stores it without a
// comparison: the tests of Microsoft's client for JavaScript store four bytes with Set Blob Properties.
func checkStoredMD5(text string) error {
	if _, err := base64.StdEncoding.DecodeString(text); err != nil {
		return errInvalid
	}
	return nil
}

// copyBody reads the body of the request and compares it with the checksum that the request has.
func (c *Call) copyBody(to io.Writer) (int64, received, error) {
	sum, crc := md5.New(), newCRC() //nolint:gosec // as above
	n, err := io.Copy(io.MultiWriter(to, sum, crc), c.r.Body)
	if err != nil {
		return n, received{}, http.ErrAbortHandler
	}
	got := received{md5: base64.StdEncoding.EncodeToString(sum.Sum(nil)), crc64: crcText(crc)}
	want := c.r.Header.Get("Content-Md5")
	if c.Operation == access.PutBlob && c.r.Header.Get("X-Ms-Blob-Type") == string(store.BlockBlob) {
		want = cmp.Or(c.r.Header.Get("X-Ms-Blob-Content-Md5"), want)
	}
	if want != "" && want != got.md5 {
		return n, got, errMD5
	}
	if want := c.r.Header.Get("X-Ms-Content-Crc64"); want != "" && want != got.crc64 {
		return n, got, errCRC
	}
	return n, got, nil
}

// write is a change of a blob that keeps a body unless it fails.
func (c *Call) write(body received, change func(*store.Change) error) error {
	err := c.api.Store.Change(c.ref(), change)
	if err != nil && body.id != "" {
		c.api.Store.Discard(body.id)
	}
	return err
}

// mayWrite checks everything about a change of a blob that does not need its body.
func (c *Call) mayWrite(e *store.Entry) error {
	cond, err := c.conditions()
	// The service checks the lease before the conditions: https://github.com/Azure/Azurite/issues/2637.
	if err := cmp.Or(c.mayOverwrite(e), err, c.guard(e.Lease, true)); err != nil {
		return err
	}
	check := cond.creating(stateOf(e.Current))
	if c.Operation == access.PutBlockList {
		check = cond.committing(e)
	}
	return cmp.Or(check, online(e.Current))
}

// mayReplace is mayWrite for a new state of a type. "Once the blob has been created, its type cannot be changed"
// ("Understanding block blobs, append blobs, and page blobs").
func (c *Call) mayReplace(e *store.Entry, kind store.Type) error {
	return cmp.Or(c.mayWrite(e), checkType(e.Current, kind))
}

// checkType rejects a state of another type. It accepts nil, so that it can be combined with checks for a missing blob.
func checkType(b *store.Blob, kind store.Type) error {
	if b != nil && b.Type != kind {
		return azerr.InvalidBlobType
	}
	return nil
}

// mayOverwrite authorizes the caller for a blob that may exist.
func (c *Call) mayOverwrite(e *store.Entry) error {
	exists := e.Current != nil
	err := c.Caller.AuthorizeWrite(c.Operation, exists)
	if exists && errors.Is(err, azerr.PermissionMismatch) && c.Caller.Authorize(c.Operation) == nil {
		return errOverwrite
	}
	return err
}

// replace makes next the current state of the blob. If next has no tier, it gets the tier of the previous state. With
// versioning, the previous state becomes a version.
func (c *Call) replace(e *store.Change, next *store.Blob) {
	now := c.api.Now()
	if old := e.Current; old != nil && next.Tier == "" && next.Type == store.BlockBlob {
		next.Tier, next.TierChanged = old.Tier, old.TierChanged
	}
	if slices.ContainsFunc(e.Deleted, func(b *store.Blob) bool { return b.Snapshot == "" && b.Version == "" && b.Type != next.Type }) {
		e.Deleted = nil // "all existing soft deleted data is permanently deleted"
	}
	c.softReplace(e)
	next.ETag, next.Modified = store.NewETag(), now
	if next.Created.IsZero() {
		next.Created = now
	}
	next.Version = ""
	if c.api.Versioning {
		next.Version = e.NextStamp(now)
		if e.Current != nil && e.Current.Version != "" {
			e.Versions = append(e.Versions, e.Current)
		}
	}
	e.Current = next
	e.Lease = e.Lease.AfterWrite(now)
}

// newBlob creates a new state from the headers of a request.
func (c *Call) newBlob(kind store.Type) (*store.Blob, error) {
	h := c.r.Header
	meta, err := metadata(h)
	if err != nil {
		return nil, err
	}
	tags, err := parseTags(h.Get("X-Ms-Tags"))
	if err != nil {
		return nil, err
	}
	if len(tags) > 0 {
		if err := c.Caller.Authorize(access.SetBlobTags); err != nil {
			return nil, err
		}
	}
	check := checkMD5
	if kind == store.AppendBlob || c.Operation == access.PutBlockList {
		check = checkStoredMD5
	}
	if err := check(h.Get("X-Ms-Blob-Content-Md5")); err != nil {
		return nil, err
	}
	b := &store.Blob{Type: kind, Metadata: meta, Tags: tags, Headers: contentHeaders(h), Scope: h.Get("X-Ms-Encryption-Scope")}
	if tier := h.Get("X-Ms-Access-Tier"); tier != "" {
		if err := checkTier(tier); err != nil {
			return nil, err
		}
		if kind != store.BlockBlob {
			return nil, azerr.InvalidHeaderValue
		}
		b.Tier, b.TierChanged = tier, c.api.Now()
	}
	return b, checkBlobName(c.Target.Blob)
}

// anyContent is the default content type.
const anyContent = "application/octet-stream"

// contentHeaders are the standard headers to store: the x-ms-blob- ones, or the request's own.
func contentHeaders(h http.Header) map[string]string {
	out := map[string]string{"Content-Type": anyContent}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Language", "Cache-Control"} {
		if value := h.Get(name); value != "" {
			out[name] = value
		}
	}
	maps.Copy(out, blobHeaders(h))
	if _, sent := h["X-Ms-Blob-Content-Disposition"]; sent { // the service also returns an empty one
		out["Content-Disposition"] = h.Get("X-Ms-Blob-Content-Disposition")
	}
	return out
}

// blobHeaders are the standard headers that the request sets with the prefix x-ms-blob-.
func blobHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Language", "Cache-Control", "Content-Disposition", "Content-Md5"} {
		if value := h.Get("X-Ms-Blob-" + name); value != "" {
			out[name] = value
		}
	}
	return out
}

// putBlob implements Put Blob.
func (c *Call) putBlob(w http.ResponseWriter) error {
	kind := store.Type(c.r.Header.Get("X-Ms-Blob-Type"))
	switch kind {
	case store.BlockBlob:
	case store.AppendBlob, store.PageBlob:
		if c.r.ContentLength > 0 {
			return azerr.InvalidHeaderValue
		}
	case "":
		return azerr.MissingHeader
	default:
		return azerr.InvalidHeaderValue
	}
	next, err := c.newBlob(kind)
	if err == nil && kind == store.PageBlob {
		err = c.newPages(next)
	}
	if err == nil {
		err = c.scope(next)
	}
	if err != nil {
		return err
	}
	if err := c.api.Store.View(c.ref(), func(e *store.Entry) error { return c.mayReplace(e, kind) }); err != nil {
		return err
	}
	body, err := c.receive(maxPutBlob)
	if err != nil {
		return err
	}
	if kind == store.BlockBlob {
		next.Size = body.size
		next.Headers["Content-Md5"] = body.md5
		next.Blocks = []store.Block{{Body: body.id, Size: body.size}}
	} else {
		c.api.Store.Discard(body.id)
		body.id = ""
	}
	err = c.write(body, func(e *store.Change) error {
		if err := c.mayReplace(&e.Entry, kind); err != nil {
			return err
		}
		e.ClearBlocks()
		c.replace(e, next)
		return nil
	})
	if err != nil {
		return err
	}
	w.Header().Set("X-Ms-Content-Crc64", body.crc64)
	c.created(w, next, body.md5)
	return nil
}

// scope applies the container's encryption scope.
func (c *Call) scope(b *store.Blob) error {
	found, err := c.Target.Stored()
	if err != nil {
		return err
	}
	if signed := c.Caller.Scope(); signed != "" {
		if b.Scope != "" && b.Scope != signed {
			return azerr.InvalidHeaderValue // "Shared access signature error codes"
		}
		b.Scope = signed
	}
	if found.DenyOverride && b.Scope != "" && b.Scope != found.EncryptionScope {
		return azerr.New(http.StatusConflict, "ContainerEncryptionScopeOverrideNotAllowed", "The container's encryption scope cannot be overridden.")
	}
	b.Scope = cmp.Or(b.Scope, found.EncryptionScope)
	return nil
}

// created responds to a change that made a state.
func (c *Call) created(w http.ResponseWriter, b *store.Blob, sum string) {
	setState(w, b.ETag, b.Modified)
	setUnlessEmpty(w, "Content-Md5", sum)
	setUnlessEmpty(w, "X-Ms-Version-Id", b.Version)
	encrypted(w, b.Scope)
	w.WriteHeader(http.StatusCreated)
}

// encrypted sets the headers of a write about the encryption.
func encrypted(w http.ResponseWriter, scope string) {
	w.Header().Set("X-Ms-Request-Server-Encrypted", "true")
	setUnlessEmpty(w, "X-Ms-Encryption-Scope", scope)
}

func (c *Call) appendBlock(w http.ResponseWriter) error {
	body, err := c.receivePart(maxAppendBlock)
	if err != nil {
		return err
	}
	if body.size == 0 {
		c.api.Store.Discard(body.id)
		return azerr.InvalidHeaderValue
	}
	var offset int64
	var next *store.Blob
	err = c.write(body, func(e *store.Change) error {
		err := c.mayAppend(&e.Entry, body.size)
		if err == nil {
			err = c.namesScope(e)
		}
		if err != nil {
			return err
		}
		offset = e.Current.Size
		changed := *e.Current
		changed.Blocks = append(slices.Clip(changed.Blocks), store.Block{Body: body.id, Size: body.size})
		changed.Size += body.size
		changed.ETag, changed.Modified = store.NewETag(), c.api.Now()
		next, e.Current = &changed, &changed
		e.Lease = e.Lease.AfterWrite(c.api.Now())
		return nil
	})
	if err != nil {
		return err
	}
	w.Header().Set("X-Ms-Blob-Append-Offset", strconv.FormatInt(offset, 10))
	w.Header().Set("X-Ms-Blob-Committed-Block-Count", strconv.Itoa(len(next.Blocks)))
	c.checked(w, body)
	c.created(w, next, "")
	return nil
}

// checked sets the headers with the checksums of a piece of a blob: that of MD5 for requests that have one.
func (c *Call) checked(w http.ResponseWriter, body received) {
	if c.r.Header.Get("Content-Md5") != "" || c.r.Header.Get("X-Ms-Source-Content-Md5") != "" {
		w.Header().Set("Content-Md5", body.md5)
	}
	w.Header().Set("X-Ms-Content-Crc64", body.crc64)
}

// maxBlocks is how many blocks a blob can have.
const maxBlocks = 50000

func (c *Call) mayAppend(e *store.Entry, size int64) error {
	if err := cmp.Or(checkType(e.Current, store.AppendBlob), c.unchanged(e)); err != nil {
		return err
	}
	if err := c.atPosition(e.Current); err != nil {
		return err
	}
	if limit, given, err := c.number("X-Ms-Blob-Condition-Maxsize"); err != nil {
		return err
	} else if given && e.Current.Size+size > limit {
		return azerr.New(http.StatusPreconditionFailed, "MaxBlobSizeConditionNotMet", "The max blob size condition specified was not met.")
	}
	switch {
	case e.Current.Sealed:
		return azerr.New(http.StatusConflict, "BlobIsSealed", "The specified blob is sealed, and its contents can't be modified unless the blob is re-created after a delete.")
	case len(e.Current.Blocks) >= maxBlocks:
		return azerr.New(http.StatusConflict, "BlockCountExceedsLimit", "The committed block count cannot exceed the maximum limit of 50,000 blocks.")
	}
	return nil
}

// atPosition compares the end of an append blob with where the request expects it.
func (c *Call) atPosition(b *store.Blob) error {
	at, given, err := c.number("X-Ms-Blob-Condition-Appendpos")
	if err == nil && given && at != b.Size {
		err = azerr.New(http.StatusPreconditionFailed, "AppendPositionConditionNotMet", "The append position condition specified was not met.")
	}
	return err
}

// number reads a header that is a number of bytes.
func (c *Call) number(header string) (n int64, given bool, err error) {
	text := c.r.Header.Get(header)
	if text == "" {
		return 0, false, nil
	}
	if n, err = strconv.ParseInt(text, 10, 64); err != nil || n < 0 {
		return 0, true, azerr.InvalidHeaderValue
	}
	return n, true, nil
}

// unchanged applies conditions and lease to a change of an existing blob.
func (c *Call) unchanged(e *store.Entry) error {
	if e.Current == nil {
		return azerr.BlobNotFound
	}
	return cmp.Or(c.fulfilled(stateOf(e.Current), false), c.guard(e.Lease, true), c.sameScope(e.Current), online(e.Current))
}

// sameScope rejects an encryption scope that differs from the blob's.
func (c *Call) sameScope(b *store.Blob) error {
	if asked := c.r.Header.Get("X-Ms-Encryption-Scope"); asked != "" && asked != b.Scope {
		return errScope
	}
	return nil
}

// namesScope rejects a signature for another encryption scope than the blob's. Without a signed scope, it rejects a change
// without the header for the scope if the blob has another scope than its container, as the tests of azblob show.
func (c *Call) namesScope(e *store.Change) error {
	own, signed := e.Current.Scope, c.Caller.Scope()
	switch {
	case signed != "" && signed != own:
		return errScope
	case own == "", own == e.Container.EncryptionScope, signed != "", c.r.Header.Get("X-Ms-Encryption-Scope") != "":
		return nil
	}
	return azerr.New(http.StatusConflict, "BlobUsesCustomerSpecifiedEncryption", "The blob is encrypted with customer specified encryption, but it was not provided in the request.")
}

// seal implements Append Blob Seal. It does not change the ETag and the modification time.
func (c *Call) seal(w http.ResponseWriter) error {
	var next store.Blob
	err := c.api.Store.Change(c.ref(), func(e *store.Change) error {
		if err := cmp.Or(c.unchanged(&e.Entry), checkType(e.Current, store.AppendBlob)); err != nil {
			return err
		}
		if err := c.atPosition(e.Current); err != nil {
			return err
		}
		next = *e.Current
		next.Sealed = true
		e.Current = &next
		return nil
	})
	if err != nil {
		return err
	}
	setState(w, next.ETag, next.Modified)
	w.Header().Set("X-Ms-Blob-Sealed", "true")
	w.WriteHeader(http.StatusOK)
	return nil
}

// edit changes a copy of the current state, which keeps its body.
func (c *Call) edit(w http.ResponseWriter, status int, change func(*store.Change, *store.Blob) error) error {
	var next store.Blob
	err := c.api.Store.Change(c.ref(), func(e *store.Change) error {
		if err := c.unchanged(&e.Entry); err != nil {
			return err
		}
		next = *e.Current
		if err := change(e, &next); err != nil {
			return err
		}
		next.ETag, next.Modified = store.NewETag(), c.api.Now()
		e.Current = &next
		e.Lease = e.Lease.AfterWrite(c.api.Now())
		return nil
	})
	if err != nil {
		return err
	}
	setState(w, next.ETag, next.Modified)
	setUnlessEmpty(w, "X-Ms-Version-Id", next.Version)
	encrypted(w, next.Scope)
	w.WriteHeader(status)
	return nil
}
