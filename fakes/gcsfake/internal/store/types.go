// SPDX-License-Identifier: Apache-2.0

// Package store stores buckets, generations of objects and unfinished uploads, in memory and in a journal. The bodies
// are in a blob store. The package enforces the rules that apply to every caller, such as retention. It does not
// depend on callers or protocols.
package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
)

// Bucket is a bucket without its objects.
type Bucket struct {
	Name string `json:"name"`
	// Project is the ID of its project.
	Project        string    `json:"project"`
	Created        time.Time `json:"created"`
	Updated        time.Time `json:"updated"`
	Generation     int64     `json:"generation"`
	Metageneration int64     `json:"metageneration"`
	// Config contains the fields of the bucket resource that clients set, by name, as JSON.
	Config map[string]json.RawMessage `json:"config"`
	Policy policy.Policy              `json:"policy"`
	// DefaultACL is the access control list of new objects without uniform access, in addition to their owners; nil
	// means projectPrivate.
	DefaultACL []policy.Entry `json:"defaultObjectAcl"`

	// Settings is the parsed part of Config that affects behavior.
	Settings Settings `json:"-"`
}

// Settings are the parts of a bucket's configuration that affect behavior.
type Settings struct {
	StorageClass string `json:"storageClass"`
	Location     string `json:"location"`
	Versioning   struct {
		Enabled bool `json:"enabled"`
	} `json:"versioning"`
	Retention struct {
		Period   Long `json:"retentionPeriod"`
		IsLocked bool `json:"isLocked"`
	} `json:"retentionPolicy"`
	ObjectRetention struct {
		Mode string `json:"mode"`
	} `json:"objectRetention"`
	DefaultEventBasedHold bool `json:"defaultEventBasedHold"`
	IAM                   struct {
		Uniform struct {
			Enabled    bool      `json:"enabled"`
			LockedTime time.Time `json:"lockedTime"`
		} `json:"uniformBucketLevelAccess"`
		PublicAccessPrevention string `json:"publicAccessPrevention"`
	} `json:"iamConfiguration"`
	Encryption struct {
		DefaultKMSKeyName string `json:"defaultKmsKeyName"`
	} `json:"encryption"`
	SoftDelete struct {
		Seconds Long `json:"retentionDurationSeconds"`
	} `json:"softDeletePolicy"`
	Billing struct {
		RequesterPays bool `json:"requesterPays"`
	} `json:"billing"`
}

// Long is an integer of the JSON API. Clients send it as a string or as a number.
type Long int64

// UnmarshalJSON implements json.Unmarshaler.
func (l *Long) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && text != "null" {
		return fmt.Errorf("%s is not an integer", raw)
	}
	*l = Long(n)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (l Long) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.FormatInt(int64(l), 10)) }

// Parse reads Settings from Config.
func (b *Bucket) Parse() error {
	raw, err := json.Marshal(b.Config)
	if err != nil {
		return fmt.Errorf("read the configuration of bucket %s: %w", b.Name, err)
	}
	b.Settings = Settings{}
	if err := json.Unmarshal(raw, &b.Settings); err != nil {
		return fmt.Errorf("read the configuration of bucket %s: %w", b.Name, err)
	}
	return nil
}

// Segment is a part of a body, stored separately.
type Segment struct {
	ID   blob.ID `json:"id"`
	Size int64   `json:"size"`
}

