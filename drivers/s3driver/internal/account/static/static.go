// SPDX-License-Identifier: Apache-2.0

// Package static is for stores without accounts: everybody gets the one key pair that the
// administrator configured. It is refused unless the class accepts exactly that.
package static

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Key answers one key pair for every account.
type Key struct {
	// Credentials is the key pair for workloads.
	Credentials aws.CredentialsProvider
}

// Check refuses everything that a key with all rights cannot honour.
func (k *Key) Check(request account.Request) error {
	if !request.AcceptShared {
		return driverkit.InvalidArgument("this backend has no accounts: every access gets the same key, which reaches all buckets and is not revoked; " +
			"an administrator can accept that with the parameter acceptSharedCredential: \"true\" of the BucketAccessClass")
	}
	if request.Rotation != "" {
		return driverkit.InvalidArgument("this backend has one key for all, which is rotated in the driver's configuration")
	}
	const both = policy.Read | policy.Write
	for _, bucket := range request.Buckets {
		access := bucket.Access
		if access.ObjectData != both || access.ObjectMetadata != 0 && access.ObjectMetadata != both || access.BucketMetadata != 0 || access.NoDelete {
			return driverkit.InvalidArgument("bucket %s: the key of this backend has all rights and cannot be limited; supported is object data ReadWrite, "+
				"with object metadata ReadWrite or left open", bucket.Name)
		}
	}
	return nil
}

// Grant answers the key.
func (k *Key) Grant(ctx context.Context, request account.Request) (credentials.Credential, error) {
	if err := k.Check(request); err != nil {
		return credentials.Credential{}, err
	}
	key, err := k.Credentials.Retrieve(ctx)
	if err != nil {
		return credentials.Credential{}, driverkit.Unavailable("the key for workloads cannot be read").WithDetail(err)
	}
	return credentials.Credential{ID: key.AccessKeyID, Secret: cosi.NewSecret(key.SecretAccessKey)}, nil
}

// Revoke has nothing to remove.
func (*Key) Revoke(context.Context, account.Request) error { return nil }
