// SPDX-License-Identifier: Apache-2.0

// Command cosi-driver-azure is the COSI driver for Azure Blob Storage. It listens on the socket that
// COSI_ENDPOINT names. Configure it with a file (--config) or, for a single storage account, with environment
// variables.
package main

import (
	"context"
	"os"

	"github.com/cooper-cosi/cooper/cmd/internal/drivercmd"
	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

func main() {
	os.Exit(drivercmd.Main(drivercmd.Program[azuredriver.Config, azuredriver.BackendConfig]{
		Name:   "cosi-driver-azure",
		Short:  "the COSI driver for Azure Blob Storage",
		Format: azuredriver.Format(),
		New: func(_ context.Context, config azuredriver.Config, options *driverkit.Options) (driverkit.Driver, error) {
			return azuredriver.New(azuredriver.Options{Config: config, Registerer: options.Registry, TracerProvider: options.TracerProvider})
		},
	}, os.Args[1:], os.Stdout, os.Stderr))
}
