// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// CheckBackends implements driverkit.BackendsChecker: the service responds for each storage account, and accepts the
// driver's own credentials. So does Azure Resource Manager, if service accounts can have access. A storage account that does
// not keep deleted containers has a warning.
func (d *Driver) CheckBackends(ctx context.Context) map[string]error {
	var group sync.WaitGroup
	var management error
	if d.identities != nil {
		group.Go(func() { management = d.identities.Ping(ctx) })
	}
	results := d.backends.Ping(ctx, func(ctx context.Context, b *backend) error {
		if err := b.use(ctx); err != nil {
			return err
		}
		if err := b.buckets.Ping(ctx); err != nil {
			return err
		}
		return b.checkRetention(ctx)
	})
	group.Wait()
	if d.identities != nil {
		results[managementBackend] = errors.Join(results[managementBackend], management)
	}
	return results
}

// checkRetention warns unless the storage account keeps deleted containers: a blob that comes between the driver's look at a
// container and its deletion goes with it. The Blob service does not tell it to who has a key, but Azure Resource Manager
// does to an identity.
func (b *backend) checkRetention(ctx context.Context) error {
	const enable = "enable soft delete of containers, or what is written while a bucket is deleted is lost (docs/howto/azure.md, Deletion)"
	if b.keepsContainers == nil {
		if b.config.Endpoint != "" {
			return nil // an emulator
		}
		return driverkit.Warning("the driver cannot see whether deleted containers are kept, for which it needs the account's resourceID and an identity: " + enable)
	}
	kept, err := b.keepsContainers(ctx)
	switch {
	case err != nil:
		return driverkit.Warning("the driver cannot see whether deleted containers are kept (" + cmp.Or(apierror.Code(err), "no answer") +
			"), for which it needs Microsoft.Storage/storageAccounts/blobServices/read, as in the role Reader: " + enable)
	case !kept:
		return driverkit.Warning("the storage account does not keep deleted containers: " + enable)
	}
	return nil
}
