// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// least makes a user with exactly the policy that the documentation asks for, and returns its key.
func least(t *testing.T, on target) s3driver.CredentialsConfig {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "howto", "s3-driver-policy.json"))
	if err != nil {
		t.Fatal(err)
	}
	var short bytes.Buffer
	if err := json.Compact(&short, text); err != nil {
		t.Fatal(err)
	}
	admin := iam.New(iam.Options{BaseEndpoint: aws.String(on.backend.Endpoint), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	user := aws.String("driver")
	if _, err := admin.CreateUser(t.Context(), &iam.CreateUserInput{UserName: user}); err != nil {
		t.Fatal(err)
	}
	made, err := admin.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: user, PolicyDocument: aws.String(short.String())})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.AttachUserPolicy(t.Context(), &iam.AttachUserPolicyInput{UserName: user, PolicyArn: made.Policy.Arn}); err != nil {
		t.Fatal(err)
	}
	key, err := admin.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: user})
	if err != nil {
		t.Fatal(err)
	}
	return s3driver.CredentialsConfig{AccessKeyID: *key.AccessKey.AccessKeyId, SecretAccessKey: cosi.NewSecret(*key.AccessKey.SecretAccessKey)}
}

// TestRightsOfTheDriver has the documented policy suffice for everything that the driver does, and for
// no user of somebody else.
func TestRightsOfTheDriver(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Clusters: map[string]string{eksCluster: "https://oidc.example.com/id"}})
	on.backend.AccountID, on.backend.IAM.ServiceAccounts.EKSCluster = "000000000000", eksCluster
	on.backend.Credentials = least(t, on)
	before := server.Inventory()
	w := newWorld(t, on, worldOptions{})
	everything := map[string]string{
		"objectLock": "true", "objectLockMode": "GOVERNANCE", "objectLockDays": "1", "tags": `{"a":"b"}`, "encryption": "SSE-S3",
		"lifecycle": oneRule, "cors": oneOrigin,
	}
	locked := w.NewBucket(t, everything)
	if _, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: locked, Parameters: everything}); err != nil {
		t.Error(err)
	}
	parameters := map[string]string{"versioning": "true", "deleteNonEmpty": "true"}
	var buckets []string
	for range 16 {
		buckets = append(buckets, w.NewBucket(t, parameters))
	}
	account, large, asPod := drivertest.NewAccount(), drivertest.NewAccount(), drivertest.NewAccount()
	rotated := grantRequest(account, readWrite, buckets[0])
	for _, rotation := range []string{"", "1", "2"} {
		rotated.Rotation = rotation
		mustSucceed(t, putObject(t, workload(t, w.MustGrant(t, rotated)), buckets[0], "key"))
	}
	for range 2 {
		w.MustGrant(t, grantRequest(large, readWrite, buckets...))
	}
	shop := pod{namespace: "ns", account: "sa"}
	w.MustGrant(t, shop.grantRequest(asPod, readWrite, buckets[0]))

	mustSucceed(t, shop.revoke(t, w, asPod, buckets[0]))
	mustSucceed(t, w.revoke(t, large, buckets...))
	mustSucceed(t, w.revoke(t, account, buckets[0]))
	for _, bucket := range buckets {
		mustSucceed(t, w.Delete(t, bucket, parameters))
	}
	mustSucceed(t, w.Delete(t, locked, everything))
	if left := server.Inventory(); len(left.Users) != len(before.Users) || len(left.Buckets)+len(left.Roles)+len(left.Associations) != 0 {
		t.Errorf("left are users %v, buckets %v, roles %v", left.Users, left.Buckets, left.Roles)
	}

	own := iam.New(iam.Options{
		BaseEndpoint: aws.String(server.URL()), Region: "us-east-1",
		Credentials: fixedCredentials(on.backend.Credentials.AccessKeyID, on.backend.Credentials.SecretAccessKey.Reveal()),
	})
	_, err := own.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: aws.String("driver")})
	if code := apiCode(t, err); code != "AccessDenied" {
		t.Errorf("a key of a user that is not the driver's: %q", code)
	}
}
