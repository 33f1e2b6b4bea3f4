// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// process makes a driver as a new process has it, with a sidecar. Without a crash it runs until the test ends.
func process(t *testing.T, on google, store credstore.Store, crash *drivertest.Crash) driverkit.Driver {
	t.Helper()
	return drivertest.Settled{Driver: bare(t, on, store, crash)}
}

func bare(t *testing.T, on google, store credstore.Store, crash *drivertest.Crash) driverkit.Driver {
	t.Helper()
	options := gcsdriver.Options{
		Config:      gcsdriver.Config{Backends: map[string]gcsdriver.BackendConfig{"main": on.backend()}},
		Credentials: store,
	}
	if crash != nil {
		options.Credentials = crash.Store(store)
		options.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return exceptTokens{crash.Wrap(next), next} }
	}
	driver, err := gcsdriver.New(options)
	mustSucceed(t, err)
	return driver
}

// exceptTokens does not count requests for the driver's own tokens as calls, because they change nothing.
type exceptTokens struct{ calls, tokens http.RoundTripper }

func (e exceptTokens) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Path == "/token" {
		return e.tokens.RoundTrip(request)
	}
	return e.calls.RoundTrip(request)
}

// names are those of one cell of the matrix.
type names struct{ bucket, account, host, credentials string }

// step is a call of a driver that a cell makes.
type step func(ctx context.Context, driver driverkit.Driver, names names) error

// scenario is one RPC of the matrix.
type scenario struct {
	// credentials are those of the class. Service account keys take a second each to make.
	credentials string
	// prepare creates the prerequisites of the RPC.
	prepare []step
	// call is the RPC.
	call step
	// verify looks at the outcome.
	verify func(t *testing.T, run *run)
	// cleanup removes everything.
	cleanup []step
}

// run is one cell of the matrix after the RPC has succeeded.
type run struct {
	names

	google google
	store  *credstore.Memory
	driver driverkit.Driver
}

// TestCrashMatrix kills the driver at some calls of every RPC, in the soak at every call, and lets the next process go on.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]scenario{
		"create":               {"hmac", nil, callCreate, verifyCreated, []step{callDelete}},
		"grant":                {"both", []step{callCreate}, callGrant(""), verifyGranted("", 1), []step{callRevoke, callDelete}},
		"rotate":               {"both", []step{callCreate, callGrant("")}, callGrant("r1"), verifyGranted("r1", 2), []step{callRevoke, callDelete}},
		"rotate again":         {"hmac", []step{callCreate, callGrant(""), callGrant("r1")}, callGrant("r2"), verifyGranted("r2", 2), []step{callRevoke, callDelete}},
		"revoke":               {"both", []step{callCreate, callGrant("")}, callRevoke, verifyRevoked, []step{callDelete}},
		"revoke after another": {"hmac", []step{callCreate, callGrant(""), callGrant("r1")}, callRevoke, verifyRevoked, []step{callDelete}},
		"revoke without":       {"hmac", []step{callCreate, callGrant(""), callDelete}, callRevoke, verifyRevoked, nil},
		"delete with data":     {"hmac", []step{callCreate, putData}, callDelete, verifyRevoked, nil},
		"grant as a workload":  {"hmac", []step{callCreate}, callGrantWorkload, verifyWorkload, []step{callRevokeWorkload, callDelete}},
		"revoke of a workload": {"hmac", []step{callCreate, callGrantWorkload}, callRevokeWorkload, verifyRevoked, []step{callDelete}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runMatrix(t, startGoogle(t, gcsfake.Options{}), scenario, sampleOfCells)
		})
		for kind, operations := range map[string][]string{
			"with lagging IAM":      {"iam.*.get", "storage.projects.hmacKeys.get", "storage.buckets.get"},
			"with lagging listings": {"iam.*.list", "storage.*.list"},
			"with lagging policies": {"storage.buckets.getIamPolicy"},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				if name != "rotate" {
					fulltest.Only(t, "\"rotate\" with each kind of lag")
				}
				on := startGoogle(t, gcsfake.Options{Past: true})
				on.readLag = "1ms"
				for _, operation := range operations {
					// By as many calls as driverkit.Find reads again.
					mustSucceed(t, on.Faults.Add(fault.Rule{Operation: operation, Effect: fault.Stale, Lag: 2}))
				}
				runMatrix(t, on, scenario, sampleOfLagging)
			})
		}
	}
}

