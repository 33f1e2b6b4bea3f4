// SPDX-License-Identifier: Apache-2.0

// Command example is a complete COSI driver to use as a starting point. Its backend is a directory that contains
// state.json and one directory per bucket. Workloads cannot access the buckets. The driver tolerates a crash at any
// point, because it replaces state.json atomically and reads it again in every call.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

type account struct {
	Buckets  []driverkit.BucketAccess
	Rotation string
	Keys     [][2]string // ID and secret: the delivered key, then the previous one
}

type state struct { // the contents of state.json
	Buckets  map[string]string // bucket ID to the hash of the parameters
	Accounts map[string]account
}

type driver struct {
	root string
	mu   sync.Mutex // guards state.json; the kit serializes only calls for the same ID
}

func main() {
	driverkit.Main(&driver{root: cmp.Or(os.Getenv("EXAMPLE_ROOT"), "cosi-example")}, driverkit.Options{})
}

func (d *driver) Info() driverkit.Info {
	return driverkit.Info{
		Name: "example.cooper.dev", Protocols: []driverkit.Protocol{driverkit.S3}, MultiBucket: []driverkit.AuthType{driverkit.Key},
		Modes:            driverkit.Modes{ObjectData: []driverkit.Mode{driverkit.ReadWrite, driverkit.ReadOnly}},
		BucketParameters: driverkit.Parameters{"tier": {Check: driverkit.OneOf("hot", "cold")}},
	}
}

func (d *driver) CreateBucket(_ context.Context, request driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
	err := d.change(func(s *state) error {
		if hash, exists, err := d.look(s, request.BucketID); err != nil || exists && hash != request.Parameters.Hash() {
			return cmp.Or(err, error(driverkit.AlreadyExists("bucket %s already exists with other parameters or another owner", request.BucketID)))
		}
		s.Buckets[request.BucketID] = request.Parameters.Hash()
		return nil
	})
	if err == nil { // The owner was recorded in state.json first.
		err = os.MkdirAll(d.path(request.BucketID), 0o750)
	}
	return d.info(request.BucketID), err
}

func (d *driver) GetBucket(_ context.Context, request driverkit.GetBucketRequest) (driverkit.BucketInfo, error) {
	return d.info(request.BucketID), d.change(func(s *state) error {
		hash, exists, err := d.look(s, request.BucketID)
		if err == nil && !exists {
			return driverkit.NotFound("bucket %s does not exist", request.BucketID)
		}
		if hash != "" && len(request.Parameters) > 0 && hash != request.Parameters.Hash() {
			return driverkit.AlreadyExists("bucket %s already exists with other parameters", request.BucketID)
		}
		return err
	})
}

func (d *driver) DeleteBucket(_ context.Context, request driverkit.DeleteBucketRequest) error {
	return d.change(func(s *state) error {
		if hash, exists, err := d.look(s, request.BucketID); err != nil || exists && hash == "" {
			return cmp.Or(err, error(driverkit.FailedPrecondition("bucket %s has another owner; the driver does not change it", request.BucketID)))
		}
		delete(s.Buckets, request.BucketID)
		if err := os.Remove(d.path(request.BucketID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return driverkit.FailedPrecondition("bucket %s is not empty", request.BucketID).WithDetail(err)
		}
		return nil
	})
}

func (d *driver) GrantAccess(ctx context.Context, request driverkit.GrantAccessRequest) (access driverkit.Access, err error) {
	access.Buckets = map[string]driverkit.BucketInfo{}
	for _, wanted := range request.Buckets {
		if access.Buckets[wanted.BucketID], err = d.GetBucket(ctx, driverkit.GetBucketRequest{BucketID: wanted.BucketID}); err != nil {
			return access, err
		}
	}
	err = d.change(func(s *state) error {
		found, exists := s.Accounts[request.AccountID]
		if exists && !slices.Equal(found.Buckets, request.Buckets) {
			return driverkit.AlreadyExists("account %s already exists with other buckets or modes", request.AccountID)
		}
		if !exists || found.Rotation != request.Rotation {
			keys := append([][2]string{{rand.Text(), rand.Text()}}, found.Keys...)
			found = account{Buckets: request.Buckets, Rotation: request.Rotation, Keys: keys[:min(len(keys), 2)]}
			s.Accounts[request.AccountID] = found
		}
		access.Credential.S3 = &driverkit.S3Credential{AccessKeyID: found.Keys[0][0], SecretKey: cosi.NewSecret(found.Keys[0][1])}
		return nil
	})
	return access, err
}

func (d *driver) RevokeAccess(_ context.Context, request driverkit.RevokeAccessRequest) error {
	return d.change(func(s *state) error { delete(s.Accounts, request.AccountID); return nil })
}

func (d *driver) info(bucketID string) driverkit.BucketInfo {
	return driverkit.BucketInfo{S3: &driverkit.S3Bucket{Name: bucketID, Endpoint: "http://localhost:9000", Region: "local", Style: driverkit.PathStyle}}
}

func (d *driver) path(bucketID string) string {
	return filepath.Join(d.root, fmt.Sprintf("bucket-%x", sha256.Sum256([]byte(bucketID))))
}

// look returns whether a bucket exists and the hash of its parameters, which is empty if this driver did not create
// the bucket.
func (d *driver) look(s *state, bucketID string) (hash string, exists bool, err error) {
	if _, err = os.Stat(d.path(bucketID)); errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return s.Buckets[bucketID], true, err
}

// change applies edit to state.json atomically.
func (d *driver) change(edit func(*state) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, path := state{Buckets: map[string]string{}, Accounts: map[string]account{}}, filepath.Join(d.root, "state.json")
	old, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(old, &now)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(d.root, 0o750)
	}
	if err != nil {
		return err
	}
	if err := edit(&now); err != nil {
		return err
	}
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_SYNC, 0o600)
	if err == nil {
		err = errors.Join(json.NewEncoder(file).Encode(now), file.Close())
	}
	if err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
