// SPDX-License-Identifier: Apache-2.0

//go:build !s3only

package up

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/cooper-cosi/cooper/docs/tutorial"
	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv/system"
)

// startAzure starts the fake Blob service.
func startAzure(_ context.Context, o Options, logger *slog.Logger) (*store, error) {
	server, err := azurefake.New(azurefake.Options{Address: address(o.portOf("azure", o.AzurePort)), Dir: o.stateOf("azure")})
	if err != nil {
		return nil, fmt.Errorf("create the fake Azure: %w", err)
	}
	return o.start(&store{name: "Azure Blob", driver: system.Driver{Name: tutorial.AzureDriverName}}, "azure", server, logger, func() (driverkit.Driver, error) {
		return newAzureDriver(o, server)
	})
}

// newAzureDriver creates a driver with the key of the fake's storage account.
func newAzureDriver(o Options, server *azurefake.Server) (*azuredriver.Driver, error) {
	key, _ := server.Keys(azurefake.DefaultAccount)
	return azuredriver.New(azuredriver.Options{TracerProvider: o.tracer, Config: azuredriver.Config{
		DriverName: tutorial.AzureDriverName,
		Backends: map[string]azuredriver.BackendConfig{azurefake.DefaultAccount: {
			Endpoint: server.URL(), Credentials: azuredriver.CredentialsConfig{AccountKey: cosi.NewSecret(key)},
		}},
	}})
}
