// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"net/http"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// without takes calls away from a store, as compatible ones lack them.
func without(t *testing.T, server *s3fake.Server, operations ...string) {
	t.Helper()
	for _, operation := range operations {
		mustSucceed(t, server.Faults.Add(fault.Rule{Operation: operation, Code: "InvalidAction", Status: http.StatusBadRequest}))
	}
}

// TestRevokeWithoutSomeCalls takes it for "none" that a store cannot list what only its administrator
// may have added.
func TestRevokeWithoutSomeCalls(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Clusters: map[string]string{eksCluster: "https://oidc.example.com/id"}})
	on.backend.IAM.ServiceAccounts.EKSCluster = eksCluster
	without(t, server, "iam:ListAttachedUserPolicies", "iam:ListPolicies", "iam:ListAttachedRolePolicies") // it has no groups anyway
	w := newWorld(t, on, worldOptions{})
	bucket, withKey, asPod := w.newBucket(t, nil), newAccount(), newAccount()
	shop := pod{namespace: "ns", account: "sa"}
	w.mustGrant(t, grantRequest(withKey, readWrite, bucket))
	w.mustGrant(t, shop.grantRequest(asPod, readWrite, bucket))
	mustSucceed(t, w.revoke(t, withKey, bucket))
	mustSucceed(t, shop.revoke(t, w, asPod, bucket))
	if left := server.Inventory(); len(left.Users)+len(left.Roles)+len(left.Associations) != 0 {
		t.Errorf("left are users %v, roles %v, associations %v", left.Users, left.Roles, left.Associations)
	}
}

// TestPolicyTooLargeForTheStore is refused for good by a store without managed policies.
func TestPolicyTooLargeForTheStore(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	without(t, server, "iam:CreatePolicy")
	w := newWorld(t, on, worldOptions{})
	var buckets []string
	for range 16 {
		buckets = append(buckets, w.newBucket(t, nil))
	}
	account := newAccount()
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, buckets...))
	wantCode(t, err, codes.InvalidArgument)
	for _, user := range server.Inventory().Users {
		if len(user.Keys)+len(user.Inline) > 0 {
			t.Errorf("the refused access has keys or rights: %+v", user)
		}
	}
	mustSucceed(t, w.revoke(t, account, buckets...))
	if left := server.Inventory().Users; len(left) != 0 {
		t.Errorf("left are users %v", left)
	}
	granted, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(newAccount(), mode{data: cosi.AccessMode_READ_WRITE}, buckets[:15]...))
	if err != nil {
		t.Fatalf("15 buckets: %v", err)
	}
	mustSucceed(t, putObject(t, workload(t, granted), granted.GetBuckets()[0].GetBucketId(), "key"))
}
