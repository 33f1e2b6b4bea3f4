// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	iam "google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// TestKeys uses the granted credentials with Google's client and an S3 client, like users.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket, other := w.NewBucket(t, nil), w.NewBucket(t, nil)
	before := w.google.Inventory()
	request := with(grantRequest(drivertest.NewAccount(), readWrite, bucket), "credentials", "both")
	granted := w.MustGrant(t, request)
	if again := w.MustGrant(t, request); !proto.Equal(granted, again) {
		t.Error("a repeated grant returns something else")
	}
	official, s3 := jsonClient(t, w.google, granted), hmacClient(t, w.google, granted)
	for name, err := range map[string]error{
		"put": put(t.Context(), official, bucket, "a"), "get": get(t.Context(), official, bucket, "a"),
		"S3 put": s3Put(t, s3, bucket, "b"), "S3 get": s3Get(t, s3, bucket, "b"), "S3 list": s3List(t, s3, bucket),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found, err := s3.BucketExists(t.Context(), bucket); err != nil || !found {
		t.Errorf("the S3 client does not find the bucket: %v", err)
	}
	if got := httpStatus(put(t.Context(), official, other, "a")); got != 403 {
		t.Errorf("another bucket: status %d", got)
	}
	for range 2 {
		if err := w.Revoke(t, request); err != nil {
			t.Fatal(err)
		}
	}
	if got := httpStatus(get(t.Context(), official, bucket, "a")); got != 401 && got != 403 {
		t.Errorf("after revoke, with a token from before: status %d", got)
	}
	if got := httpStatus(get(t.Context(), jsonClient(t, w.google, granted), bucket, "a")); got == 0 {
		t.Error("after revoke the key still works")
	}
	if err := s3Get(t, s3, bucket, "b"); err == nil {
		t.Error("after revoke the HMAC pair still works")
	}
	after := w.google.Inventory()
	for i := range after.Buckets {
		before.Buckets[i].Objects, before.Buckets[i].Live = after.Buckets[i].Objects, after.Buckets[i].Live
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("revoke leaves something (-before +after)\n%s", diff)
	}
}

func TestCredentialsAreWhatTheClassAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket := w.NewBucket(t, nil)
	for kind, want := range map[string]struct{ hmac, json bool }{"hmac": {true, false}, "json": {false, true}, "both": {true, true}} {
		given := w.MustGrant(t, with(grantRequest(drivertest.NewAccount(), readOnly, bucket), "credentials", kind)).GetCredentials().GetGcs()
		hmac := given.GetAccessId() != "" && given.GetAccessSecret() != ""
		key := given.GetClientEmail() != "" && given.GetClientId() != "" && given.GetPrivateKeyName() != "" && given.GetPrivateKey() != ""
		if hmac != want.hmac || key != want.json {
			t.Errorf("%s: HMAC %t, JSON %t", kind, hmac, key)
		}
	}
}

// TestAKeyThatCannotBeDeliveredIsNotMade asks for service account keys by v1alpha1, which delivers key pairs alone.
func TestAKeyThatCannotBeDeliveredIsNotMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{serve: driverkit.Options{V1Alpha1: true}})
	bucket := w.NewBucket(t, nil)
	before := len(w.google.Inventory().Accounts)
	client := v1alpha1.NewProvisionerClient(w.Conn)
	for _, credentials := range []string{"json", "both"} {
		_, err := client.DriverGrantBucketAccess(t.Context(), &v1alpha1.DriverGrantBucketAccessRequest{
			BucketId: bucket, Name: drivertest.NewAccount(), AuthenticationType: v1alpha1.AuthenticationType_Key, Parameters: map[string]string{"credentials": credentials},
		})
		drivertest.WantCode(t, err, codes.InvalidArgument, "parameter credentials is", "HMAC keys")
	}
	if made := len(w.google.Inventory().Accounts) - before; made != 0 {
		t.Errorf("%d accounts are left of refused grants", made)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket := w.NewBucket(t, nil)
	if err := put(t.Context(), w.google.root(t), bucket, "there"); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		modes                        drivertest.Modes
		read, list, write, overwrite bool
	}{
		"reading": {readOnly, true, true, false, false},
		"writing": {writeOnly, false, false, true, false},
		"both":    {readWrite, true, true, true, true},
	} {
		s3 := hmacClient(t, w.google, w.MustGrant(t, grantRequest(drivertest.NewAccount(), test.modes, bucket)))
		for action, one := range map[string]struct {
			err     error
			allowed bool
		}{
			"read":      {s3Get(t, s3, bucket, "there"), test.read},
			"list":      {s3List(t, s3, bucket), test.list},
			"write":     {s3Put(t, s3, bucket, "new-"+name), test.write},
			"overwrite": {s3Put(t, s3, bucket, "there"), test.overwrite},
		} {
			if (one.err == nil) != one.allowed {
				t.Errorf("%s: %s: %v", name, action, one.err)
			}
		}
	}
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), drivertest.Modes{Data: cosi.AccessMode_WRITE_ONLY, ObjectMetadata: cosi.AccessMode_READ_ONLY}, bucket))
	drivertest.WantCode(t, err, codes.InvalidArgument, "cannot be read without object data")
}

