// SPDX-License-Identifier: Apache-2.0

// Package store implements the state of the fake's S3: buckets, object versions and multipart uploads. It enforces
// the rules that keep them consistent (versioning, delete markers, locks, conditions). It does not depend on HTTP,
// XML or permissions. Bodies are in a blob.Store. The store writes every change to a journal before the change is
// visible.
package store

import (
	"errors"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/blob"
)

// Errors of the store; the HTTP layer translates them.
var (
	ErrNoBucket       = errors.New("no such bucket")
	ErrBucketExists   = errors.New("bucket exists")
	ErrBucketNotEmpty = errors.New("bucket is not empty")
	ErrNoKey          = errors.New("no such key")
	ErrNoVersion      = errors.New("no such version")
	ErrNoUpload       = errors.New("no such upload")
)

// Versioning states of a bucket; a bucket that was never versioned has "".
const (
	VersioningEnabled   = "Enabled"
	VersioningSuspended = "Suspended"
)

// NullVersion is the ID of a version that was written while versioning was not enabled.
const NullVersion = "null"

// Bucket is a bucket and its configuration. Values are immutable: each change creates a new value.
type Bucket struct {
	Name       string    `json:"name"`
	Created    time.Time `json:"created"`
	Versioning string    `json:"versioning,omitempty"`
	ObjectLock bool      `json:"objectLock,omitempty"`
	// Location is the location constraint: a region, or "EU". "" is the server's own region.
	Location string `json:"location,omitempty"`
	// ACL is nil for the private ACL.
	ACL *ACL `json:"acl,omitempty"`
	// Config contains the stored configuration documents by subresource name, for example policy or tagging.
	Config map[string][]byte `json:"config,omitempty"`
	// Principals maps the ARNs in the bucket policy to the unique IDs that they had when the policy was stored.
	Principals map[string]string `json:"principals,omitempty"`
}

// Segment is one part of a body, stored separately.
type Segment struct {
	ID   blob.ID `json:"id"`
	Size int64   `json:"size"`
}

// Tag is one tag of an object.
type Tag struct {
	Key   string `json:"k"`
	Value string `json:"v"`
}

// Checksum is an additional checksum.
type Checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"value"`
	// Type is FULL_OBJECT or COMPOSITE.
	Type string `json:"type"`
}

// Lock is the object lock of one version: retention and legal hold.
type Lock struct {
	// Mode is GOVERNANCE or COMPLIANCE, or "" without retention.
	Mode        string    `json:"mode,omitempty"`
	RetainUntil time.Time `json:"retainUntil,omitzero"`
	// LegalHold is ON or OFF, or "" if it was never set.
	LegalHold string `json:"legalHold,omitempty"`
}

// Encryption describes the encryption at rest that S3 reports for a version. The fake does not encrypt bodies.
type Encryption struct {
	// Algorithm is AES256 or aws:kms, or "" for SSE-C.
	Algorithm string `json:"algorithm,omitempty"`
	KeyID     string `json:"keyId,omitempty"`
	BucketKey bool   `json:"bucketKey,omitempty"`
	// CustomerKey is a salted digest of the customer's key, or "" without SSE-C.
	CustomerKey string `json:"customerKey,omitempty"`
}

// Attributes are the attributes that a client sets when it creates an object. They are copied with the object.
type Attributes struct {
	// Headers are the stored standard headers, for example Content-Type, in canonical spelling.
	Headers map[string]string `json:"headers,omitempty"`
	// Metadata is the user-defined metadata. Names are in lower case, without the prefix x-amz-meta-.
	Metadata     map[string]string `json:"metadata,omitempty"`
	Tags         []Tag             `json:"tags,omitempty"`
	StorageClass string            `json:"storageClass,omitempty"`
	Encryption   Encryption        `json:"encryption,omitzero"`
	Lock         Lock              `json:"lock,omitzero"`
	// Redirect is the value of x-amz-website-redirect-location.
	Redirect string `json:"redirect,omitempty"`
	// ACL is nil for the private ACL of the bucket's owner. It is not copied.
	ACL *ACL `json:"acl,omitempty"`
}

// Version is one version of an object or a delete marker. Values are immutable: each change creates a new value.
type Version struct {
	Attributes
	Bucket       string    `json:"bucket"`
	Key          string    `json:"key"`
	ID           string    `json:"id"`
	Seq          uint64    `json:"seq"`
	DeleteMarker bool      `json:"deleteMarker,omitempty"`
	Modified     time.Time `json:"modified"`
	Size         int64     `json:"size"`
	// ETag is without quotes.
	ETag     string    `json:"etag,omitempty"`
	Segments []Segment `json:"segments,omitempty"`
	Checksum Checksum  `json:"checksum,omitzero"`
	// Parts are the parts of a multipart upload, in order.
	Parts []Part `json:"parts,omitempty"`
}

// Part is an uploaded part, or a part of a completed object.
type Part struct {
	Number   int       `json:"number"`
	Size     int64     `json:"size"`
	ETag     string    `json:"etag,omitempty"`
	Modified time.Time `json:"modified,omitzero"`
	Checksum Checksum  `json:"checksum,omitzero"`
	Segments []Segment `json:"segments,omitempty"`
}

// Upload is a multipart upload in progress.
type Upload struct {
	Attributes
	Bucket    string    `json:"bucket"`
	Key       string    `json:"key"`
	ID        string    `json:"id"`
	Initiated time.Time `json:"initiated"`
	// Initiator is the ARN of the principal that started the upload.
	Initiator string `json:"initiator,omitempty"`
	// Overtaken is set once the key is written or deleted while the upload is in progress.
	Overtaken bool `json:"overtaken,omitempty"`
	// Checksum contains the algorithm and type of the checksums that parts and the completion must use.
	Checksum Checksum     `json:"checksum,omitzero"`
	Parts    map[int]Part `json:"-"`
}

// Counts are the numbers of items in a bucket.
type Counts struct {
	// Objects is the number of keys with a current version. Versions is the number of all versions and delete
	// markers.
	Objects, Versions, Uploads int
}
