// SPDX-License-Identifier: Apache-2.0

package memdriver_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

type client struct {
	cosi.IdentityClient
	cosi.ProvisionerClient
}

// serve starts the driver on a short path and returns a client that checks every response against the
// contract.
func serve(t *testing.T, driver *memdriver.Driver) client {
	t.Helper()
	directory := processtest.ShortTempDir(t)
	endpoint := "unix://" + filepath.Join(directory, "d.sock")
	server, err := driver.Start(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return dial(t, endpoint)
}

func dial(t *testing.T, endpoint string) client {
	t.Helper()
	check := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		err := invoke(ctx, method, request, reply, conn, options...)
		if err == nil {
			if broken := cosi.ValidateResponse(request.(proto.Message), reply.(proto.Message)); broken != nil {
				t.Errorf("%s breaks the contract: %v", method, broken)
			}
		}
		return err
	}
	connection, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(check), grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1, MaxDelay: time.Millisecond},
			MinConnectTimeout: 20 * time.Second,
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return client{cosi.NewIdentityClient(connection), cosi.NewProvisionerClient(connection)}
}

// try attempts an action of a workload with a credential.
func try(t *testing.T, driver *memdriver.Driver, credentials *cosi.CredentialInfo, bucketID string, action sanity.Action) sanity.Permission {
	t.Helper()
	attempt := sanity.Attempt{Credentials: credentials, BucketID: bucketID, Action: action}
	outcome, err := memdriver.Prober{Store: driver.Store()}.Try(t.Context(), attempt)
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Verdict
}

func createOf(id string) *cosi.DriverCreateBucketRequest {
	return &cosi.DriverCreateBucketRequest{BucketId: id}
}

func grantOf(protocol cosi.ObjectProtocol_Type, account string, buckets ...string) *cosi.DriverGrantBucketAccessRequest {
	request := &cosi.DriverGrantBucketAccessRequest{
		AccountId: account, Protocol: &cosi.ObjectProtocol{Type: protocol},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
	}
	for _, bucket := range buckets {
		request.Buckets = append(request.Buckets, &cosi.AccessedBucket{
			BucketId: bucket, ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_ONLY},
		})
	}
	return request
}

func revokeOf(grant *cosi.DriverGrantBucketAccessRequest) *cosi.DriverRevokeBucketAccessRequest {
	request := &cosi.DriverRevokeBucketAccessRequest{
		AccountId: grant.GetAccountId(), Protocol: grant.GetProtocol(), AuthenticationType: grant.GetAuthenticationType(),
		ServiceAccountName: grant.GetServiceAccountName(), ServiceAccountNamespace: grant.GetServiceAccountNamespace(),
	}
	for _, bucket := range grant.GetBuckets() {
		request.Buckets = append(request.Buckets, &cosi.DriverRevokeBucketAccessRequest_AccessedBucket{BucketId: bucket.GetBucketId()})
	}
	return request
}

// must returns the response of a call that must succeed.
func must[T any](t *testing.T) func(T, error) T {
	return func(response T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
}

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("got %s, want %s: %v", got, want, err)
	}
}

func TestCredentialsOfEveryProtocol(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]cosi.ObjectProtocol_Type{
		"S3": cosi.ObjectProtocol_S3, "Azure": cosi.ObjectProtocol_AZURE, "GCS": cosi.ObjectProtocol_GCS,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := memdriver.New(memdriver.Options{Protocols: []cosi.ObjectProtocol_Type{protocol}})
			client := serve(t, driver)
			ctx := t.Context()
			for _, id := range []string{"bc-1", "bc-2"} {
				must[*cosi.DriverCreateBucketResponse](t)(client.DriverCreateBucket(ctx, createOf(id)))
			}
			grant := grantOf(protocol, "ba-1", "bc-1")
			granted := must[*cosi.DriverGrantBucketAccessResponse](t)
			first := granted(client.DriverGrantBucketAccess(ctx, grant))
			second := granted(client.DriverGrantBucketAccess(ctx, grant))
			if diff := cmp.Diff(first, second, protocmp.Transform()); diff != "" {
				t.Errorf("a repeated call returns a different response (-first +second):\n%s", diff)
			}
			works := func(bucket string, action sanity.Action, want sanity.Permission) {
				t.Helper()
				if got := try(t, driver, first.GetCredentials(), bucket, action); got != want {
					t.Errorf("%v in %s: %v, want %v", action, bucket, got, want)
				}
			}
			works("bc-1", sanity.ListObjects, sanity.Allowed)
			works("bc-1", sanity.PutObject, sanity.Refused)
			works("bc-1", sanity.SetBucketPolicy, sanity.Refused)
			works("bc-2", sanity.ListObjects, sanity.Refused)
			works("bc-3", sanity.ListObjects, sanity.Missing)
			for range 2 {
				must[*cosi.DriverRevokeBucketAccessResponse](t)(client.DriverRevokeBucketAccess(ctx, revokeOf(grant)))
				works("bc-1", sanity.ListObjects, sanity.Refused)
			}
			third := granted(client.DriverGrantBucketAccess(ctx, grant))
			if cmp.Equal(first.GetCredentials(), third.GetCredentials(), protocmp.Transform()) {
				t.Error("a new account gets the credential of the revoked one")
			}
			works("bc-1", sanity.ListObjects, sanity.Refused)
		})
	}
}