func bindings(on google, bucket string) []string {
	for _, one := range on.Inventory().Buckets {
		if one.Name == bucket {
			return one.Bindings
		}
	}
	return nil
}

// TestForeignConditionsSurvive checks that edits preserve the changes of an administrator.
func TestForeignConditionsSurvive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket := w.NewBucket(t, nil)
	email, err := w.google.NewAccount("", "administrators-own")
	if err != nil {
		t.Fatal(err)
	}
	addConditional(t, w.google, bucket, "roles/storage.objectViewer", "serviceAccount:"+email)
	before := bindings(w.google, bucket)
	request := grantRequest(drivertest.NewAccount(), readOnly, bucket)
	w.MustGrant(t, request)
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
	if diff := cmp.Diff(before, bindings(w.google, bucket)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

// TestLostStore checks that the keys of an account that belongs to another store remain valid.
func TestLostStore(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{})
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	granted := w.MustGrant(t, request)
	stranger := newWorld(t, on, worldOptions{})
	_, err := stranger.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.FailedPrecondition, "credential store lost", "gcloud iam service-accounts update")
	drivertest.WantCode(t, stranger.Revoke(t, request), codes.FailedPrecondition, "credential store lost")
	if err := s3Put(t, hmacClient(t, on, granted), bucket, "key"); err != nil {
		t.Errorf("the delivered key no longer works: %v", err)
	}
	elsewhere := newWorld(t, on, worldOptions{store: w.store, config: func(c *gcsdriver.Config) { c.DriverName = "other.example.com" }})
	_, err = elsewhere.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change it")
}

// TestAccountIsGone revokes an access whose service account an administrator deleted.
func TestAccountIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket := w.NewBucket(t, nil)
	before := bindings(w.google, bucket)
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	w.MustGrant(t, request)
	removeAccount(t, w.google, w.google.Inventory().Accounts[0].Email)
	if text := strings.Join(bindings(w.google, bucket), "\n"); !strings.Contains(text, "deleted:serviceAccount:ba-") {
		t.Fatalf("the bindings are\n%s", text)
	}
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
	if diff := cmp.Diff(before, bindings(w.google, bucket)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

func TestDescriptionTellsWhoseTheAccountIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	request := grantRequest(drivertest.NewAccount(), readOnly, w.NewBucket(t, nil))
	w.MustGrant(t, request)
	account := w.google.Inventory().Accounts[0]
	name, _, _ := strings.Cut(account.Email, "@")
	text, err := json.Marshal(account)
	if err != nil {
		t.Fatal(err)
	}
	if len(name) != 29 || !strings.HasPrefix(account.Description, "cosi:"+request.GetAccountId()+";") || !strings.HasSuffix(account.Description, ";gcs.cooper.dev") {
		t.Errorf("the account is %s", text)
	}
}

// addConditional adds a binding to a bucket's policy as an administrator would.
func addConditional(t *testing.T, on google, bucket, role, member string) {
	t.Helper()
	api, err := storage.NewService(t.Context(), option.WithEndpoint(on.URL()+"/storage/v1/"), on.administrator(t))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := api.Buckets.GetIamPolicy(bucket).OptionsRequestedPolicyVersion(3).Context(t.Context()).Do()
	if err != nil {
		t.Fatal(err)
	}
	policy.Version = 3
	policy.Bindings = append(policy.Bindings, &storage.PolicyBindings{Role: role, Members: []string{member}, Condition: &storage.Expr{
		Title: "office hours", Description: "by hand", Expression: `request.time < timestamp("2100-01-01T00:00:00Z")`,
	}})
	if _, err := api.Buckets.SetIamPolicy(bucket, policy).Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
}

// removeAccount deletes a service account as an administrator would.
func removeAccount(t *testing.T, on google, email string) {
	t.Helper()
	api, err := iam.NewService(t.Context(), option.WithEndpoint(on.URL()+"/"), on.administrator(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Projects.ServiceAccounts.Delete("projects/-/serviceAccounts/" + email).Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
}
