// SPDX-License-Identifier: Apache-2.0

// Package static supports stores without accounts. Every access gets the same key pair, which the administrator
// configured. The driver rejects requests unless the BucketAccessClass accepts the shared key
// (acceptSharedCredential).
package static

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Key returns one key pair for every account. The store has no accounts, so the credential store records what each
// account was granted for, without the key.
type Key struct {
	// Credentials is the key pair for workloads.
	Credentials aws.CredentialsProvider
	// Store records what accounts are for.
	Store credentials.Store
}

// Check rejects requests that a key with all permissions cannot satisfy.
func (k *Key) Check(request account.Request) error {
	if !request.AcceptShared {
		return driverkit.InvalidArgument("this backend has no accounts: each access gets the same key, which gives access to all buckets and is not revoked; " +
			"an administrator can accept this with the parameter acceptSharedCredential: \"true\" of the BucketAccessClass")
	}
	if request.Rotation != "" {
		return driverkit.InvalidArgument("the driver cannot rotate the key: this backend has one key for all accesses, which an administrator rotates in the driver's configuration")
	}
	const both = policy.Read | policy.Write
	for _, bucket := range request.Buckets {
		access := bucket.Access
		if access.ObjectData != both || access.ObjectMetadata != 0 && access.ObjectMetadata != both || access.BucketMetadata != 0 || access.NoDelete {
			return driverkit.InvalidArgument("bucket %s: the key of this backend has all permissions and cannot be limited; request object data ReadWrite, "+
				"with object metadata ReadWrite or unset", bucket.Name)
		}
		all := driverkit.BucketAccess{
			BucketID: bucket.Name, ObjectData: driverkit.ReadWrite, ObjectMetadata: driverkit.ReadWrite, BucketMetadata: driverkit.ReadWrite,
		}
		if err := request.Disallowed.Check(all); err != nil {
			return err
		}
	}
	return nil
}

// Grant returns the key.
func (k *Key) Grant(ctx context.Context, request account.Request) (credentials.Credential, error) {
	if err := k.Check(request); err != nil {
		return credentials.Credential{}, err
	}
	if err := credentials.NoteGiven(ctx, k.Store, request.ID, request.Hash); err != nil {
		return credentials.Credential{}, err
	}
	key, err := k.Credentials.Retrieve(ctx)
	if err != nil {
		return credentials.Credential{}, driverkit.Unavailable("the key for workloads cannot be read").WithDetail(err)
	}
	return credentials.Credential{ID: key.AccessKeyID, Secret: cosi.NewSecret(key.SecretAccessKey)}, nil
}

// Revoke deletes the record of the account. The key continues to work; the class accepts this with
// acceptSharedCredential.
func (k *Key) Revoke(ctx context.Context, request account.Request) error {
	return credentials.ForgetGiven(ctx, k.Store, request.ID)
}

// Ping reports whether the key can be read, because there is no account API to call.
func (k *Key) Ping(ctx context.Context) error {
	if _, err := k.Credentials.Retrieve(ctx); err != nil {
		return fmt.Errorf("the key for workloads cannot be read: %w", err)
	}
	return nil
}
