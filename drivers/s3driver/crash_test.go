// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// process starts a driver as a new process would, with a sidecar. Without a crash it does not end.
func process(t *testing.T, on target, store credstore.Store, crash *drivertest.Crash) driverkit.Driver {
	t.Helper()
	return drivertest.Settled{Driver: bare(t, on, store, crash)}
}

func bare(t *testing.T, on target, store credstore.Store, crash *drivertest.Crash) driverkit.Driver {
	t.Helper()
	options := s3driver.Options{
		Config:      s3driver.Config{Cluster: eksCluster, Backends: map[string]s3driver.BackendConfig{"main": on.backend}},
		Credentials: store,
	}
	if crash != nil {
		options.Credentials = crash.Store(store)
		options.WrapTransport = crash.Wrap
	}
	driver, err := s3driver.New(options)
	mustSucceed(t, err)
	return driver
}

// scenario is one RPC of the matrix.
type scenario struct {
	// prepare creates the prerequisites of the RPC.
	prepare func(t *testing.T, driver driverkit.Driver, names names)
	// call is the RPC.
	call func(ctx context.Context, driver driverkit.Driver, names names) error
	// verify checks the result and removes everything.
	verify func(t *testing.T, run *run)
	// needs is a capability that not every store has.
	needs capability
}

// sample is the number of cells of a scenario in the full tier, sampleOfLagging the number of each that are repeated
// with stale reads, sampleOfReal the number on real stores, and all is more than any scenario has.
const (
	sample          = 10
	sampleOfLagging = 2
	sampleOfReal    = 2
	all             = math.MaxInt
)

// capability is a feature that only some stores have.
type capability string

const (
	managedPolicies capability = "managed policies"
	serviceAccounts capability = "service accounts"
	lifecycleRules  capability = "lifecycle rules of buckets"
	readableKeys    capability = "secrets that the store shows again"
)

// names are the names of one cell of the matrix.
type names struct{ bucket, account string }

// run is one cell of the matrix after the RPC has succeeded.
type run struct {
	names

	target target
	store  *credstore.Memory
	driver driverkit.Driver
}

// TestCrashMatrix kills the driver at some calls of every RPC, or at every call in the soak, and lets the next
// process continue.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	scenarios := map[string]scenario{
		"create":       {prepare: nothing, call: callCreate, verify: verifyCreated},
		"change":       {prepare: prepareBucket, call: callChange, verify: verifyChanged, needs: lifecycleRules},
		"get":          {prepare: prepareBucket, call: callGet, verify: verifyCreated},
		"grant":        {prepare: prepareBucket, call: callGrant(""), verify: verifyGranted("")},
		"rotate":       {prepare: prepareGranted, call: callGrant("r1"), verify: verifyRotated},
		"rotate again": {prepare: prepareRotated, call: callGrant("r1"), verify: verifyRotated},
		"revoke":       {prepare: prepareGranted, call: callRevoke, verify: verifyRevoked},
		"delete":       {prepare: prepareBucket, call: callDelete, verify: verifyDeleted},
		"delete data":  {prepare: prepareData, call: callDelete, verify: verifyDeleted},
		"whole revoke": {prepare: prepareRotated, call: callRevoke, verify: verifyRevoked},

		"grant several":  {prepare: prepareMany, call: callGrantMany(several), verify: verifyGrantedMany(several)},
		"revoke several": {prepare: prepareGrantedMany(several), call: callRevoke, verify: verifyRevokedMany},
		"grant managed":  {prepare: prepareMany, call: callGrantMany(managed), verify: verifyGrantedMany(managed), needs: managedPolicies},
		"revoke managed": {prepare: prepareGrantedMany(managed), call: callRevoke, verify: verifyRevokedMany, needs: managedPolicies},

		"grant service account":  {prepare: prepareBucket, call: callGrantIdentity, verify: verifyGrantedIdentity, needs: serviceAccounts},
		"revoke service account": {prepare: prepareIdentity, call: callRevokeIdentity, verify: verifyRevoked, needs: serviceAccounts},
	}
	try := func(t *testing.T, on target) {
		t.Helper()
		for name, scenario := range scenarios {
			if scenario.needs != "" && !slices.Contains(on.can, scenario.needs) {
				continue
			}
			// The cells run sequentially, because each compares the whole inventory.
			t.Run(name, func(t *testing.T) {
				if on.sample == sampleOfLagging && name != "rotate" {
					fulltest.Only(t, "\"rotate\" with each kind of lag")
				}
				runMatrix(t, on, scenario)
			})
		}
	}
	onEveryTarget(t, try)
	for name, rules := range staleReads() {
		t.Run("our fake, "+name, func(t *testing.T) {
			t.Parallel()
			on, server := ourServer(t, s3fake.Options{Past: true})
			on.backend.ReadLag, on.sample = "1ms", sampleOfLagging
			mustSucceed(t, server.Faults.Add(rules...))
			try(t, on)
		})
	}
}

