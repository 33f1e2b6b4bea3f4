// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import (
	"context"
	"net/http"

	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
)

// CheckBackends implements driverkit.BackendsChecker. It checks for each project that Cloud Storage responds and
// accepts the driver's own credentials. It does so by listing buckets; if Cloud Storage denies the listing, it has
// responded to the credentials, so the check succeeds.
func (d *Driver) CheckBackends(ctx context.Context) map[string]error {
	return d.backends.Ping(ctx, func(ctx context.Context, b *backend) error {
		_, err := call.Do(ctx, call.Storage, "buckets.list", func(ctx context.Context) (*storage.Buckets, error) {
			return b.buckets.API.Buckets.List(b.config.Project).MaxResults(1).Context(ctx).Do()
		})
		if apierror.Is(err, http.StatusForbidden) {
			return nil
		}
		return err
	})
}
