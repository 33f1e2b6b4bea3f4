// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestBackendsInUse changes the configuration of a driver that has a bucket and an account at the backend lab in
// addition to the default one.
func TestBackendsInUse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*s3driver.Config)
		// want is the error of every call, or empty if calls succeed.
		want string
	}{
		"nothing changes":             {func(*s3driver.Config) {}, ""},
		"a backend is added":          {func(c *s3driver.Config) { c.Backends["new"] = c.Backends["main"] }, ""},
		"the used backend is removed": {func(c *s3driver.Config) { delete(c.Backends, "lab") }, `backend "lab" was removed or renamed`},
		"the used backend is renamed": {func(c *s3driver.Config) { c.Backends["lab-2"] = c.Backends["lab"]; delete(c.Backends, "lab") }, `backend "lab" was removed or renamed`},
		"another one is the default":  {func(c *s3driver.Config) { c.DefaultBackend = "lab" }, `set defaultBackend to "main" again`},
		"the default one has a new name": {func(c *s3driver.Config) {
			c.Backends["first"], c.DefaultBackend = c.Backends["main"], "first"
			delete(c.Backends, "main")
		}, `set defaultBackend to "main" again`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, server := startFake(t, s3fake.Options{})
			store := credstore.NewMemory()
			two := func(c *s3driver.Config) {
				c.Backends["lab"], c.DefaultBackend = on.backend, "main"
			}
			w := newWorld(t, on, worldOptions{store: store, config: two})
			bucket, account := w.NewBucket(t, map[string]string{"backend": "lab"}), "lab."+drivertest.NewAccount()
			w.MustGrant(t, grantRequest(account, readWrite, bucket))
			before := server.Inventory()

			config := s3driver.Config{Cluster: eksCluster, Backends: map[string]s3driver.BackendConfig{"main": on.backend}}
			two(&config)
			test.change(&config)
			driver, err := s3driver.New(s3driver.Options{Config: config, Credentials: store})
			mustSucceed(t, err)
			code := codes.OK
			if test.want != "" {
				code = codes.FailedPrecondition
			}
			drivertest.WantCode(t, driver.CheckConfiguration(t.Context()), code, test.want)
			next := newWorld(t, on, worldOptions{store: store, config: func(c *s3driver.Config) { *c = config }})
			_, err = next.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket, Parameters: map[string]string{}})
			drivertest.WantCode(t, err, code, test.want)
			_, err = next.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket})
			drivertest.WantCode(t, err, code, test.want)
			if code != codes.OK {
				_, err = next.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
				drivertest.WantCode(t, err, code, test.want)
			}
			drivertest.WantCode(t, next.revoke(t, account, bucket), code, test.want)
			drivertest.WantCode(t, next.Delete(t, bucket, nil), code, test.want)
			after := server.Inventory()
			if left := len(after.Users) + len(after.Buckets); test.want == "" && left != 0 || test.want != "" && left != len(before.Users)+len(before.Buckets) {
				t.Errorf("left are %d users and buckets", left)
			}
		})
	}
}

// TestBackendRemovedForGood checks that a removed backend does not prevent the deletion of its resources.
func TestBackendRemovedForGood(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{})
	store := credstore.NewMemory()
	w := newWorld(t, on, worldOptions{store: store, config: func(c *s3driver.Config) {
		c.Backends["lab"], c.DefaultBackend = on.backend, "main"
	}})
	bucket := w.NewBucket(t, map[string]string{"backend": "lab"})
	next := newWorld(t, on, worldOptions{store: store, config: func(c *s3driver.Config) { c.RemovedBackends = []string{"lab"} }})
	mustSucceed(t, next.revoke(t, "lab."+drivertest.NewAccount(), bucket))
	mustSucceed(t, next.Delete(t, bucket, nil))
	_, err := next.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "lab.bc-" + uuid.NewString()})
	drivertest.WantCode(t, err, codes.FailedPrecondition, "removedBackends")
	next.NewBucket(t, nil)
}
