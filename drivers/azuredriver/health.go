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

// CheckBackends implements driverkit.BackendsChecker. It checks for each storage account that the Blob service
// responds and accepts the driver's own credentials. If access for service accounts is configured, it checks the same
// for Azure Resource Manager. It returns a warning for a storage account that does not keep deleted containers.
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

// checkRetention returns a warning unless the storage account keeps deleted containers. A blob that is written
// between the driver's check that a container is empty and its deletion is lost otherwise. The Blob service does not
// report this setting to clients with a key, but Azure Resource Manager reports it to an identity.
func (b *backend) checkRetention(ctx context.Context) error {
	const enable = "enable soft delete for containers; otherwise, data that is written during the deletion of a bucket is lost (docs/howto/azure.md, Deletion)"
	if b.keepsContainers == nil {
		if b.config.Endpoint != "" {
			return nil // an emulator
		}
		return driverkit.Warning("the driver cannot check whether soft delete is enabled for containers, which requires the account's resourceID and an identity: " + enable)
	}
	kept, err := b.keepsContainers(ctx)
	switch {
	case err != nil:
		return driverkit.Warning("the driver cannot check whether soft delete is enabled for containers (" + cmp.Or(apierror.Code(err), "no answer") +
			"); the check requires Microsoft.Storage/storageAccounts/blobServices/read, as in the role Reader: " + enable)
	case !kept:
		return driverkit.Warning("soft delete is not enabled for containers of the storage account: " + enable)
	}
	return nil
}