// staleReads returns rules that make each kind of read stale by two calls. This is long enough that the next process
// does not see a killed process's changes, and short enough for the reads that driverkit.Find repeats.
func staleReads() map[string][]fault.Rule {
	rules := map[string][]fault.Rule{}
	for kind, operations := range map[string][]string{
		"with lagging IAM":      {"iam:Get*", "eks:Describe*"},
		"with lagging listings": {"iam:List*", "eks:List*", "ListObject*", "ListMultipart*"},
		"with lagging policies": {"GetBucket*", "HeadBucket"},
	} {
		for _, operation := range operations {
			rules[kind] = append(rules[kind], fault.Rule{Operation: operation, Effect: fault.Stale, Lag: 2})
		}
	}
	return rules
}

func runMatrix(t *testing.T, on target, scenario scenario) {
	t.Helper()
	cells := on.sample
	if cells == 0 {
		cells = sample
	}
	drivertest.CrashMatrix{Sample: cells, Short: 2, Cell: func(t *testing.T, crash *drivertest.Crash) {
		t.Helper()
		runCell(t, on, scenario, crash)
	}}.Run(t)
}

func runCell(t *testing.T, on target, scenario scenario, crash *drivertest.Crash) {
	t.Helper()
	store := credstore.NewMemory()
	before := inventory(t, on, store)
	names := names{bucket: "bc-" + uuid.NewString(), account: drivertest.NewAccount()}
	scenario.prepare(t, process(t, on, store, nil), names)

	if err := scenario.call(crash.Context(t), process(t, on, store, crash), names); err == nil && crash.Dead() {
		t.Error("the killed process returned")
	}
	next := process(t, on, store, nil)
	if err := scenario.call(t.Context(), next, names); err != nil {
		t.Errorf("the next process fails: %v", err)
		return
	}
	scenario.verify(t, &run{names: names, target: on, store: store, driver: next})
	if diff := cmp.Diff(before, inventory(t, on, store)); diff != "" {
		t.Errorf("something is left or missing (-before +after):\n%s", diff)
	}
}

func nothing(*testing.T, driverkit.Driver, names) {}

func prepareBucket(t *testing.T, driver driverkit.Driver, names names) {
	t.Helper()
	mustSucceed(t, callCreate(t.Context(), driver, names))
}

func prepareGranted(t *testing.T, driver driverkit.Driver, names names) {
	t.Helper()
	prepareBucket(t, driver, names)
	mustSucceed(t, callGrant("")(t.Context(), driver, names))
}

func prepareRotated(t *testing.T, driver driverkit.Driver, names names) {
	t.Helper()
	prepareGranted(t, driver, names)
	mustSucceed(t, callGrant("r0")(t.Context(), driver, names))
}

func prepareData(t *testing.T, driver driverkit.Driver, names names) {
	t.Helper()
	prepareGranted(t, driver, names)
	access, err := driver.GrantAccess(t.Context(), grantOf(names, ""))
	mustSucceed(t, err)
	client := clientOf(access, names.bucket)
	for i := range 3 {
		mustSucceed(t, putObject(t, client, names.bucket, fmt.Sprintf("key%d", i)))
	}
	if _, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &names.bucket, Key: &names.account}); err != nil {
		t.Fatal(err)
	}
	mustSucceed(t, callRevoke(t.Context(), driver, names))
}

var crashParameters = driverkit.Values{"versioning": "true", "tags": `{"team":"a"}`, "deleteNonEmpty": "true"}

func callCreate(ctx context.Context, driver driverkit.Driver, names names) error {
	_, err := driver.CreateBucket(ctx, driverkit.CreateBucketRequest{BucketID: names.bucket, Parameters: crashParameters})
	return err
}

func callGet(ctx context.Context, driver driverkit.Driver, names names) error {
	_, err := driver.GetBucket(ctx, driverkit.GetBucketRequest{BucketID: names.bucket, Parameters: driverkit.Values{"versioning": "true"}})
	return err
}

func callDelete(ctx context.Context, driver driverkit.Driver, names names) error {
	return driver.DeleteBucket(ctx, driverkit.DeleteBucketRequest{BucketID: names.bucket, Parameters: crashParameters})
}

func grantOf(names names, rotation string) driverkit.GrantAccessRequest {
	return driverkit.GrantAccessRequest{AccountID: names.account, AccessSpec: driverkit.AccessSpec{
		Protocol: driverkit.S3, AuthType: driverkit.Key, Rotation: rotation,
		Buckets: []driverkit.BucketAccess{{BucketID: names.bucket, ObjectData: driverkit.WriteOnly, ObjectMetadata: driverkit.Any, BucketMetadata: driverkit.Any}},
	}}
}

