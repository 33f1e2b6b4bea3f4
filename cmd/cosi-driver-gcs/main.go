// SPDX-License-Identifier: Apache-2.0

// Command cosi-driver-gcs is the COSI driver for Google Cloud Storage. It listens on the socket that
// COSI_ENDPOINT names. Configure it with a file (--config) or, for a single project, with environment
// variables.
package main

import (
	"context"
	"os"

	"github.com/cooper-cosi/cooper/cmd/internal/drivercmd"
	"github.com/cooper-cosi/cooper/cmd/internal/keystore"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
)

func main() {
	keys := &keystore.Place{}
	os.Exit(drivercmd.Main(drivercmd.Program[gcsdriver.Config, gcsdriver.BackendConfig]{
		Name:   "cosi-driver-gcs",
		Short:  "the COSI driver for Google Cloud Storage",
		Format: gcsdriver.Format(),
		Flags:  keys.Flags,
		New: func(ctx context.Context, config gcsdriver.Config, options *driverkit.Options) (driverkit.Driver, error) {
			store, err := keys.Open(ctx, config.DriverName, options.Logger)
			if err != nil {
				return nil, err
			}
			return gcsdriver.New(gcsdriver.Options{Config: config, Credentials: store, Registerer: options.Registry, TracerProvider: options.TracerProvider})
		},
	}, os.Args[1:], os.Stdout, os.Stderr))
}
