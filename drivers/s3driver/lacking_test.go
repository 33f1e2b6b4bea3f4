// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
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
	without(t, server, "iam:ListAttachedUserPolicies", "iam:ListPolicies", "iam:ListAttachedRolePolicies", "iam:ListGroupsForUser")
	w := newWorld(t, on, worldOptions{})
	bucket, withKey, asPod := w.NewBucket(t, nil), drivertest.NewAccount(), drivertest.NewAccount()
	shop := pod{namespace: "ns", account: "sa"}
	w.MustGrant(t, grantRequest(withKey, readWrite, bucket))
	w.MustGrant(t, shop.grantRequest(asPod, readWrite, bucket))
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
		buckets = append(buckets, w.NewBucket(t, nil))
	}
	account := drivertest.NewAccount()
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, buckets...))
	drivertest.WantCode(t, err, codes.InvalidArgument)
	for _, user := range server.Inventory().Users {
		if len(user.Keys)+len(user.Inline) > 0 {
			t.Errorf("the refused access has keys or rights: %+v", user)
		}
	}
	mustSucceed(t, w.revoke(t, account, buckets...))
	if left := server.Inventory().Users; len(left) != 0 {
		t.Errorf("left are users %v", left)
	}
	granted, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), drivertest.Modes{Data: cosi.AccessMode_READ_WRITE}, buckets[:15]...))
	if err != nil {
		t.Fatalf("15 buckets: %v", err)
	}
	mustSucceed(t, putObject(t, workload(t, granted), granted.GetBuckets()[0].GetBucketId(), "key"))
}

// TestRevokeLeavesGroups takes a user out of the groups that an administrator put it into: it could not be deleted.
func TestRevokeLeavesGroups(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	w.MustGrant(t, grantRequest(account, readWrite, bucket))
	admin := iam.New(iam.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	group, user := aws.String("auditors"), aws.String(server.Inventory().Users[0].Name)
	if _, err := admin.CreateGroup(t.Context(), &iam.CreateGroupInput{GroupName: group}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.AddUserToGroup(t.Context(), &iam.AddUserToGroupInput{GroupName: group, UserName: user}); err != nil {
		t.Fatal(err)
	}
	mustSucceed(t, w.revoke(t, account, bucket))
	if left := server.Inventory(); len(left.Users) != 0 || len(left.Groups) != 1 {
		t.Errorf("left are users %v and groups %v, want the group alone", left.Users, left.Groups)
	}
}
