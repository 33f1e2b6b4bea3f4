// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/fault"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestModesAreEnforced tries allowed and denied operations with each mode.
func TestModesAreEnforced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	const denied = "AuthorizationPermissionMismatch"
	tests := map[string]struct {
		mode       drivertest.Modes
		parameters map[string]string
		// read, write, list, remove and tag are the service's responses.
		read, write, list, remove, tag string
	}{
		"read only":                        {mode: readOnly, write: denied, remove: denied, tag: denied},
		"read only with metadata":          {mode: drivertest.Modes{Data: cosi.AccessMode_READ_ONLY, ObjectMetadata: cosi.AccessMode_READ_ONLY}, write: denied, remove: denied, tag: denied},
		"write only":                       {mode: writeOnly, read: denied, list: denied, tag: denied},
		"write only without deletion":      {mode: writeOnly, parameters: map[string]string{"allowDelete": "false"}, read: denied, list: denied, remove: denied, tag: denied},
		"read and write":                   {mode: readWrite, tag: denied},
		"read and write, deletion not":     {mode: readWrite, parameters: map[string]string{"allowDelete": "false"}, remove: denied, tag: denied},
		"read and write, metadata as well": {mode: drivertest.Modes{Data: cosi.AccessMode_READ_WRITE, ObjectMetadata: cosi.AccessMode_READ_WRITE}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := w.NewBucket(t, nil)
			wantNoError(t, upload(t.Context(), w.root(t, bucket), "there"))
			request := grantRequest(drivertest.NewAccount(), test.mode, bucket)
			request.Parameters = test.parameters
			client := workload(t, w.MustGrant(t, request))
			_, tagged := client.NewBlobClient("there").SetTags(t.Context(), map[string]string{"a": "b"}, nil)
			_, found := client.FilterBlobs(t.Context(), "a='b'", nil)
			got := []string{
				azureCode(t, download(t.Context(), client, "there")), azureCode(t, upload(t.Context(), client, "new")),
				azureCode(t, list(t.Context(), client)), azureCode(t, tagged), azureCode(t, found),
			}
			_, removed := client.NewBlobClient("there").Delete(t.Context(), nil)
			got = append(got, azureCode(t, removed))
			want := []string{test.read, test.write, test.list, test.tag, test.tag, test.remove}
			if !slices.Equal(got, want) {
				t.Errorf("read, write, list, tag, find by tag, remove: %q, want %q", got, want)
			}
			for what, err := range map[string]error{
				"properties": second(client.GetProperties(t.Context(), nil)), "policies": second(client.GetAccessPolicy(t.Context(), nil)),
				"deletion": second(client.Delete(t.Context(), nil)),
			} {
				if err == nil {
					t.Errorf("%s of the container is allowed", what)
				}
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	bucket, other := w.NewBucket(t, nil), w.NewBucket(t, nil)
	tests := map[string]struct {
		mode       drivertest.Modes
		parameters map[string]string
		buckets    []string
		code       codes.Code
		says       []string
	}{
		"several buckets with one key":      {readOnly, nil, []string{bucket, other}, codes.OutOfRange, []string{"BucketAccess"}},
		"no mode at all":                    {drivertest.Modes{}, nil, []string{bucket}, codes.InvalidArgument, []string{"no access mode"}},
		"metadata of another mode":          {drivertest.Modes{Data: cosi.AccessMode_READ_WRITE, ObjectMetadata: cosi.AccessMode_READ_ONLY}, nil, []string{bucket}, codes.InvalidArgument, []string{"separate"}},
		"metadata without data":             {drivertest.Modes{ObjectMetadata: cosi.AccessMode_READ_ONLY}, nil, []string{bucket}, codes.InvalidArgument, []string{"separate"}},
		"bucket metadata":                   {drivertest.Modes{Data: cosi.AccessMode_READ_ONLY, BucketMetadata: cosi.AccessMode_READ_ONLY}, nil, []string{bucket}, codes.InvalidArgument, []string{"bucket metadata"}},
		"an expiry that is too short":       {readOnly, map[string]string{"expiry": "1m"}, []string{bucket}, codes.InvalidArgument, []string{"15m"}},
		"an empty expiry":                   {readOnly, map[string]string{"expiry": ""}, []string{bucket}, codes.InvalidArgument, []string{"empty"}},
		"an unknown parameter":              {readOnly, map[string]string{"permissions": "rwd"}, []string{bucket}, codes.InvalidArgument, []string{"permissions"}},
		"versions deleted without deletion": {readWrite, map[string]string{"allowDelete": "false", "deleteVersions": "true"}, []string{bucket}, codes.InvalidArgument, []string{"allowDelete"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := grantRequest(drivertest.NewAccount(), test.mode, test.buckets...)
			request.Parameters = test.parameters
			_, err := w.DriverGenerateBucketAccessId(t.Context(), &cosi.DriverGenerateBucketAccessIdRequest{
				AccountName: request.GetAccountId(), Protocol: request.GetProtocol(), AuthenticationType: request.GetAuthenticationType(),
				Parameters: request.GetParameters(), Buckets: request.GetBuckets(),
			})
			drivertest.WantCode(t, err, test.code, test.says...)
			_, err = w.DriverGrantBucketAccess(t.Context(), request)
			drivertest.WantCode(t, err, test.code, test.says...)
			if found := w.policies(bucket); len(found) > 0 {
				t.Errorf("policies %v", found)
			}
		})
	}
}

// TestParallelGrants lets 16 accesses of one bucket be granted at once by two driver processes: five
// get one, as many as Azure has room for, and the others are told why.
func TestParallelGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	processes := []*world{w, newProcess(t, w.server, worldOptions{})}
	bucket := w.NewBucket(t, nil)
	errs := make([]error, 16)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			request := grantRequest(fmt.Sprintf("ba-%d", i), readOnly, bucket)
			granted, err := processes[i%2].DriverGrantBucketAccess(t.Context(), request)
			for status.Code(err) == codes.Aborted {
				granted, err = processes[i%2].DriverGrantBucketAccess(t.Context(), request)
			}
			if errs[i] = err; err == nil {
				errs[i] = list(t.Context(), workload(t, granted))
			}
		})
	}
	group.Wait()
	granted := 0
	for _, err := range errs {
		if err == nil {
			granted++
			continue
		}
		drivertest.WantCode(t, err, codes.ResourceExhausted, "no more than 5")
	}
	if found := w.policies(bucket); granted != 5 || len(found) != 5 {
		t.Errorf("%d granted, policies %v", granted, found)
	}
	for i := range errs {
		w.mustRevoke(t, fmt.Sprintf("ba-%d", i), bucket)
	}
	if found := w.policies(bucket); len(found) != 0 {
		t.Errorf("left behind: %v", found)
	}
}

func TestPoliciesOfOthersStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	bucket := w.NewBucket(t, nil)
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	theirs := &container.SignedIdentifier{ID: to.Ptr("theirs"), AccessPolicy: &container.AccessPolicy{Permission: to.Ptr("rl"), Start: to.Ptr(end.Add(-2 * time.Hour)), Expiry: to.Ptr(end)}}
	_, err := w.root(t, bucket).SetAccessPolicy(t.Context(), &container.SetAccessPolicyOptions{
		Access: to.Ptr(container.PublicAccessTypeBlob), ContainerACL: []*container.SignedIdentifier{theirs, {ID: to.Ptr("empty"), AccessPolicy: &container.AccessPolicy{}}},
	})
	wantNoError(t, err)
	before := inventory(t, w.server)
	account := drivertest.NewAccount()
	w.MustGrant(t, grantRequest(account, readOnly, bucket))
	w.mustRevoke(t, account, bucket)
	if after := inventory(t, w.server); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("inventory was\n%v\nand is\n%v", before, after)
	}
}

func TestExpirySlides(t *testing.T) {
	t.Parallel()
	// The service takes requests with a date at most 15 minutes off, and the SDK writes the real one.
	shared := &clock{ahead: -14 * time.Minute}
	w := newWorld(t, worldOptions{fake: azurefake.Options{Now: shared.Now}})
	bucket := w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), readOnly, bucket)
	request.Parameters = map[string]string{"expiry": "16m"}
	end := func(granted *cosi.DriverGrantBucketAccessResponse) time.Time {
		parsed, err := time.Parse(time.RFC3339, granted.GetCredentials().GetAzure().GetExpiryTimestamp())
		wantNoError(t, err)
		return parsed
	}
	first := w.MustGrant(t, request)
	if left := end(first).Sub(shared.Now()); left < 15*time.Minute || left > 16*time.Minute {
		t.Errorf("expires in %s", left)
	}
	shared.advance(6 * time.Minute)
	if early := w.MustGrant(t, request); !end(early).Equal(end(first)) {
		t.Error("extended before half of the life is over")
	}
	shared.advance(3 * time.Minute)
	extended := w.MustGrant(t, request)
	if token(extended) != token(first) || !end(extended).After(end(first)) {
		t.Errorf("expires at %s after %s, token changed: %t", end(extended), end(first), token(extended) != token(first))
	}
	shared.advance(8 * time.Minute)
	wantNoError(t, list(t.Context(), workload(t, first)))
	shared.advance(9 * time.Minute)
	if code := azureCode(t, list(t.Context(), workload(t, first))); code != "AuthenticationFailed" {
		t.Errorf("after its end: %q", code)
	}
	w.MustGrant(t, request)
	wantNoError(t, list(t.Context(), workload(t, first)))
}