func callGrant(rotation string) func(context.Context, driverkit.Driver, names) error {
	return func(ctx context.Context, driver driverkit.Driver, names names) error {
		_, err := driver.GrantAccess(ctx, grantOf(names, rotation))
		return err
	}
}

func callRevoke(ctx context.Context, driver driverkit.Driver, names names) error {
	return driver.RevokeAccess(ctx, driverkit.RevokeAccessRequest{
		AccountID: names.account, Protocol: driverkit.S3, AuthType: driverkit.Key, BucketIDs: []string{names.bucket},
	})
}

func clientOf(access driverkit.Access, bucket string) *s3.Client {
	info, credential := access.Buckets[bucket].S3, access.Credential.S3
	return s3Client(info.Endpoint, info.Region, credential.AccessKeyID, credential.SecretKey.Reveal())
}

func verifyCreated(t *testing.T, run *run) {
	t.Helper()
	want := []string{"bucket " + run.bucket}
	if diff := cmp.Diff(want, ofRun(inventory(t, run.target, run.store), run.names)); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	root := s3Client(run.target.backend.Endpoint, "us-east-1", run.target.rootID, run.target.rootSecret)
	versioning, err := root.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &run.bucket})
	if err != nil || versioning.Status != "Enabled" {
		t.Errorf("versioning is %q, %v", versioning.Status, err)
	}
	mustSucceed(t, callDelete(t.Context(), run.driver, run.names))
}

func verifyGranted(rotation string) func(*testing.T, *run) {
	return func(t *testing.T, run *run) {
		t.Helper()
		access, err := run.driver.GrantAccess(t.Context(), grantOf(run.names, rotation))
		mustSucceed(t, err)
		again, err := run.driver.GrantAccess(t.Context(), grantOf(run.names, rotation))
		mustSucceed(t, err)
		if diff := cmp.Diff(access, again); diff != "" {
			t.Errorf("a repeated grant returns something else:\n%s", diff)
		}
		client := clientOf(access, run.bucket)
		mustSucceed(t, putObject(t, client, run.bucket, "key"))
		if code := apiCode(t, getObject(t, client, run.bucket, "key")); code != "AccessDenied" {
			t.Errorf("reading with write-only access: %q", code)
		}
		keys := 1
		if rotation != "" {
			keys = 2
		}
		found := ofRun(inventory(t, run.target, run.store), run.names)
		if users, live := count(found, "user "), count(found, "key "); users > 1 || live != keys {
			t.Errorf("%d users and %d keys, want at most 1 and %d: %v", users, live, keys, found)
		}
		mustSucceed(t, callRevoke(t.Context(), run.driver, run.names))
		if code := apiCode(t, putObject(t, client, run.bucket, "key")); code != "InvalidAccessKeyId" {
			t.Errorf("after revoke: %q", code)
		}
		mustSucceed(t, callDelete(t.Context(), run.driver, run.names))
	}
}

func verifyRotated(t *testing.T, run *run) {
	t.Helper()
	key := run.previousKey(t)
	previous := s3Client(run.target.backend.Endpoint, "us-east-1", key.ID, key.Secret.Reveal())
	mustSucceed(t, putObject(t, previous, run.bucket, "by-previous-key"))
	verifyGranted("r1")(t, run)
}

// request is an access to three buckets.
type request func(names) driverkit.GrantAccessRequest

// several requests the same access to all of them.
func several(names names) driverkit.GrantAccessRequest {
	request := grantOf(names, "")
	asked := request.Buckets[0]
	request.Buckets = nil
	for _, bucket := range bucketsOf(names) {
		asked.BucketID = bucket
		request.Buckets = append(request.Buckets, asked)
	}
	return request
}

// managed requests access so varied that the policy does not fit into a user.
func managed(names names) driverkit.GrantAccessRequest {
	request := several(names)
	for i := range request.Buckets {
		asked := &request.Buckets[i]
		asked.ObjectData, asked.ObjectMetadata, asked.BucketMetadata = driverkit.ReadWrite, driverkit.ReadWrite, driverkit.ReadOnly
	}
	request.Buckets[1].BucketMetadata = driverkit.Any
	request.Buckets[2].ObjectMetadata = driverkit.ReadOnly
	return request
}

func bucketsOf(names names) []string {
	return []string{names.bucket, names.bucket + "-2", names.bucket + "-3"}
}

func prepareMany(t *testing.T, driver driverkit.Driver, run names) {
	t.Helper()
	for _, bucket := range bucketsOf(run) {
		prepareBucket(t, driver, names{bucket: bucket})
	}
}

