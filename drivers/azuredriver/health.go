// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"
	"errors"
	"sync"
)

// CheckBackends implements driverkit.BackendsChecker: the service responds for each storage account, and accepts the
// driver's own credentials. So does Azure Resource Manager, if service accounts can have access.
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
		return b.buckets.Ping(ctx)
	})
	group.Wait()
	if d.identities != nil {
		results[managementBackend] = errors.Join(results[managementBackend], management)
	}
	return results
}
