// SPDX-License-Identifier: Apache-2.0

// Command cosi-driver-s3 is the COSI driver for S3. It listens on the socket that COSI_ENDPOINT names.
// Configure it with a file (--config) or, for a single store, with environment variables.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/cooper-cosi/cooper/cmd/internal/drivercmd"
	"github.com/cooper-cosi/cooper/cmd/internal/keystore"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
)

func main() {
	keys := &keystore.Place{}
	os.Exit(drivercmd.Main(drivercmd.Program[s3driver.Config, s3driver.BackendConfig]{
		Name:   "cosi-driver-s3",
		Short:  "the COSI driver for S3",
		Format: s3driver.Format(),
		Flags:  keys.Flags,
		New: func(ctx context.Context, config s3driver.Config, options *driverkit.Options) (driverkit.Driver, error) {
			store, err := keys.Open(ctx, config.DriverName, options.Logger)
			if err != nil {
				return nil, err
			}
			driver, err := s3driver.New(s3driver.Options{Config: config, Credentials: store, Registerer: options.Registry, TracerProvider: options.TracerProvider})
			if err != nil {
				return nil, err
			}
			if err := driver.CheckConfiguration(ctx); err != nil {
				return nil, fmt.Errorf("the configuration conflicts with existing buckets or accounts: %w", err)
			}
			return driver, nil
		},
	}, os.Args[1:], os.Stdout, os.Stderr))
}