// sampleOfCells is how many cells of a scenario the full tier tries, and sampleOfLagging how many it tries again with
// reads of each kind that lag.
const sampleOfCells, sampleOfLagging = 10, 2

func runMatrix(t *testing.T, on google, scenario scenario, sample int) {
	t.Helper()
	drivertest.CrashMatrix{Sample: sample, Short: 2, Cell: func(t *testing.T, crash *drivertest.Crash) {
		t.Helper()
		runCell(t, on, scenario, crash)
	}}.Run(t)
}

func runCell(t *testing.T, on google, scenario scenario, crash *drivertest.Crash) {
	t.Helper()
	store := credstore.NewMemory()
	before := on.Inventory()
	names := names{bucket: "bc-" + uuid.NewString(), account: drivertest.NewAccount(), host: strings.TrimPrefix(on.URL(), "http://"), credentials: scenario.credentials}
	mustRun(t, process(t, on, store, nil), names, scenario.prepare)

	if err := scenario.call(crash.Context(t), process(t, on, store, crash), names); err == nil && crash.Dead() {
		t.Error("the killed process returned")
	}
	next := process(t, on, store, nil)
	if err := scenario.call(t.Context(), next, names); err != nil {
		t.Errorf("the next process fails: %v", err)
		return
	}
	scenario.verify(t, &run{names: names, google: on, store: store, driver: next})
	mustRun(t, next, names, scenario.cleanup)
	if diff := cmp.Diff(before, on.Inventory()); diff != "" {
		t.Errorf("something is left or missing (-before +after):\n%s", diff)
	}
	if left := store.Accounts(); len(left) > 0 {
		t.Errorf("left in the credential store: %v", left)
	}
}

func mustRun(t *testing.T, driver driverkit.Driver, names names, steps []step) {
	t.Helper()
	for _, one := range steps {
		mustSucceed(t, one(t.Context(), driver, names))
	}
}

var crashParameters = driverkit.Values{"versioning": "true", "deleteNonEmpty": "true"}

func callCreate(ctx context.Context, driver driverkit.Driver, names names) error {
	_, err := driver.CreateBucket(ctx, driverkit.CreateBucketRequest{BucketID: names.bucket, Parameters: crashParameters})
	return err
}

func callDelete(ctx context.Context, driver driverkit.Driver, names names) error {
	return driver.DeleteBucket(ctx, driverkit.DeleteBucketRequest{BucketID: names.bucket, Parameters: crashParameters})
}

func grantOf(names names, rotation string) driverkit.GrantAccessRequest {
	return driverkit.GrantAccessRequest{AccountID: names.account, AccessSpec: driverkit.AccessSpec{
		Protocol: driverkit.GCS, AuthType: driverkit.Key, Rotation: rotation, Parameters: driverkit.Values{"credentials": names.credentials},
		Buckets: []driverkit.BucketAccess{{BucketID: names.bucket, ObjectData: driverkit.WriteOnly, ObjectMetadata: driverkit.Any, BucketMetadata: driverkit.Any}},
	}}
}

func callGrant(rotation string) step {
	return func(ctx context.Context, driver driverkit.Driver, names names) error {
		_, err := driver.GrantAccess(ctx, grantOf(names, rotation))
		return err
	}
}

func callRevoke(ctx context.Context, driver driverkit.Driver, names names) error {
	return driver.RevokeAccess(ctx, driverkit.RevokeAccessRequest{
		AccountID: names.account, Protocol: driverkit.GCS, AuthType: driverkit.Key, BucketIDs: []string{names.bucket},
		Parameters: driverkit.Values{"credentials": names.credentials},
	})
}

var workload = driverkit.ServiceAccountRef{Namespace: "team", Name: "app"}

