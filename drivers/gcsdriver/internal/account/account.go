// SPDX-License-Identifier: Apache-2.0

// Package account is what the ways to manage accounts have in common: the request for an account, and the project
// in which it is.
package account

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	iam "google.golang.org/api/iam/v1"
	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/bucket"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// Request asks for an account with exactly this access.
type Request struct {
	// ID is the COSI account ID, under which the credential store keeps what belongs to the account.
	ID string
	// Name is the ID without the name of the backend.
	Name string
	// Buckets that the account reaches.
	Buckets []Bucket
	// Hash is equal for requests that ask for equal accounts.
	Hash string
	// Rotation asks for new keys when it differs from the last one.
	Rotation string
	// Credentials says which keys are asked for.
	Credentials params.Credentials
	// Principal is the member that stands for a Kubernetes service account.
	Principal string
}

// Bucket is one bucket of an account.
type Bucket struct {
	// Name is the bucket's name.
	Name string
	// Roles are sorted.
	Roles []string
}

// Project is one project as this package needs it. All fields but Cluster and ReadLag are required.
type Project struct {
	// ID is the project's.
	ID string
	// IAM and Storage are the clients, with the driver's own credentials.
	IAM     *iam.Service
	Storage *storage.Service
	// Policies edits the policies of buckets.
	Policies *bucket.PolicyEditor
	// Store keeps the keys.
	Store credstore.Store
	// Driver and Cluster are marked on everything that is made.
	Driver, Cluster string
	// ReadLag is how long what was written may be missing from reads.
	ReadLag time.Duration
}

// Edit changes the policy of every bucket. A bucket that is gone has no policy that grants anything:
// it is passed over where that is asked.
func (p *Project) Edit(ctx context.Context, buckets []Bucket, skipMissing bool, change func(*storage.Policy, Bucket) (bool, error)) error {
	for _, bucket := range buckets {
		_, err := driverkit.Reread(ctx, p.ReadLag, apierror.IsMissing, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, p.Policies.Edit(ctx, bucket.Name, func(current *storage.Policy) (bool, error) { return change(current, bucket) })
		})
		if apierror.IsMissing(err) {
			if skipMissing {
				continue
			}
			return driverkit.NotFound("bucket %s does not exist", bucket.Name).WithDetail(err)
		}
		if err != nil {
			return apierror.Translate("bucket "+bucket.Name, err)
		}
	}
	return nil
}

// UnlessMissing returns err unless it says that something does not exist.
func UnlessMissing(err error) error {
	if apierror.IsMissing(err) {
		return nil
	}
	return err
}

// Differs returns the error about an account that was granted with another request.
func Differs(id string) error {
	return driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than these", id)
}

// Forget removes entries of the credential store.
func (p *Project) Forget(ctx context.Context, entries ...string) error {
	for _, entry := range entries {
		if err := p.Store.Delete(ctx, entry); err != nil {
			return credentials.StoreError(entry, err)
		}
	}
	return nil
}

// MarkPrefix begins what the driver writes where it marks something as its own.
const MarkPrefix = "cosi:"

// maxOwner is what a service account's description, 256 bytes, has room for beside the rest.
const maxOwner = 80

// Owner names the driver and its cluster. A name that is too long for a description is hashed.
func (p *Project) Owner() string {
	text := p.Driver
	if p.Cluster != "" {
		text += "/" + p.Cluster
	}
	if len(text) <= maxOwner {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "h-" + hex.EncodeToString(sum[:16])
}
