// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"
	"errors"
	"fmt"
)

// CheckBackend implements driverkit.BackendChecker: the service responds for all storage accounts, and
// accepts the driver's own credentials.
func (d *Driver) CheckBackend(ctx context.Context) error {
	var problems []error
	for _, name := range d.config.accountNames() {
		backend := d.backends[name]
		err := backend.use(ctx)
		if err == nil {
			err = backend.buckets.Ping(ctx)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("storage account %s: %w", name, err))
		}
	}
	if d.identities != nil {
		if err := d.identities.Ping(ctx); err != nil {
			problems = append(problems, fmt.Errorf("service accounts: %w", err))
		}
	}
	return errors.Join(problems...)
}
