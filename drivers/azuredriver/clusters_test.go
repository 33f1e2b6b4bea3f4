// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// inCluster is a driver of the cluster of that name, with its mark and its issuer of tokens.
func (f *federation) inCluster(t *testing.T, name string) *world {
	t.Helper()
	return f.process(t, func(c *azuredriver.Config) {
		c.Cluster, c.ServiceAccounts.Issuer = name, "https://oidc.example.com/"+name
	})
}

// TestTwoClustersInOneStorageAccount does everything twice, for the same namespace and service account, and takes one of
// each away.
func TestTwoClustersInOneStorageAccount(t *testing.T) {
	t.Parallel()
	f := startFederation(t, azurefake.Options{}, "https://oidc.example.com/blue")
	type life struct {
		*world

		bucket, account string
		asPod           *cosi.DriverGrantBucketAccessRequest
		token           *cosi.DriverGrantBucketAccessResponse
	}
	start := func(name string) life {
		one := life{world: f.inCluster(t, name), account: drivertest.NewAccount()}
		one.bucket = one.NewBucket(t, nil)
		one.token = one.MustGrant(t, grantRequest(one.account, readWrite, one.bucket))
		one.asPod = as(grantRequest(drivertest.NewAccount(), readWrite, one.bucket), "shop", "web")
		one.MustGrant(t, one.asPod)
		return one
	}
	left := start("green")
	alone := inventory(t, f.server)
	gone := start("blue")
	wantNoError(t, gone.revokeAs(t, gone.asPod))
	gone.mustRevoke(t, gone.account, gone.bucket)
	wantNoError(t, gone.Delete(t, gone.bucket, nil))
	if diff := cmp.Diff(alone, inventory(t, f.server)); diff != "" {
		t.Errorf("objects of the other cluster (-before +after):\n%s", diff)
	}
	wantNoError(t, upload(t.Context(), (&keyless{trusted: f.trusted}).workload(t, token(left.token)), "blob"))
}

// TestClusterAndItsClone has two clusters with the same UIDs and therefore the same IDs. Neither changes the other's
// resources.
func TestClusterAndItsClone(t *testing.T) {
	t.Parallel()
	f := startFederation(t, azurefake.Options{}, "https://oidc.example.com/blue")
	first, clone := f.inCluster(t, "blue"), f.inCluster(t, "green")
	bucket, account := first.NewBucket(t, nil), drivertest.NewAccount()
	asKey, asPod := grantRequest(account, readWrite, bucket), as(grantRequest(drivertest.NewAccount(), readWrite, bucket), "shop", "web")
	first.MustGrant(t, asKey)
	first.MustGrant(t, asPod)
	before := inventory(t, f.server)

	_, err := clone.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket})
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change it")
	_, err = clone.DriverGrantBucketAccess(t.Context(), asKey)
	drivertest.WantCode(t, err, codes.AlreadyExists, "another cluster")
	_, err = clone.DriverGrantBucketAccess(t.Context(), asPod)
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change it")
	drivertest.WantCode(t, clone.revoke(t, account, bucket), codes.FailedPrecondition, "another cluster")
	wantNoError(t, clone.revokeAs(t, asPod))
	drivertest.WantCode(t, clone.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}), codes.FailedPrecondition, "mark")
	if diff := cmp.Diff(before, inventory(t, f.server)); diff != "" {
		t.Errorf("objects of the first cluster (-before +after):\n%s", diff)
	}
	first.mustRevoke(t, account, bucket)
}
