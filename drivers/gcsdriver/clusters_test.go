// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"testing"

	"cloud.google.com/go/storage"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// inCluster is a driver of the cluster of that name, with its mark and its workload identity pool.
func inCluster(t *testing.T, on google, name string) *world {
	t.Helper()
	return newWorld(t, on, worldOptions{config: func(c *gcsdriver.Config) {
		main := c.Backends["main"]
		main.WorkloadIdentity.Pool = "projects/" + on.ProjectNumber("") + "/locations/global/workloadIdentityPools/" + name
		c.Cluster, c.Backends["main"] = name, main
	}})
}

func twoPools(t *testing.T) google {
	t.Helper()
	return startGoogle(t, gcsfake.Options{Pools: []gcsfake.Pool{
		{ID: "blue-pool", Issuer: "https://oidc.example.com/blue"}, {ID: "green-pool", Issuer: "https://oidc.example.com/green"},
	}})
}

// TestTwoClustersInOneProject does everything twice, for the same namespace and service account, and takes one of each
// away. A bucket that both import has the bindings of both.
func TestTwoClustersInOneProject(t *testing.T) {
	t.Parallel()
	on := twoPools(t)
	const shared = "made-by-hand"
	mustSucceed(t, on.root(t).Bucket(shared).Create(t.Context(), on.ProjectID(), &storage.BucketAttrs{UniformBucketLevelAccess: storage.UniformBucketLevelAccess{Enabled: true}}))
	type life struct {
		*world

		bucket       string
		asKey, asPod *cosi.DriverGrantBucketAccessRequest
		key          *cosi.DriverGrantBucketAccessResponse
	}
	start := func(name string) life {
		one := life{world: inCluster(t, on, name)}
		one.bucket = one.NewBucket(t, nil)
		one.asKey = grantRequest(drivertest.NewAccount(), readWrite, one.bucket, shared)
		one.key = one.MustGrant(t, one.asKey)
		one.asPod = as(grantRequest(drivertest.NewAccount(), readWrite, one.bucket, shared), "shop", "web")
		one.MustGrant(t, one.asPod)
		return one
	}
	left := start("green-pool")
	alone := bindings(on, shared)
	gone := start("blue-pool")
	if err := s3Put(t, hmacClient(t, on, gone.key), left.bucket, "key"); err == nil {
		t.Error("a key of one cluster writes to a bucket of the other")
	}

	drivertest.WantCode(t, gone.Revoke(t, gone.asPod), codes.OK)
	drivertest.WantCode(t, gone.Revoke(t, gone.asKey), codes.OK)
	drivertest.WantCode(t, gone.Delete(t, gone.bucket, nil), codes.OK)
	if diff := cmp.Diff(alone, bindings(on, shared)); diff != "" {
		t.Errorf("bindings of the other cluster (-before +after):\n%s", diff)
	}
	for _, bucket := range []string{left.bucket, shared} {
		if err := s3Put(t, hmacClient(t, on, left.key), bucket, "key"); err != nil {
			t.Errorf("the other cluster's key in %s: %v", bucket, err)
		}
	}
}

// TestClusterAndItsClone has two clusters with the same UIDs and therefore the same IDs. Neither changes the other's
// resources.
func TestClusterAndItsClone(t *testing.T) {
	t.Parallel()
	on := twoPools(t)
	first, clone := inCluster(t, on, "blue-pool"), inCluster(t, on, "green-pool")
	bucket := first.NewBucket(t, nil)
	asKey, asPod := grantRequest(drivertest.NewAccount(), readWrite, bucket), as(grantRequest(drivertest.NewAccount(), readWrite, bucket), "shop", "web")
	key := first.MustGrant(t, asKey)
	first.MustGrant(t, asPod)
	before := on.Inventory()

	drivertest.WantCode(t, clone.Create(t, bucket, nil), codes.AlreadyExists, "does not change it")
	_, err := clone.DriverGrantBucketAccess(t.Context(), asKey)
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change it")
	drivertest.WantCode(t, clone.Revoke(t, asKey), codes.FailedPrecondition, "mark")
	drivertest.WantCode(t, clone.Revoke(t, asPod), codes.OK)
	drivertest.WantCode(t, clone.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}), codes.FailedPrecondition, "mark")
	if diff := cmp.Diff(before, on.Inventory()); diff != "" {
		t.Errorf("objects of the first cluster (-before +after):\n%s", diff)
	}
	if err := s3Put(t, hmacClient(t, on, key), bucket, "key"); err != nil {
		t.Error(err)
	}
}