func prepareGrantedMany(request request) func(*testing.T, driverkit.Driver, names) {
	return func(t *testing.T, driver driverkit.Driver, names names) {
		t.Helper()
		prepareMany(t, driver, names)
		mustSucceed(t, callGrantMany(request)(t.Context(), driver, names))
	}
}

func callGrantMany(request request) func(context.Context, driverkit.Driver, names) error {
	return func(ctx context.Context, driver driverkit.Driver, names names) error {
		_, err := driver.GrantAccess(ctx, request(names))
		return err
	}
}

func verifyGrantedMany(request request) func(*testing.T, *run) {
	return func(t *testing.T, run *run) {
		t.Helper()
		access, err := run.driver.GrantAccess(t.Context(), request(run.names))
		mustSucceed(t, err)
		again, err := run.driver.GrantAccess(t.Context(), request(run.names))
		mustSucceed(t, err)
		if diff := cmp.Diff(access, again); diff != "" {
			t.Errorf("a repeated grant returns something else:\n%s", diff)
		}
		found := ofRun(inventory(t, run.target, run.store), run.names)
		if users, policies, keys := count(found, "user "), count(found, "policy "), count(found, "key "); users > 1 || policies > 1 || keys != 1 {
			t.Errorf("%d users, %d policies and %d keys, want at most one, and one key: %v", users, policies, keys, found)
		}
		client := clientOf(access, run.bucket)
		for _, bucket := range bucketsOf(run.names) {
			mustSucceed(t, putObject(t, client, bucket, "key"))
		}
		mustSucceed(t, callRevoke(t.Context(), run.driver, run.names))
		if code := apiCode(t, putObject(t, client, run.bucket, "key")); code != "InvalidAccessKeyId" {
			t.Errorf("after revoke: %q", code)
		}
		verifyRevokedMany(t, run)
	}
}

func verifyRevokedMany(t *testing.T, run *run) {
	t.Helper()
	if left := ofRun(inventory(t, run.target, run.store), run.names); len(left) != count(left, "bucket ") {
		t.Errorf("left are %v, want only the buckets", left)
	}
	for _, bucket := range bucketsOf(run.names) {
		mustSucceed(t, callDelete(t.Context(), run.driver, names{bucket: bucket}))
	}
}

// identityOf is the service account of one cell.
func identityOf(names names) driverkit.ServiceAccountRef {
	return driverkit.ServiceAccountRef{Namespace: "ns", Name: names.account}
}

func callGrantIdentity(ctx context.Context, driver driverkit.Driver, names names) error {
	request := grantOf(names, "")
	request.AuthType, request.ServiceAccount = driverkit.ServiceAccount, identityOf(names)
	_, err := driver.GrantAccess(ctx, request)
	return err
}

func callRevokeIdentity(ctx context.Context, driver driverkit.Driver, names names) error {
	return driver.RevokeAccess(ctx, driverkit.RevokeAccessRequest{
		AccountID: names.account, Protocol: driverkit.S3, AuthType: driverkit.ServiceAccount,
		ServiceAccount: identityOf(names), BucketIDs: []string{names.bucket},
	})
}

func prepareIdentity(t *testing.T, driver driverkit.Driver, names names) {
	t.Helper()
	prepareBucket(t, driver, names)
	mustSucceed(t, callGrantIdentity(t.Context(), driver, names))
}

func verifyGrantedIdentity(t *testing.T, run *run) {
	t.Helper()
	want := []string{
		"association prod/ns/" + run.account, "bucket " + run.bucket,
		"policy " + eksCluster + ".ns." + run.account + " cosi-" + run.account, "role " + eksCluster + ".ns." + run.account,
	}
	if diff := cmp.Diff(want, ofRun(inventory(t, run.target, run.store), run.names)); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	mustSucceed(t, callRevokeIdentity(t.Context(), run.driver, run.names))
	verifyRevoked(t, run)
}

func verifyRevoked(t *testing.T, run *run) {
	t.Helper()
	want := []string{"bucket " + run.bucket}
	if diff := cmp.Diff(want, ofRun(inventory(t, run.target, run.store), run.names)); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	mustSucceed(t, callDelete(t.Context(), run.driver, run.names))
}

func verifyDeleted(t *testing.T, run *run) {
	t.Helper()
	mustSucceed(t, callRevoke(t.Context(), run.driver, run.names))
}

func mustSucceed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func count(lines []string, prefix string) int {
	return len(slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, prefix) }))
}

// ofRun returns the lines of an inventory that belong to one cell.
func ofRun(lines []string, names names) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return !strings.Contains(line, names.bucket) && !strings.Contains(line, names.account)
	})
}
