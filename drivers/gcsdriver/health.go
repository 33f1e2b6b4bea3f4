// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
)

// CheckBackend implements driverkit.BackendChecker: Cloud Storage responds for every project, and
// accepts the driver's own credentials. That listing buckets is denied shows it too.
func (d *Driver) CheckBackend(ctx context.Context) error {
	var problems []error
	for _, name := range d.backends.Names() {
		backend := d.backends.ByName[name]
		_, err := call.Do(ctx, call.Storage, "buckets.list", func(ctx context.Context) (*storage.Buckets, error) {
			return backend.buckets.API.Buckets.List(backend.config.Project).MaxResults(1).Context(ctx).Do()
		})
		if err != nil && !apierror.Is(err, http.StatusForbidden) {
			problems = append(problems, fmt.Errorf("backend %s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}
