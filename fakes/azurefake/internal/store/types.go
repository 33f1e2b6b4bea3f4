// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/blob"
)

// Policy is one stored access policy of a container.
type Policy struct {
	ID string `json:"id"`
	// Start and Expiry are zero, and Permission is "", if the policy does not set them.
	Start      time.Time `json:"start,omitzero"`
	Expiry     time.Time `json:"expiry,omitzero"`
	Permission string    `json:"permission,omitempty"`
}

// Container is a container of an account.
type Container struct {
	Account string `json:"account"`
	Name    string `json:"name"`
	// ETag is without quotes.
	ETag     string            `json:"etag"`
	Modified time.Time         `json:"modified"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// PublicAccess is "", container or blob.
	PublicAccess string   `json:"publicAccess,omitempty"`
	Policies     []Policy `json:"policies,omitempty"`
	Lease        Lease    `json:"lease,omitzero"`
	// EncryptionScope is the default encryption scope, or "" for the account's. DenyOverride means that blobs cannot
	// have another scope.
	EncryptionScope string `json:"encryptionScope,omitempty"`
	DenyOverride    bool   `json:"denyOverride,omitempty"`
	// Deleted is the time when the deletion began, or zero if the container is not being deleted.
	Deleted time.Time `json:"deleted,omitzero"`
	// Version identifies a deleted container that is kept until KeptUntil. For other containers both are zero.
	Version   string    `json:"version,omitempty"`
	KeptUntil time.Time `json:"keptUntil,omitzero"`
}

// Type is the type of a blob.
type Type string

// The types of blobs that the fake implements.
const (
	BlockBlob  Type = "BlockBlob"
	AppendBlob Type = "AppendBlob"
	PageBlob   Type = "PageBlob"
)

// Block is a block of a block blob, either committed or uncommitted, or a run of pages of a page blob.
type Block struct {
	// ID is the base64 ID that the client chose, or "" for the body of a Put Blob.
	ID string `json:"id,omitempty"`
	// Body is "" for pages that contain only zeros because they were cleared or never written.
	Body blob.ID `json:"body,omitempty"`
	// Skip is the offset of the block in its body. It is 0 except for pages whose beginning was overwritten.
	Skip int64 `json:"skip,omitempty"`
	Size int64 `json:"size"`
}

// Copy describes the copy operation that created a blob.
type Copy struct {
	ID        string    `json:"id"`
	Source    string    `json:"source"`
	Completed time.Time `json:"completed"`
	Bytes     int64     `json:"bytes"`
}

// Rehydration describes the move of an archived blob to another tier, which takes hours.
type Rehydration struct {
	// Tier is the target tier; Priority is Standard or High.
	Tier     string `json:"tier"`
	Priority string `json:"priority"`
	// Ends is the time when the move is complete.
	Ends time.Time `json:"ends"`
}

// Archive is the tier of blobs that cannot be read.
const Archive = "Archive"

// Blob is the current state of a blob, an earlier version or a snapshot. Values are immutable: each change creates a
// new value.
type Blob struct {
	Type Type `json:"type"`
	// Version and Snapshot are the times that identify this version or snapshot in requests.
	Version  string `json:"version,omitempty"`
	Snapshot string `json:"snapshot,omitempty"`
	// ETag is without quotes.
	ETag     string    `json:"etag"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	// Headers are the stored standard headers by their canonical names, such as Content-Type.
	Headers  map[string]string `json:"headers,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	// Tier is Hot, Cool, Cold or Archive, or "" if the blob has no tier.
	Tier        string    `json:"tier,omitempty"`
	TierChanged time.Time `json:"tierChanged,omitzero"`
	// Rehydration is the running rehydration of an archived blob, or nil. Only the current state can have one.
	Rehydration *Rehydration `json:"rehydration,omitempty"`
	Scope       string       `json:"scope,omitempty"`
	Blocks      []Block      `json:"blocks,omitempty"`
	Size        int64        `json:"size"`
	Sealed      bool         `json:"sealed,omitempty"`
	// Sequence is the sequence number of a page blob.
	Sequence int64 `json:"sequence,omitempty"`
	Copy     *Copy `json:"copy,omitempty"`
	// Deleted is the time of the deletion, and KeptUntil the end of the retention, of a deleted state that is kept.
	Deleted   time.Time `json:"deleted,omitzero"`
	KeptUntil time.Time `json:"keptUntil,omitzero"`
}

// Entry contains everything that a container stores under one name.
type Entry struct {
	Name string `json:"name"`
	// Current is nil if there are only versions, snapshots or uncommitted blocks.
	Current *Blob `json:"current,omitempty"`
	// Versions are the earlier versions and Snapshots the snapshots of the current blob, oldest first.
	Versions  []*Blob `json:"versions,omitempty"`
	Snapshots []*Blob `json:"snapshots,omitempty"`
	// Deleted are the deleted states that are kept: snapshots, and at most one that was current.
	Deleted []*Blob `json:"deleted,omitempty"`
	Lease   Lease   `json:"lease,omitzero"`

	// uncommitted blocks are kept apart in the journal, since there may be many.
	uncommitted map[string]Block
}

// at returns the entry at a given time: blobs whose rehydration has finished have the new tier, and deleted states whose
// retention has ended are gone.
func (e *Entry) at(now time.Time) *Entry {
	if e.expired(now) {
		next := *e
		next.Deleted = e.kept(now)
		e = &next
	}
	if e.Current == nil || e.Current.Rehydration == nil || now.Before(e.Current.Rehydration.Ends) {
		return e
	}
	next, current := *e, *e.Current
	current.Tier, current.TierChanged, current.Rehydration = current.Rehydration.Tier, current.Rehydration.Ends, nil
	next.Current = &current
	return &next
}

// Uncommitted returns an uncommitted block by ID.
func (e *Entry) Uncommitted(id string) (Block, bool) {
	b, ok := e.uncommitted[id]
	return b, ok
}

// UncommittedBlocks returns all uncommitted blocks in no particular order.
func (e *Entry) UncommittedBlocks() []Block {
	return slices.Collect(maps.Values(e.uncommitted))
}

// CountUncommitted returns the number of uncommitted blocks, and one of them.
func (e *Entry) CountUncommitted() (n int, one Block) {
	for _, b := range e.uncommitted {
		return len(e.uncommitted), b
	}
	return 0, Block{}
}

// HasUncommitted reports whether there are uncommitted blocks.
func (e *Entry) HasUncommitted() bool { return len(e.uncommitted) > 0 }

// Counts are the numbers of items in a container.
type Counts struct {
	// Blobs is the number of current blobs. Uncommitted is the number of names that have only uncommitted blocks.
	Blobs, Versions, Snapshots, Deleted, Uncommitted int
	Bytes                                            int64
}
