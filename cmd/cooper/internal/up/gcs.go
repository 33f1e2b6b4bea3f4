// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cooper-cosi/cooper/docs/tutorial"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/testenv/system"
)

const (
	// gcsName is what the report calls the fake of Google Cloud.
	gcsName = "Cloud Storage and IAM"
	// gcsEndpointKey is a variable beside those of a GCS access Secret, which has no URL: clients know
	// Google's, and have to be told that of a fake.
	gcsEndpointKey = "GCS_ENDPOINT_URL"
)

// startGCS starts the fake Cloud Storage and IAM.
func startGCS(_ context.Context, o Options, logger *slog.Logger) (*store, error) {
	settings := gcsfake.Options{Address: address(o.portOf("gcs", o.GCSPort))}
	if o.Keep {
		settings.Dir = o.Dir.Store("gcs")
	}
	server, err := gcsfake.New(settings)
	if err != nil {
		return nil, fmt.Errorf("fake Cloud Storage: %w", err)
	}
	if err := server.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("fake Cloud Storage: %w", err), server.Close())
	}
	if err := o.keepPort("gcs", server.URL()); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	driver, err := newGCSDriver(o, server)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &store{
		name: gcsName,
		url:  server.URL(),
		stop: server.Close,
		driver: system.Driver{
			Name: tutorial.GCSDriverName,
			Serve: func(ctx context.Context, endpoint string) error {
				return driverkit.Serve(ctx, driver, driverkit.Options{Endpoint: endpoint, Logger: logger.With("driver", tutorial.GCSDriverName)})
			},
		},
	}, nil
}

// newGCSDriver makes the driver that acts as administrator of the fake's project.
func newGCSDriver(o Options, server *gcsfake.Server) (*gcsdriver.Driver, error) {
	credentials, err := credstore.OpenDirectory(o.Dir.Credentials("gcs"))
	if err != nil {
		return nil, fmt.Errorf("credential store of the GCS driver: %w", err)
	}
	key, err := server.AdminKey("")
	if err != nil {
		return nil, fmt.Errorf("credentials of the GCS driver: %w", err)
	}
	file := filepath.Join(filepath.Dir(o.Dir.Credentials("gcs")), "gcs-administrator.json")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		return nil, fmt.Errorf("credentials of the GCS driver: %w", err)
	}
	driver, err := gcsdriver.New(gcsdriver.Options{
		Config: gcsdriver.Config{
			DriverName: tutorial.GCSDriverName,
			Backends: map[string]gcsdriver.BackendConfig{
				"fake": {Project: server.ProjectID(), Endpoint: server.URL(), CredentialsFile: file},
			},
		},
		Credentials: credentials,
	})
	if err != nil {
		return nil, fmt.Errorf("GCS driver: %w", err)
	}
	return driver, nil
}
