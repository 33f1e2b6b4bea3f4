// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Bucket is a bucket of the store.
type Bucket struct {
	// ID is the bucket ID.
	ID string
	// Protocols that the bucket supports, sorted.
	Protocols []cosi.ObjectProtocol_Type
	// Parameters with which the bucket was created.
	Parameters map[string]string
	// Current are the parameters after changes.
	Current map[string]string
	// Foreign is true if the driver did not create the bucket, for example if AddBucket created it.
	Foreign bool
	// Objects in the bucket, sorted.
	Objects []string
}

// Account is an account of the store.
type Account struct {
	// ID is the account ID.
	ID string
	// ServiceAccount is the "namespace/name" of the Kubernetes service account, or empty for accounts with keys.
	ServiceAccount string
	// Buckets are the IDs of the granted buckets, sorted.
	Buckets []string
	// Keys are the valid keys, newest first. There is one key, or two after a rotation. Accounts with service accounts
	// have none.
	Keys []Key
	// Rotation of the last grant.
	Rotation string
}

// Key is one credential of an account.
type Key struct {
	// ID is the public half.
	ID string
	// Secret is the secret half. It is not redacted, because tests compare it; the values are random and give access to
	// nothing.
	Secret string
}

// Inventory is the contents of the store.
type Inventory struct {
	// Buckets and Accounts are sorted by ID.
	Buckets  []Bucket
	Accounts []Account
}

// Inventory returns a copy of the store's buckets and accounts. It panics if the store's file cannot be read, which
// happens only if a test makes the file unreadable.
func (d *Driver) Inventory() Inventory {
	var out Inventory
	err := d.store.admin(func(s *state) error {
		for _, id := range slices.Sorted(maps.Keys(s.Buckets)) {
			bucket := s.Buckets[id]
			out.Buckets = append(out.Buckets, Bucket{
				ID: id, Protocols: slices.Clone(bucket.Protocols), Parameters: maps.Clone(bucket.Parameters),
				Current: maps.Clone(bucket.current()), Foreign: bucket.Owner != ownerDriver, Objects: slices.Sorted(maps.Keys(bucket.Objects)),
			})
		}
		for _, id := range slices.Sorted(maps.Keys(s.Accounts)) {
			found := s.Accounts[id]
			account := Account{ID: id, ServiceAccount: found.ServiceAccount, Buckets: slices.Clone(found.Buckets), Rotation: found.Rotation}
			for _, key := range []string{found.Current, found.Previous} {
				if live := s.Keys[key]; live != nil {
					account.Keys = append(account.Keys, Key{ID: key, Secret: live.Secret})
				}
			}
			out.Accounts = append(out.Accounts, account)
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return out
}

// AddBucket creates a bucket as an administrator would, without the driver. If no protocols are given, the bucket
// supports those of the driver. AddBucket replaces an existing bucket with that ID.
func (d *Driver) AddBucket(id string, protocols ...cosi.ObjectProtocol_Type) error {
	if len(protocols) == 0 {
		protocols = d.supported()
	}
	return d.store.admin(func(s *state) error {
		s.Buckets[id] = newBucket(ownerAdmin, protocols, nil)
		s.Buckets[id].Ready = true
		return nil
	})
}

// RemoveBucket removes a bucket with all its objects as an administrator would.
func (d *Driver) RemoveBucket(id string) error {
	return d.store.admin(func(s *state) error {
		delete(s.Buckets, id)
		return nil
	})
}

// PutObject puts an object into a bucket, without a credential. It returns NOT_FOUND if the bucket does not exist.
func (d *Driver) PutObject(bucketID, name string) error {
	return d.changeObjects(bucketID, func(objects map[string][]byte) { objects[name] = nil })
}

// RemoveObjects empties a bucket. It returns NOT_FOUND if the bucket does not exist.
func (d *Driver) RemoveObjects(bucketID string) error {
	return d.changeObjects(bucketID, func(objects map[string][]byte) { clear(objects) })
}

func (d *Driver) changeObjects(bucketID string, change func(map[string][]byte)) error {
	return d.store.admin(func(s *state) error {
		bucket := s.Buckets[bucketID]
		if bucket == nil {
			return status.Errorf(codes.NotFound, "bucket %s does not exist", bucketID)
		}
		change(bucket.Objects)
		return nil
	})
}
