// SPDX-License-Identifier: Apache-2.0

// Command cosi-driver-static is the COSI driver for buckets and credentials that an administrator provides.
// It listens on the socket that COSI_ENDPOINT names. Configure it with a file (--config) or, for a single
// bucket, with environment variables.
package main

import (
	"context"
	"os"

	"github.com/cooper-cosi/cooper/cmd/internal/drivercmd"
	"github.com/cooper-cosi/cooper/cmd/internal/keystore"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/staticdriver"
)

func main() {
	var place keystore.Place
	os.Exit(drivercmd.Main(drivercmd.Program[staticdriver.Config, staticdriver.BucketConfig]{
		Name:   "cosi-driver-static",
		Short:  "the COSI driver for buckets and credentials that an administrator provides",
		Format: staticdriver.Format(),
		Flags:  place.Flags,
		New: func(ctx context.Context, config staticdriver.Config, options *driverkit.Options) (driverkit.Driver, error) {
			store, err := place.Open(ctx, config.DriverName, options.Logger)
			if err != nil {
				return nil, err
			}
			return staticdriver.New(staticdriver.Options{
				Config: config, Credentials: store, Registerer: options.Registry, TracerProvider: options.TracerProvider,
			})
		},
	}, os.Args[1:], os.Stdout, os.Stderr))
}
