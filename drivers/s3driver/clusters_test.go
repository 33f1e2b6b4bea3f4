// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// The clusters of one AWS account and their names in EKS.
const (
	blue  = "blue"
	green = "green"
)

// oneAccount is a store that two clusters use.
func oneAccount(t *testing.T) (target, *s3fake.Server) {
	t.Helper()
	return startFake(t, s3fake.Options{Clusters: map[string]string{blue: "https://oidc.example.com/blue", green: "https://oidc.example.com/green"}})
}

// inCluster returns a driver in the EKS cluster with that name, with its mark on the resources that it creates.
func inCluster(t *testing.T, on target, eks, mark string) *world {
	t.Helper()
	on.backend.IAM.ServiceAccounts = s3driver.ServiceAccountsConfig{EKSCluster: eks}
	return newWorld(t, on, worldOptions{config: func(c *s3driver.Config) { c.Cluster = mark }})
}

// TestTwoClustersInOneAccount does everything in both clusters, for the same namespace and service account, and then
// revokes one of each.
func TestTwoClustersInOneAccount(t *testing.T) {
	t.Parallel()
	on, server := oneAccount(t)
	type life struct {
		*world

		bucket, account, asPod string
		key                    *cosi.DriverGrantBucketAccessResponse
	}
	shop := pod{namespace: "ns", account: "sa"}
	lives := map[string]life{}
	for _, name := range []string{blue, green} {
		one := life{world: inCluster(t, on, name, name), account: drivertest.NewAccount(), asPod: drivertest.NewAccount()}
		one.bucket = one.NewBucket(t, nil)
		one.key = one.MustGrant(t, grantRequest(one.account, readWrite, one.bucket))
		one.MustGrant(t, shop.grantRequest(one.asPod, readWrite, one.bucket))
		lives[name] = one
	}
	whole := server.Inventory()
	if len(whole.Roles) != 2 || len(whole.Associations) != 2 || len(whole.Users) != 2 {
		t.Fatalf("roles %v, associations %v, users %v, want two of each", whole.Roles, whole.Associations, whole.Users)
	}
	for _, role := range whole.Roles {
		own, other := lives[blue].bucket, lives[green].bucket
		if strings.HasPrefix(role.Name, green) {
			own, other = other, own
		}
		if document := text(t, role.Inline); !strings.Contains(document, own) || strings.Contains(document, other) {
			t.Errorf("role %s has the policies %s, want only %s in them", role.Name, document, own)
		}
	}
	if code := apiCode(t, putObject(t, workload(t, lives[blue].key), lives[green].bucket, "key")); code != "AccessDenied" {
		t.Errorf("a key of one cluster in a bucket of the other: %q", code)
	}

	gone, left := lives[blue], lives[green]
	mustSucceed(t, shop.revoke(t, gone.world, gone.asPod, gone.bucket))
	mustSucceed(t, gone.revoke(t, gone.account, gone.bucket))
	mustSucceed(t, gone.Delete(t, gone.bucket, nil))
	mustSucceed(t, putObject(t, workload(t, left.key), left.bucket, "key"))
	rest := server.Inventory()
	if len(rest.Roles) != 1 || !strings.HasPrefix(rest.Roles[0].Name, green) || len(rest.Associations) != 1 || len(rest.Users) != 1 {
		t.Errorf("left are roles %v, associations %v, users %v, want those of one cluster", rest.Roles, rest.Associations, rest.Users)
	}
}

// testClone has a cluster with the same UIDs and therefore the same IDs. Neither changes the other's resources.
func testClone(t *testing.T, on target) {
	first := newWorld(t, on, worldOptions{config: func(c *s3driver.Config) { c.Cluster = blue }})
	clone := newWorld(t, on, worldOptions{config: func(c *s3driver.Config) { c.Cluster = green }})
	bucket, account := first.NewBucket(t, nil), drivertest.NewAccount()
	key := first.MustGrant(t, grantRequest(account, readWrite, bucket))

	_, err := clone.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket})
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change it")
	if _, err := clone.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket)); err == nil {
		t.Error("the clone is granted the account of the other cluster")
	}
	if err := clone.revoke(t, account, bucket); err == nil {
		t.Error("the clone revokes the account of the other cluster")
	}
	drivertest.WantCode(t, clone.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}), codes.FailedPrecondition, "mark")
	mustSucceed(t, putObject(t, workload(t, key), bucket, "key"))
	first.MustGrant(t, grantRequest(account, readWrite, bucket))
}

// TestServiceAccountOfAClone has a service account that is already associated with the role of the first cluster; EKS
// allows only one association.
func TestServiceAccountOfAClone(t *testing.T) {
	t.Parallel()
	on, server := oneAccount(t)
	first, clone := inCluster(t, on, blue, blue), inCluster(t, on, blue, green)
	bucket, asPod := first.NewBucket(t, nil), drivertest.NewAccount()
	shop := pod{namespace: "ns", account: "sa"}
	first.MustGrant(t, shop.grantRequest(asPod, readWrite, bucket))
	before := server.Inventory()
	_, err := clone.DriverGrantBucketAccess(t.Context(), shop.grantRequest(asPod, readWrite, bucket))
	drivertest.WantCode(t, err, codes.AlreadyExists, "allows only one")
	mustSucceed(t, shop.revoke(t, clone, asPod, bucket))
	if after := server.Inventory(); text(t, before) != text(t, after) {
		t.Errorf("the clone made %s of %s", text(t, after), text(t, before))
	}
}

// TestRolesOfAnotherCluster checks that roles with the same mark are neither used, changed nor removed. Changing
// their trust would give the pods of one cluster access to the buckets of the other.
func TestRolesOfAnotherCluster(t *testing.T) {
	t.Parallel()
	on, server := oneAccount(t)
	production, development := inCluster(t, on, blue, "main"), inCluster(t, on, green, "main")
	secret, other := production.NewBucket(t, nil), development.NewBucket(t, nil)
	shop, asPod := pod{namespace: "ns", account: "sa"}, drivertest.NewAccount()
	production.MustGrant(t, shop.grantRequest(asPod, readWrite, secret))
	before := server.Inventory()

	stolen := drivertest.NewAccount()
	_, err := development.DriverGrantBucketAccess(t.Context(), shop.grantRequest(stolen, readWrite, other))
	drivertest.WantCode(t, err, codes.AlreadyExists, "another cluster", "rolePrefix")
	drivertest.WantCode(t, shop.revoke(t, development, stolen, other), codes.FailedPrecondition, "another cluster")
	drivertest.WantCode(t, shop.revoke(t, development, asPod, secret), codes.FailedPrecondition, "another cluster")
	if after := server.Inventory(); text(t, before.Roles) != text(t, after.Roles) || len(after.Associations) != 1 {
		t.Errorf("the other cluster left %s and associations %v of %s", text(t, after.Roles), after.Associations, text(t, before.Roles))
	}
	production.MustGrant(t, shop.grantRequest(asPod, readWrite, secret))
}

// text returns a value in a form that is equal for equal values.
func text(t *testing.T, value any) string {
	t.Helper()
	written, err := json.Marshal(value)
	mustSucceed(t, err)
	return string(written)
}
