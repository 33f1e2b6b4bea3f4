// SPDX-License-Identifier: Apache-2.0

// Package account defines the types that all account managers share: Request, which describes an account, and
// Project, the project that contains it.
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
)

// Request asks for an account with exactly this access.
type Request struct {
	// ID is the COSI account ID, which is the key of the account's entries in the credential store.
	ID string
	// Name is the ID without the name of the backend.
	Name string
	// Buckets that the account can access.
	Buckets []Bucket
	// Hash identifies the requested account: equal requests have the same Hash.
	Hash string
	// Rotation requests new keys if it differs from the last rotation.
	Rotation string
	// Credentials selects the kinds of keys.
	Credentials params.Credentials
	// Principal is the policy member for a Kubernetes service account.
	Principal string
}

// Bucket is one bucket of an account.
type Bucket struct {
	// Name is the bucket's name.
	Name string
	// Roles are sorted.
	Roles []string
}

// Project is one project. All fields except Cluster and ReadLag are required.
type Project struct {
	// ID is the project ID.
	ID string
	// IAM and Storage are the clients, with the driver's own credentials.
	IAM     *iam.Service
	Storage *storage.Service
	// Policies edits the policies of buckets.
	Policies *bucket.PolicyEditor
	// Store stores the keys.
	Store credentials.Store
	// Driver and Cluster are written to the marks of everything that is created.
	Driver, Cluster string
	// ReadLag is how long reads may be stale after a write.
	ReadLag time.Duration
}

// Edit changes the policy of every bucket. If skipMissing is true, it skips deleted buckets, whose policies no longer
// grant anything.
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

// UnlessMissing returns err unless it means that the resource does not exist.
func UnlessMissing(err error) error {
	if apierror.IsMissing(err) {
		return nil
	}
	return err
}

// Differs returns the error for an account that was granted with another request.
func Differs(id string) error {
	return driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than requested", id)
}

// Forget deletes entries of the credential store.
func (p *Project) Forget(ctx context.Context, entries ...string) error {
	for _, entry := range entries {
		if err := p.Store.Delete(ctx, entry); err != nil {
			return credentials.StoreError(entry, err)
		}
	}
	return nil
}

// MarkPrefix is the prefix of the driver's marks.
const MarkPrefix = "cosi:"

// maxOwner is the space for the owner in a service account's description, which is limited to 256 bytes.
const maxOwner = 80

// Owner returns the driver's name and its cluster. A value that is too long for a description is hashed.
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