func TestServiceAccounts(t *testing.T) {
	t.Parallel()
	driver := memdriver.New(memdriver.Options{})
	client := serve(t, driver)
	must[*cosi.DriverCreateBucketResponse](t)(client.DriverCreateBucket(t.Context(), createOf("bc-1")))
	grant := grantOf(cosi.ObjectProtocol_S3, "ba-1", "bc-1")
	grant.AuthenticationType.Type = cosi.AuthenticationType_SERVICE_ACCOUNT
	grant.ServiceAccountName, grant.ServiceAccountNamespace = "app", "ns"
	response := must[*cosi.DriverGrantBucketAccessResponse](t)(client.DriverGrantBucketAccess(t.Context(), grant))
	if response.GetCredentials() != nil {
		t.Errorf("a service account gets a credential: %v", response.GetCredentials())
	}
	if accounts := driver.Inventory().Accounts; len(accounts) != 1 || len(accounts[0].Keys) != 0 {
		t.Errorf("want one account without keys, got %+v", accounts)
	}
	other := proto.CloneOf(grant)
	other.ServiceAccountNamespace = "other"
	_, err := client.DriverGrantBucketAccess(t.Context(), other)
	wantCode(t, err, codes.AlreadyExists)
	must[*cosi.DriverRevokeBucketAccessResponse](t)(client.DriverRevokeBucketAccess(t.Context(), revokeOf(grant)))
	if accounts := driver.Inventory().Accounts; len(accounts) != 0 {
		t.Errorf("accounts after the revocation: %+v", accounts)
	}
}

func TestRestartWithAStateFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	first := memdriver.New(memdriver.Options{Store: memdriver.NewStore(path)})
	firstClient := serve(t, first)
	must[*cosi.DriverCreateBucketResponse](t)(firstClient.DriverCreateBucket(t.Context(), createOf("bc-1")))
	grant := grantOf(cosi.ObjectProtocol_S3, "ba-1", "bc-1")
	before := must[*cosi.DriverGrantBucketAccessResponse](t)(firstClient.DriverGrantBucketAccess(t.Context(), grant))

	second := memdriver.New(memdriver.Options{Store: memdriver.NewStore(path)})
	if diff := cmp.Diff(first.Inventory(), second.Inventory()); diff != "" {
		t.Errorf("inventory (-before +after):\n%s", diff)
	}
	after := must[*cosi.DriverGrantBucketAccessResponse](t)(serve(t, second).DriverGrantBucketAccess(t.Context(), grant))
	if diff := cmp.Diff(before, after, protocmp.Transform()); diff != "" {
		t.Errorf("the grant after the restart (-before +after):\n%s", diff)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := serve(t, second).DriverCreateBucket(t.Context(), createOf("bc-2"))
	wantCode(t, err, codes.Internal)
}

func TestStopAndStartOnOneEndpoint(t *testing.T) {
	t.Parallel()
	directory := processtest.ShortTempDir(t)
	endpoint := "unix://" + filepath.Join(directory, "d.sock")
	driver := memdriver.New(memdriver.Options{})
	client := dial(t, endpoint)
	for i := range 3 {
		server, err := driver.Start(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		request := createOf(fmt.Sprintf("bc-%d", i))
		_, err = client.DriverCreateBucket(t.Context(), request, grpc.WaitForReady(true))
		for status.Code(err) == codes.Unavailable { // the call failed because the connection to the stopped server was closed
			_, err = client.DriverCreateBucket(t.Context(), request, grpc.WaitForReady(true))
		}
		if err != nil {
			t.Error(err)
		}
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(directory); err != nil || len(entries) != 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
	}
	if got := len(driver.Inventory().Buckets); got != 3 {
		t.Errorf("%d buckets, want 3", got)
	}
	for _, bad := range []string{"tcp://:1", "unix://d.sock", "unix:///d"} {
		if _, err := driver.Start(bad); err == nil {
			t.Errorf("endpoint %q is accepted", bad)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := driver.Serve(ctx, endpoint); err != nil {
		t.Error(err)
	}
}

func TestSetInfo(t *testing.T) {
	t.Parallel()
	driver := memdriver.New(memdriver.Options{Name: "a.example.com"})
	client := serve(t, driver)
	driver.SetInfo(func(info *cosi.DriverGetInfoResponse) {
		info.Name, info.Revision = "b.example.com", "2"
		info.SupportedProtocols = []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_GCS}}
	})
	got := must[*cosi.DriverGetInfoResponse](t)(client.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{}))
	if got.GetName() != "b.example.com" || got.GetRevision() != "2" || driver.Name() != "b.example.com" {
		t.Errorf("got %v", got)
	}
	_, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{
		BucketId: "b", Protocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_S3}},
	})
	wantCode(t, err, codes.InvalidArgument)
}

// TestManyDrivers is for the race detector, and bounds the cost of a driver in tests.
func TestManyDrivers(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for range 50 {
		driver := memdriver.New(memdriver.Options{})
		client := serve(t, driver)
		all.Go(func() {
			for i := range 5 {
				all.Go(func() {
					if _, err := client.DriverCreateBucket(t.Context(), createOf(fmt.Sprintf("bc-%d", i))); err != nil {
						t.Error(err)
					}
					driver.Calls()
					driver.Inventory()
				})
			}
		})
	}
	all.Wait()
}