// Attributes are the fields of an object that clients set.
type Attributes struct {
	ContentType        string            `json:"contentType,omitempty"`
	ContentEncoding    string            `json:"contentEncoding,omitempty"`
	ContentLanguage    string            `json:"contentLanguage,omitempty"`
	ContentDisposition string            `json:"contentDisposition,omitempty"`
	CacheControl       string            `json:"cacheControl,omitempty"`
	StorageClass       string            `json:"storageClass,omitempty"`
	KMSKeyName         string            `json:"kmsKeyName,omitempty"`
	Metadata           map[string]string `json:"metadata,omitempty"`
	CustomTime         *time.Time        `json:"customTime,omitempty"`
	TemporaryHold      bool              `json:"temporaryHold,omitempty"`
	EventBasedHold     bool              `json:"eventBasedHold,omitempty"`
	// ShowsTemporaryHold and ShowsEventBasedHold mean that a client has set the hold, so that it is also shown if it is
	// off.
	ShowsTemporaryHold  bool       `json:"showsTemporaryHold,omitempty"`
	ShowsEventBasedHold bool       `json:"showsEventBasedHold,omitempty"`
	Retention           *Retention `json:"retention,omitempty"`

	// Owner is the email of the account that created the object in a bucket without uniform access, and OwnerUID its
	// unique ID.
	Owner    string `json:"owner,omitempty"`
	OwnerUID string `json:"ownerUid,omitempty"`
	// ACL is the access control list, with the owner; nil means projectPrivate.
	ACL []policy.Entry `json:"acl,omitempty"`
}

// Retention is the retention configuration of a single object.
type Retention struct {
	Mode  string    `json:"mode"`
	Until time.Time `json:"retainUntilTime"`
}

// Object is one generation of an object.
type Object struct {
	Attributes

	Bucket         string `json:"bucket"`
	Name           string `json:"name"`
	Generation     int64  `json:"generation"`
	Metageneration int64  `json:"metageneration"`
	Size           int64  `json:"size"`
	// CustomerKey is the base64-encoded SHA-256 of the customer-supplied key, or "" if there is none.
	CustomerKey string `json:"customerKey,omitempty"`
	// MD5 is nil for objects that were composed from other objects or from parts.
	MD5        []byte    `json:"md5,omitempty"`
	CRC32C     uint32    `json:"crc32c"`
	Components int       `json:"components,omitempty"`
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`
	// HoldReleased is the time when an event-based hold ended, or nil if none did. The bucket's retention period
	// starts again at this time.
	HoldReleased *time.Time `json:"holdReleased,omitempty"`
	// Deleted is the time when the generation became noncurrent, or nil for the live generation.
	Deleted *time.Time `json:"deleted,omitempty"`
	// SoftDelete is the time when the generation was soft-deleted, and HardDelete the time when it is deleted
	// permanently. Both are nil for other generations.
	SoftDelete *time.Time `json:"softDelete,omitempty"`
	HardDelete *time.Time `json:"hardDelete,omitempty"`
	Segments   []Segment  `json:"segments,omitempty"`
}

// ETag returns the etag of the object in the JSON API.
func (o *Object) ETag() string {
	return base64.StdEncoding.EncodeToString([]byte(strconv.FormatInt(o.Generation, 36) + "/" + strconv.FormatInt(o.Metageneration, 36)))
}

// Upload is an unfinished upload.
type Upload struct {
	ID     string `json:"id"`
	Bucket string `json:"bucket"`
	Name   string `json:"name"`
	// Multipart distinguishes a multipart upload (XML API) from a resumable one.
	Multipart  bool       `json:"multipart,omitempty"`
	Attributes Attributes `json:"attributes"`
	// CustomerKey is the same field as in Object.
	CustomerKey string    `json:"customerKey,omitempty"`
	Created     time.Time `json:"created"`
	// Extra is data that the HTTP layer needs when the upload is completed.
	Extra json.RawMessage `json:"extra,omitempty"`

	// Segments, Size, MD5State and CRC32C describe the data that a resumable upload has received.
	Segments []Segment `json:"segments,omitempty"`
	Size     int64     `json:"size,omitempty"`
	MD5State []byte    `json:"md5State,omitempty"`
	CRC32C   uint32    `json:"crc32c,omitempty"`

	Parts map[int]Part `json:"-"`
}

// Part is one part of a multipart upload.
type Part struct {
	// Checksum is the name and value of the part's header x-amz-checksum-*, or "" if there is none.
	Checksum string    `json:"checksum,omitempty"`
	Number   int       `json:"number"`
	Size     int64     `json:"size"`
	MD5      []byte    `json:"md5"`
	CRC32C   uint32    `json:"crc32c"`
	Modified time.Time `json:"modified"`
	Segment  Segment   `json:"segment"`
}