func callGrantWorkload(ctx context.Context, driver driverkit.Driver, names names) error {
	request := grantOf(names, "")
	request.AuthType, request.ServiceAccount, request.Parameters = driverkit.ServiceAccount, workload, nil
	_, err := driver.GrantAccess(ctx, request)
	return err
}

func callRevokeWorkload(ctx context.Context, driver driverkit.Driver, names names) error {
	return driver.RevokeAccess(ctx, driverkit.RevokeAccessRequest{
		AccountID: names.account, Protocol: driverkit.GCS, AuthType: driverkit.ServiceAccount, ServiceAccount: workload, BucketIDs: []string{names.bucket},
	})
}

// putData writes with a credential that is removed afterwards.
func putData(ctx context.Context, driver driverkit.Driver, names names) error {
	access, err := driver.GrantAccess(ctx, grantOf(names, ""))
	if err != nil {
		return err
	}
	client, err := s3Of(names.host, access)
	if err != nil {
		return err
	}
	for _, key := range []string{"a", "b", "c"} {
		if _, err := client.PutObject(ctx, names.bucket, key, strings.NewReader("text"), 4, minio.PutObjectOptions{}); err != nil {
			return err
		}
	}
	return callRevoke(ctx, driver, names)
}

// s3Of is an S3 client with the HMAC pair of a grant.
func s3Of(host string, access driverkit.Access) (*minio.Client, error) {
	given := access.Credential.GCS
	return minio.New(host, &minio.Options{
		Creds:        credentials.NewStaticV4(given.AccessID, given.AccessSecret.Reveal(), ""),
		BucketLookup: minio.BucketLookupPath, MaxRetries: 1, Region: "auto",
	})
}

func verifyCreated(t *testing.T, run *run) {
	t.Helper()
	if buckets := run.google.Inventory().Buckets; len(buckets) != 1 || buckets[0].Name != run.bucket {
		t.Errorf("buckets are %+v", buckets)
	}
}

func verifyGranted(rotation string, keys int) func(*testing.T, *run) {
	return func(t *testing.T, run *run) {
		t.Helper()
		access, err := run.driver.GrantAccess(t.Context(), grantOf(run.names, rotation))
		mustSucceed(t, err)
		again, err := run.driver.GrantAccess(t.Context(), grantOf(run.names, rotation))
		if diff := cmp.Diff(access, again); err != nil || diff != "" {
			t.Errorf("a repeated grant returns something else: %v\n%s", err, diff)
		}
		client, err := s3Of(run.host, access)
		mustSucceed(t, err)
		if err := s3Put(t, client, run.bucket, "key"); err != nil {
			t.Error(err)
		}
		if err := s3Get(t, client, run.bucket, "key"); err == nil {
			t.Error("write-only access reads")
		}
		accounts := run.google.Inventory().Accounts
		if len(accounts) != 1 || run.credentials == "both" && len(accounts[0].Keys) != keys || len(accounts[0].HMAC) != keys {
			t.Errorf("accounts are %+v", accounts)
		}
	}
}

// verifyRevoked checks that nothing of the account remains before the bucket is deleted.
func verifyRevoked(t *testing.T, run *run) {
	t.Helper()
	found := run.google.Inventory()
	if len(found.Accounts) > 0 || slices.ContainsFunc(ofCosi(bindings(run.google, run.bucket)), func(string) bool { return true }) {
		t.Errorf("left are %+v", found)
	}
}

func verifyWorkload(t *testing.T, run *run) {
	t.Helper()
	found := ofCosi(bindings(run.google, run.bucket))
	if len(found) != 1 || !strings.Contains(found[0], "/subject/ns/team/sa/app") || !strings.Contains(found[0], "(cosi "+run.account+")") {
		t.Errorf("bindings are %q", found)
	}
}

// ofCosi are the bindings that a driver made.
func ofCosi(bindings []string) []string {
	return slices.DeleteFunc(slices.Clone(bindings), func(line string) bool {
		return !strings.Contains(line, "principal://") && !strings.Contains(line, "serviceAccount:ba-")
	})
}
