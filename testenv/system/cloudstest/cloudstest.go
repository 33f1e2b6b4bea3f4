// SPDX-License-Identifier: Apache-2.0

// Package cloudstest creates Cooper's drivers for the fakes of the three clouds, for a system in a test. The
// caller starts the fakes.
package cloudstest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv/system"
)

// Served returns a driver that is served in this process.
func Served(name string, driver driverkit.Driver) system.Driver {
	return system.Driver{Name: name, Serve: func(ctx context.Context, endpoint string) error {
		return driverkit.Serve(ctx, driver, driverkit.Options{Endpoint: endpoint, Logger: slog.New(slog.DiscardHandler)})
	}}
}

// S3 returns the S3 driver for a fake, with its credential store.
func S3(tb testing.TB, store *s3fake.Server, keys credentials.Store) system.Driver {
	tb.Helper()
	root := store.Root()
	driver, err := s3driver.New(s3driver.Options{
		Config: s3driver.Config{DriverName: s3driver.DefaultName, Backends: map[string]s3driver.BackendConfig{"main": {
			Type: s3driver.TypeAWS, Endpoint: store.URL(), Region: store.Region(),
			Credentials: s3driver.CredentialsConfig{AccessKeyID: root.AccessKeyID, SecretAccessKey: cosi.NewSecret(root.SecretAccessKey)},
		}}},
		Credentials: keys,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return Served(s3driver.DefaultName, driver)
}

// Azure returns the Azure Blob Storage driver for a fake.
func Azure(tb testing.TB, store *azurefake.Server) system.Driver {
	tb.Helper()
	key, _ := store.Keys(azurefake.DefaultAccount)
	driver, err := azuredriver.New(azuredriver.Options{Config: azuredriver.Config{
		DriverName: azuredriver.DefaultName,
		Backends: map[string]azuredriver.BackendConfig{azurefake.DefaultAccount: {
			Endpoint: store.URL(), Credentials: azuredriver.CredentialsConfig{AccountKey: cosi.NewSecret(key)},
		}},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return Served(azuredriver.DefaultName, driver)
}

// GCS returns the Google Cloud Storage driver for a fake.
func GCS(tb testing.TB, store *gcsfake.Server) system.Driver {
	tb.Helper()
	key, err := store.AdminKey("")
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(tb.TempDir(), "admin.json")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		tb.Fatal(err)
	}
	driver, err := gcsdriver.New(gcsdriver.Options{
		Config: gcsdriver.Config{DriverName: gcsdriver.DefaultName, Backends: map[string]gcsdriver.BackendConfig{
			"main": {Project: store.ProjectID(), Endpoint: store.URL(), CredentialsFile: file},
		}},
		Credentials: credentials.NewMemory(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return Served(gcsdriver.DefaultName, driver)
}
