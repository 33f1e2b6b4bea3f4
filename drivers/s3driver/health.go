// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// CheckBackends implements driverkit.BackendsChecker. For each backend, it checks the store, the account API and the
// API that gives roles to service accounts. Each of them must respond and accept the driver's own credentials.
//
// The check needs no permissions beyond those that the driver needs anyway, because a denied call also shows that the
// API responds.
func (d *Driver) CheckBackends(ctx context.Context) map[string]error {
	return d.backends.Ping(ctx, func(ctx context.Context, b *backend) error {
		_, err := b.buckets.API.ListBuckets(ctx, &s3.ListBucketsInput{MaxBuckets: aws.Int32(1)})
		problems := []error{silence("the store", err), silence("the accounts of the store", b.accounts.Ping(ctx))}
		if b.identities != nil {
			problems = append(problems, silence("the roles of service accounts", b.identities.Ping(ctx)))
		}
		return errors.Join(problems...)
	})
}

// silence returns nil if the call was denied, because that is a response.
func silence(what string, err error) error {
	if err == nil || apierror.Denied(err) {
		return nil
	}
	return fmt.Errorf("check %s: %w", what, err)
}
