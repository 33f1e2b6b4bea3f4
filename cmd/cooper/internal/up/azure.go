// SPDX-License-Identifier: Apache-2.0

//go:build !s3only

package up

import (
	"context"
	"errors"
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
	settings := azurefake.Options{Address: address(o.portOf("azure", o.AzurePort))}
	if o.Keep {
		settings.Dir = o.Dir.Store("azure")
	}
	server, err := azurefake.New(settings)
	if err != nil {
		return nil, fmt.Errorf("create the fake Azure: %w", err)
	}
	if err := server.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the fake Azure: %w", err), server.Close())
	}
	if err := o.keepPort("azure", server.URL()); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	driver, err := newAzureDriver(o, server)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up the Azure driver: %w", err), server.Close())
	}
	return &store{
		name: "Azure Blob",
		url:  server.URL(),
		stop: server.Close,
		driver: system.Driver{
			Name: tutorial.AzureDriverName,
			Serve: func(ctx context.Context, endpoint string) error {
				return driverkit.Serve(ctx, driver, driverkit.Options{Endpoint: endpoint, Logger: logger.With("driver", tutorial.AzureDriverName), TracerProvider: o.tracer})
			},
		},
	}, nil
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
