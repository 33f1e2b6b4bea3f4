// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/e2e/containers"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv/stores"
	"github.com/cooper-cosi/cooper/testenv/stores/storestest"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/cloudstest"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// inProcess returns a system in this process, apart from the API server.
func inProcess(t *testing.T) *world {
	t.Helper()
	s3 := faketest.Start(t, s3fake.New, s3fake.Options{})
	azure := faketest.Start(t, azurefake.New, azurefake.Options{})
	gcs := faketest.Start(t, gcsfake.New, gcsfake.Options{})
	s := systemtest.Start(t, system.Options{Drivers: []system.Driver{
		cloudstest.S3(t, s3, credstore.NewMemory()), cloudstest.Azure(t, azure), cloudstest.GCS(t, gcs),
	}})
	return &world{client: s.Client(), namespace: s.Namespace, gcs: gcs.URL(), restart: func(t *testing.T, part string, c cloud) {
		t.Helper()
		s.Restart(map[string]*system.Component{"controller": s.Controller(), "sidecar": s.Sidecar(c.driver), "driver": s.Driver(c.driver)}[part])
	}}
}

// inProcessOnCeph returns a system in this process with the driver of one cloud and a Ceph.
func inProcessOnCeph(t *testing.T) *world {
	t.Helper()
	fulltest.Only(t, "the same in process, on a Ceph")
	ceph, user := cephWithUser(t)
	driver, err := s3driver.New(s3driver.Options{
		Config: s3driver.Config{DriverName: containers.S3DriverName, Backends: map[string]s3driver.BackendConfig{"main": {
			Type: s3driver.TypeRGW, Endpoint: ceph.URL(),
			Credentials: s3driver.CredentialsConfig{AccessKeyID: user.AccessKey, SecretAccessKey: cosi.NewSecret(user.SecretKey)},
		}}},
		Credentials: credstore.NewMemory(),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := systemtest.Start(t, system.Options{Drivers: []system.Driver{cloudstest.Served(containers.S3DriverName, driver)}})
	return &world{client: s.Client(), namespace: s.Namespace, clouds: clouds()[:1], restart: func(t *testing.T, part string, c cloud) {
		t.Helper()
		s.Restart(map[string]*system.Component{"controller": s.Controller(), "sidecar": s.Sidecar(c.driver), "driver": s.Driver(c.driver)}[part])
	}}
}

// cephWithUser starts a Ceph with a user, in a tenant, for the driver.
func cephWithUser(t *testing.T) (*stores.Ceph, stores.CephUser) {
	t.Helper()
	ceph := storestest.Ceph(t, stores.CephOptions{})
	user, err := ceph.MakeUser(t.Context(), "team$cosi", "users=*;user-policy=*")
	if err != nil {
		t.Fatal(err)
	}
	return ceph, user
}

// containersOnFakes returns a system in containers with Cooper's fakes in containers.
func containersOnFakes(t *testing.T) *world {
	t.Helper()
	fulltest.Only(t, "the same in containers")
	fulltest.Alone(t, "containers")
	network := containers.NewNetwork(t)
	gcs := containers.FakeGCS(t, network)
	w := inContainers(t, network, containers.FakeS3(t, network).Driver(), containers.FakeAzure(t, network).Driver(), gcs.Driver())
	w.gcs = gcs.URL()
	return w
}

// containersOnRealStores returns a system in containers with third-party stores.
func containersOnRealStores(t *testing.T) *world {
	t.Helper()
	fulltest.Only(t, "the same in containers, on stores of others")
	containers.Require(t, containers.MinIOImage(), containers.AzuriteImage(), containers.FakeGCSServerImage())
	fulltest.Alone(t, "containers")
	network := containers.NewNetwork(t)
	w := inContainers(t, network, containers.MinIO(t, network).Driver(), containers.Azurite(t, network).Driver(), containers.FakeGCSServer(t, network).Driver())
	w.open = true
	return w
}

func inContainers(t *testing.T, on *containers.Network, drivers ...containers.Driver) *world {
	t.Helper()
	s := containers.StartSystem(t, on, drivers...)
	return &world{client: s.Client(), restart: func(t *testing.T, part string, c cloud) {
		t.Helper()
		s.Restart(map[string]*containers.Container{"controller": s.Controller, "sidecar": s.Sidecars[c.driver], "driver": s.Drivers[c.driver]}[part])
	}}
}