// TestAccountKeyRotation replaces the key that signed. The previous token stops working, a grant returns a new one,
// and the changed revision makes the sidecar request it.
func TestAccountKeyRotation(t *testing.T) {
	t.Parallel()
	server := startFake(t, azurefake.Options{})
	file := filepath.Join(t.TempDir(), "key")
	write := func(key string) { wantNoError(t, os.WriteFile(file, []byte(key+"\n"), 0o600)) }
	key, _ := server.Keys(mainAccount)
	write(key)
	w := newProcess(t, server, worldOptions{config: func(config *azuredriver.Config) {
		config.Backends[mainAccount] = azuredriver.BackendConfig{Endpoint: server.URL(), Credentials: azuredriver.CredentialsConfig{AccountKeyFile: file}}
	}})
	revision := func() string {
		info, err := w.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{})
		wantNoError(t, err)
		return info.GetRevision()
	}
	bucket := w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), readOnly, bucket)
	first, before := w.MustGrant(t, request), revision()

	key, err := server.RegenerateKey(mainAccount, "key1")
	wantNoError(t, err)
	if code := azureCode(t, list(t.Context(), workload(t, first))); code != "AuthenticationFailed" {
		t.Errorf("the former token: %q", code)
	}
	_, err = w.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.Unauthenticated, "credentials")
	wantNoError(t, os.Remove(file))
	_, err = w.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.Unauthenticated, mainAccount)
	write(key)
	next := w.MustGrant(t, request)
	if token(next) == token(first) || revision() == before {
		t.Error("token or revision did not change")
	}
	wantNoError(t, list(t.Context(), workload(t, next)))
	if strings.Contains(revision(), key[:8]) {
		t.Error("the revision shows the key")
	}
}

type call = fault.Call

func TestAWholeLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	before := inventory(t, w.server)
	bucket := w.NewBucket(t, map[string]string{"metadata": `{"Team":"a"}`})
	account := drivertest.NewAccount()
	granted := w.MustGrant(t, grantRequest(account, readWrite, bucket))
	if got := granted.GetBuckets()[0].GetBucketInfo().GetAzure().GetStorageAccount(); got != mainAccount {
		t.Errorf("storage account %q, want %q", got, mainAccount)
	}
	address, err := url.Parse(token(granted))
	wantNoError(t, err)
	query := address.Query()
	if address.Path != "/"+mainAccount+"/"+bucket || !strings.HasPrefix(query.Get("si"), account+".") {
		t.Errorf("token for %s with policy %q", address.Path, query.Get("si"))
	}
	for _, field := range []string{"sp", "st", "se"} {
		if query.Has(field) {
			t.Errorf("the token has %s, which belongs to the policy", field)
		}
	}
	if end := granted.GetCredentials().GetAzure().GetExpiryTimestamp(); end != "" {
		t.Errorf("expires at %s without the parameter expiry", end)
	}
	client := workload(t, granted)
	wantNoError(t, upload(t.Context(), client, "a/b"))
	wantNoError(t, download(t.Context(), client, "a/b"))
	_, err = client.NewBlobClient("a/b").Delete(t.Context(), nil)
	wantNoError(t, err)
	w.mustRevoke(t, account, bucket)
	if code := azureCode(t, list(t.Context(), client)); code != "AuthenticationFailed" {
		t.Errorf("after revoke: %q", code)
	}
	wantNoError(t, w.Delete(t, bucket, nil))
	if diff := cmp.Diff(before, inventory(t, w.server)); diff != "" {
		t.Errorf("something is left or missing (-before +after):\n%s", diff)
	}
}

func TestRepeatedCallsAnswerTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	bucket := w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), writeOnly, bucket)
	request.Parameters = map[string]string{"expiry": "720h"}
	first := w.MustGrant(t, request)
	after := newProcess(t, w.server, worldOptions{})
	for range 3 {
		wantNoError(t, after.Create(t, bucket, nil))
		again := after.MustGrant(t, request)
		if token(again) != token(first) || again.GetCredentials().GetAzure().GetExpiryTimestamp() != first.GetCredentials().GetAzure().GetExpiryTimestamp() {
			t.Error("a repeated grant returns something else")
		}
	}
	calls := func() int { // those of health checks apart, which come when they like
		return len(slices.DeleteFunc(w.server.Calls(), func(call call) bool { return call.Operation == "ListContainers" }))
	}
	before := calls()
	after.MustGrant(t, request)
	// The policies of the container, and the record with their owner.
	if made := calls() - before; made != 2 {
		t.Errorf("a repeated grant made %d calls, want 2", made)
	}
}
