// SPDX-License-Identifier: Apache-2.0

// Package account manages the identities of accesses: for keys a Google service account each, for
// Kubernetes service accounts the principal that Google knows them by.
package account

import (
	"context"

	iam "google.golang.org/api/iam/v1"
	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
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

// Project is one project as this package needs it. All fields but Cluster are required.
type Project struct {
	// ID is the project's.
	ID string
	// IAM and Storage are the clients, with the driver's own credentials.
	IAM     *iam.Service
	Storage *storage.Service
	// Policies edits the policies of buckets.
	Policies *policy.Editor
	// Store keeps the keys.
	Store credstore.Store
	// Driver and Cluster are marked on everything that is made.
	Driver, Cluster string
}

// edit changes the policy of every bucket. A bucket that is gone has no policy that grants anything:
// it is passed over where that is asked.
func (p *Project) edit(ctx context.Context, buckets []Bucket, skipMissing bool, change func(*storage.Policy, Bucket) (bool, error)) error {
	for _, bucket := range buckets {
		err := p.Policies.Edit(ctx, bucket.Name, func(current *storage.Policy) (bool, error) { return change(current, bucket) })
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

func unlessMissing(err error) error {
	if apierror.IsMissing(err) {
		return nil
	}
	return err
}

// otherwise is what an account is that was granted with another request.
func otherwise(id string) error {
	return driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than these", id)
}
