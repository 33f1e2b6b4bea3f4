// SPDX-License-Identifier: Apache-2.0

package driverfake

import (
	"encoding/json"
	"maps"
	"os"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Bucket is a bucket of the backend.
type Bucket struct {
	// ID is the bucket ID.
	ID string `json:"id"`
	// Protocols that it supports, sorted.
	Protocols []cosi.ObjectProtocol_Type `json:"protocols"`
	// Parameters of its creation.
	Parameters map[string]string `json:"parameters"`
	// Foreign says that the driver did not create it: AddBucket did.
	Foreign bool `json:"foreign"`
	// Objects that it holds, as PutObject left them.
	Objects []string `json:"objects"`
}

// Account is an account of the backend.
type Account struct {
	// ID is the account ID.
	ID string `json:"id"`
	// Protocol and Authentication are those of its grant.
	Protocol       cosi.ObjectProtocol_Type     `json:"protocol"`
	Authentication cosi.AuthenticationType_Type `json:"authentication"`
	// ServiceAccount is "namespace/name" of the Kubernetes service account, if that is how it
	// authenticates.
	ServiceAccount string `json:"serviceAccount"`
	// Buckets that it reaches, by bucket ID.
	Buckets map[string]Modes `json:"buckets"`
	// Keys that work, newest first: one, or two after a rotation. None with service accounts.
	Keys []Key `json:"keys"`
	// Rotation of the last grant.
	Rotation string `json:"rotation"`
}

// Modes are the access modes of one bucket in an account.
type Modes struct {
	ObjectData     cosi.AccessMode_Mode `json:"objectData"`
	ObjectMetadata cosi.AccessMode_Mode `json:"objectMetadata"`
	BucketMetadata cosi.AccessMode_Mode `json:"bucketMetadata"`
}

// Key is one credential of an account: an S3 or HMAC pair, or a SAS token with its policy's ID.
type Key struct {
	// ID is the public half.
	ID string `json:"id"`
	// Secret is the other half. It is plain, since tests compare it; the values are random and open
	// nothing.
	Secret string `json:"secret"`
}

// Inventory is what exists in the backend.
type Inventory struct {
	// Buckets and Accounts are sorted by ID.
	Buckets  []Bucket
	Accounts []Account
}

// backend is the state of the fake. It is replaced as a whole, so that a failed change leaves no
// trace.
type backend struct {
	Buckets  map[string]Bucket  `json:"buckets"`
	Accounts map[string]Account `json:"accounts"`
}

func (b backend) clone() backend {
	return backend{Buckets: maps.Clone(b.Buckets), Accounts: maps.Clone(b.Accounts)}
}

func parseBackend(content []byte) (backend, error) {
	var parsed backend
	if err := json.Unmarshal(content, &parsed); err != nil {
		return backend{}, err
	}
	return parsed, nil
}

func (b backend) save(path string) error {
	if path == "" {
		return nil
	}
	content, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// conflict returns ALREADY_EXISTS if a bucket of this ID exists that is not what is wanted.
func (b backend) conflict(id string, wanted Bucket) error {
	found, exists := b.Buckets[id]
	switch {
	case !exists:
		return nil
	case found.Foreign:
		return status.Errorf(codes.AlreadyExists, "bucket %s exists and belongs to somebody else", id)
	case !maps.Equal(found.Parameters, wanted.Parameters):
		return status.Errorf(codes.AlreadyExists, "bucket %s exists with other parameters", id)
	case slices.ContainsFunc(wanted.Protocols, func(protocol cosi.ObjectProtocol_Type) bool {
		return !slices.Contains(found.Protocols, protocol)
	}):
		return status.Errorf(codes.AlreadyExists, "bucket %s exists for other protocols", id)
	default:
		return nil
	}
}

// Inventory returns a copy of what exists.
func (d *Driver) Inventory() Inventory {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out Inventory
	for _, id := range slices.Sorted(maps.Keys(d.backend.Buckets)) {
		bucket := d.backend.Buckets[id]
		bucket.Protocols, bucket.Objects = slices.Clone(bucket.Protocols), slices.Clone(bucket.Objects)
		bucket.Parameters = maps.Clone(bucket.Parameters)
		out.Buckets = append(out.Buckets, bucket)
	}
	for _, id := range slices.Sorted(maps.Keys(d.backend.Accounts)) {
		account := d.backend.Accounts[id]
		account.Buckets, account.Keys = maps.Clone(account.Buckets), slices.Clone(account.Keys)
		out.Accounts = append(out.Accounts, account)
	}
	return out
}

// AddBucket makes a bucket as an administrator would, behind the driver's back. Without protocols
// it supports those of the driver. A bucket of that ID is replaced.
func (d *Driver) AddBucket(id string, protocols ...cosi.ObjectProtocol_Type) error {
	return d.change(func(b *backend) error {
		if len(protocols) == 0 {
			protocols = d.supported()
		}
		protocols = slices.Clone(protocols)
		slices.Sort(protocols)
		b.Buckets[id] = Bucket{ID: id, Protocols: protocols, Foreign: true}
		return nil
	})
}

// RemoveBucket removes a bucket with all its objects as an administrator would.
func (d *Driver) RemoveBucket(id string) error {
	return d.change(func(b *backend) error {
		delete(b.Buckets, id)
		return nil
	})
}

// PutObject puts an object into a bucket, without any credential. It is NOT_FOUND if there is no
// such bucket.
func (d *Driver) PutObject(bucketID, name string) error {
	return d.changeObjects(bucketID, func(objects []string) []string {
		if slices.Contains(objects, name) {
			return objects
		}
		return append(slices.Clone(objects), name)
	})
}

// RemoveObjects empties a bucket. It is NOT_FOUND if there is no such bucket.
func (d *Driver) RemoveObjects(bucketID string) error {
	return d.changeObjects(bucketID, func([]string) []string { return nil })
}

func (d *Driver) changeObjects(bucketID string, change func([]string) []string) error {
	return d.change(func(b *backend) error {
		bucket, exists := b.Buckets[bucketID]
		if !exists {
			return status.Errorf(codes.NotFound, "bucket %s does not exist", bucketID)
		}
		bucket.Objects = change(bucket.Objects)
		b.Buckets[bucketID] = bucket
		return nil
	})
}
