// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// A place is the access of a driver to its store.
type place struct {
	URL, ID, Secret, Project string
	// Key is the key file of a Google service account.
	Key []byte
	// dir is a directory for files of the driver.
	dir string
}

// A server is a fake store.
type server interface {
	Start() error
	URL() string
	Close() error
}

// A cloud is a fake store with its driver.
type cloud struct {
	protocol cosi.ObjectProtocol_Type
	// store returns a store that has not been started, and a function that returns its place once it has.
	store  func() (server, func() (place, error), error)
	driver func(name string, at place) (driverkit.Driver, error)
}

// clouds are all clouds, by the protocols in claims.
var clouds = map[string]cloud{
	"S3":    {cosi.ObjectProtocol_S3, newS3Store, newS3Driver},
	"Azure": {cosi.ObjectProtocol_AZURE, newAzureStore, newAzureDriver},
	"GCS":   {cosi.ObjectProtocol_GCS, newGCSStore, newGCSDriver},
}

func newS3Store() (server, func() (place, error), error) {
	store, err := s3fake.New(s3fake.Options{})
	return store, func() (place, error) {
		return place{ID: store.Root().AccessKeyID, Secret: store.Root().SecretAccessKey}, nil
	}, err
}

func newS3Driver(name string, at place) (driverkit.Driver, error) {
	return s3driver.New(s3driver.Options{
		Config: s3driver.Config{DriverName: name, Backends: map[string]s3driver.BackendConfig{"fake": {
			Type: s3driver.TypeAWS, Endpoint: at.URL,
			Credentials: s3driver.CredentialsConfig{AccessKeyID: at.ID, SecretAccessKey: cosi.NewSecret(at.Secret)},
		}}},
		Credentials: credentials.NewMemory(),
	})
}

func newAzureStore() (server, func() (place, error), error) {
	store, err := azurefake.New(azurefake.Options{})
	return store, func() (place, error) {
		key, _ := store.Keys(azurefake.DefaultAccount)
		return place{ID: azurefake.DefaultAccount, Secret: key}, nil
	}, err
}

func newAzureDriver(name string, at place) (driverkit.Driver, error) {
	return azuredriver.New(azuredriver.Options{Config: azuredriver.Config{
		DriverName: name,
		Backends: map[string]azuredriver.BackendConfig{at.ID: {
			Endpoint: at.URL, Credentials: azuredriver.CredentialsConfig{AccountKey: cosi.NewSecret(at.Secret)},
		}},
	}})
}

func newGCSStore() (server, func() (place, error), error) {
	store, err := gcsfake.New(gcsfake.Options{})
	return store, func() (place, error) {
		key, err := store.AdminKey("")
		return place{Project: store.ProjectID(), Key: key}, err
	}, err
}

func newGCSDriver(name string, at place) (driverkit.Driver, error) {
	file := filepath.Join(at.dir, "key.json")
	if err := os.WriteFile(file, at.Key, 0o600); err != nil {
		return nil, fmt.Errorf("write the key file: %w", err)
	}
	return gcsdriver.New(gcsdriver.Options{
		Config: gcsdriver.Config{DriverName: name, Backends: map[string]gcsdriver.BackendConfig{
			"fake": {Project: at.Project, Endpoint: at.URL, CredentialsFile: file},
		}},
		Credentials: credentials.NewMemory(),
	})
}

// serveStore serves a fake store until in is closed, and writes its place to out.
func serveStore(name string, in io.Reader, out io.Writer) error {
	of, known := clouds[name]
	if !known {
		return fmt.Errorf("-cloud=%s is not one of: S3, Azure, GCS", name)
	}
	store, where, err := of.store()
	if err != nil {
		return err
	}
	if err := store.Start(); err != nil {
		return errors.Join(err, store.Close())
	}
	at, err := where()
	at.URL = store.URL()
	if err == nil {
		err = json.NewEncoder(out).Encode(at) //nolint:gosec // the key of a fake, for the parent process
	}
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	return errors.Join(err, store.Close())
}

// startStore starts a process that serves a store, and returns its place.
func startStore(ctx context.Context, dir, program string, arguments ...string) (at place, end func() error, err error) {
	command := exec.CommandContext(context.WithoutCancel(ctx), program, arguments...)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches only the parent
	in, err := command.StdinPipe()
	if err != nil {
		return at, nil, fmt.Errorf("start the store: %w", err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return at, nil, fmt.Errorf("start the store: %w", err)
	}
	if err := command.Start(); err != nil {
		return at, nil, fmt.Errorf("start the store: %w", err)
	}
	end = func() error { return errors.Join(in.Close(), command.Wait()) }
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		return at, nil, errors.Join(fmt.Errorf("start the store: %w", err), end())
	}
	at.dir = dir
	return at, end, nil
}
