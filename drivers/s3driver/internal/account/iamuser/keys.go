// SPDX-License-Identifier: Apache-2.0

package iamuser

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Keys are the access keys of one user. It implements credentials.ShownOnceKeys.
type Keys struct {
	API  *iam.Client
	User string
}

// List implements credentials.ShownOnceKeys. A user that is not visible yet has no visible keys.
func (k Keys) List(ctx context.Context) ([]credentials.ShownOnceKey, error) {
	var keys []credentials.ShownOnceKey
	pages := iam.NewListAccessKeysPaginator(k.API, &iam.ListAccessKeysInput{UserName: &k.User})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, unlessMissing(err)
		}
		for _, key := range page.AccessKeyMetadata {
			keys = append(keys, credentials.ShownOnceKey{ID: aws.ToString(key.AccessKeyId), Active: key.Status == types.StatusTypeActive})
		}
	}
	return keys, nil
}

// Create implements credentials.ShownOnceKeys. The client's retries are disabled, because a retry after a lost
// response would create a second key.
func (k Keys) Create(ctx context.Context) (credentials.Credential, error) {
	out, err := k.API.CreateAccessKey(ctx, &iam.CreateAccessKeyInput{UserName: &k.User}, func(o *iam.Options) { o.RetryMaxAttempts = 1 })
	if err != nil {
		return credentials.Credential{}, err
	}
	return credentials.Credential{ID: aws.ToString(out.AccessKey.AccessKeyId), Secret: cosi.NewSecret(aws.ToString(out.AccessKey.SecretAccessKey))}, nil
}

// Delete implements credentials.ShownOnceKeys.
func (k Keys) Delete(ctx context.Context, id string) error {
	return unlessMissing(k.remove(ctx, id))
}

func (k Keys) remove(ctx context.Context, id string) error {
	_, err := k.API.DeleteAccessKey(ctx, &iam.DeleteAccessKeyInput{UserName: &k.User, AccessKeyId: &id})
	return err
}
