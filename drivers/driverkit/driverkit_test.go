// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// stub is a driver whose methods are functions defined by the test; a nil one succeeds.
type stub struct {
	info   func() driverkit.Info
	create func(context.Context, driverkit.CreateBucketRequest) (driverkit.BucketInfo, error)
	get    func(context.Context, driverkit.GetBucketRequest) (driverkit.BucketInfo, error)
	remove func(context.Context, driverkit.DeleteBucketRequest) error
	grant  func(context.Context, driverkit.GrantAccessRequest) (driverkit.Access, error)
	revoke func(context.Context, driverkit.RevokeAccessRequest) error
}

func (s *stub) Info() driverkit.Info {
	if s.info != nil {
		return s.info()
	}
	return driverkit.Info{
		Name:             "stub.example.com",
		Revision:         "r1",
		Protocols:        []driverkit.Protocol{driverkit.S3},
		Modes:            driverkit.Modes{ObjectData: []driverkit.Mode{driverkit.ReadWrite, driverkit.ReadOnly}},
		BucketParameters: driverkit.Parameters{"tier": {Check: driverkit.OneOf("hot", "cold")}},
		AccessParameters: driverkit.Parameters{"days": {Check: driverkit.Integer(1, 30)}},
	}
}

func (s *stub) CreateBucket(ctx context.Context, r driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
	if s.create != nil {
		return s.create(ctx, r)
	}
	return bucketInfo(), nil
}

func (s *stub) GetBucket(ctx context.Context, r driverkit.GetBucketRequest) (driverkit.BucketInfo, error) {
	if s.get != nil {
		return s.get(ctx, r)
	}
	return bucketInfo(), nil
}

func (s *stub) DeleteBucket(ctx context.Context, r driverkit.DeleteBucketRequest) error {
	if s.remove != nil {
		return s.remove(ctx, r)
	}
	return nil
}

func (s *stub) GrantAccess(ctx context.Context, r driverkit.GrantAccessRequest) (driverkit.Access, error) {
	if s.grant != nil {
		return s.grant(ctx, r)
	}
	access := driverkit.Access{
		Buckets: map[string]driverkit.BucketInfo{},
		Credential: driverkit.Credential{
			S3: &driverkit.S3Credential{AccessKeyID: "AKIA", SecretKey: cosi.NewSecret("canary-value")},
		},
	}
	for _, bucket := range r.Buckets {
		access.Buckets[bucket.BucketID] = bucketInfo()
	}
	return access, nil
}

func (s *stub) RevokeAccess(ctx context.Context, r driverkit.RevokeAccessRequest) error {
	if s.revoke != nil {
		return s.revoke(ctx, r)
	}
	return nil
}

func bucketInfo() driverkit.BucketInfo {
	return driverkit.BucketInfo{S3: &driverkit.S3Bucket{
		Name: "b", Endpoint: "https://s3.example.com", Region: "eu", Style: driverkit.VirtualStyle,
	}}
}

func accessed(id string, mode cosi.AccessMode_Mode) *cosi.AccessedBucket {
	return &cosi.AccessedBucket{BucketId: id, ObjectDataAccessMode: &cosi.AccessMode{Mode: mode}}
}

func grantRequest(change func(*cosi.DriverGrantBucketAccessRequest)) *cosi.DriverGrantBucketAccessRequest {
	request := &cosi.DriverGrantBucketAccessRequest{
		AccountId:          "ba-1",
		Protocol:           &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Buckets:            []*cosi.AccessedBucket{accessed("bc-1", cosi.AccessMode_READ_WRITE)},
	}
	if change != nil {
		change(request)
	}
	return request
}

// mustSucceed ends the test if there is an error.
func mustSucceed(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// wantStatus compares code and message, the two things a sidecar sees.
func wantStatus(t *testing.T, err error, code codes.Code, message string) {
	t.Helper()
	got := status.Convert(err)
	if got.Code() != code || got.Message() != message {
		t.Errorf("got  %s %q\nwant %s %q", got.Code(), got.Message(), code, message)
	}
	if len(got.Details()) != 0 {
		t.Errorf("the status has details: %v", got.Details())
	}
}

func TestGetInfo(t *testing.T) {
	t.Parallel()
	got, err := drivertest.Serve(t, &stub{}, driverkit.Options{}).DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{})
	mustSucceed(t, err)
	want := &cosi.DriverGetInfoResponse{
		Name: "stub.example.com", Revision: "r1", SupportedProtocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_S3}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("DriverGetInfo (-want +got):\n%s", diff)
	}
}

func TestRequestsReachTheDriverInItsTypes(t *testing.T) {
	t.Parallel()
	var granted driverkit.GrantAccessRequest
	var revoked driverkit.RevokeAccessRequest
	driver := &stub{revoke: func(_ context.Context, r driverkit.RevokeAccessRequest) error { revoked = r; return nil }}
	driver.info = func() driverkit.Info {
		info := (&stub{}).Info()
		info.AuthTypes = []driverkit.AuthType{driverkit.ServiceAccount}
		info.MultiBucket = info.AuthTypes
		return info
	}
	driver.grant = func(_ context.Context, r driverkit.GrantAccessRequest) (driverkit.Access, error) {
		granted = r
		both := bucketInfo()
		both.GCS = &driverkit.GCSBucket{ProjectID: "p", BucketName: "b"}
		return driverkit.Access{Buckets: map[string]driverkit.BucketInfo{"bc-1": both, "bc-2": bucketInfo()}}, nil
	}
	client := drivertest.Serve(t, driver, driverkit.Options{})
	request := grantRequest(func(r *cosi.DriverGrantBucketAccessRequest) {
		r.AuthenticationType.Type = cosi.AuthenticationType_SERVICE_ACCOUNT
		r.ServiceAccountName, r.ServiceAccountNamespace, r.Rotation = "sa", "ns", "r"
		r.Parameters = map[string]string{"days": "3"}
		r.Buckets = []*cosi.AccessedBucket{accessed("bc-2", cosi.AccessMode_ANY), accessed("bc-1", cosi.AccessMode_READ_ONLY)}
		r.DisallowedAccessModes = &cosi.DisallowedAccessModes{
			ObjectData:     []cosi.AccessMode_Mode{cosi.AccessMode_READ_WRITE, cosi.AccessMode_WRITE_ONLY},
			BucketMetadata: []cosi.AccessMode_Mode{cosi.AccessMode_READ_ONLY},
		}
	})
	answer, err := client.DriverGrantBucketAccess(t.Context(), request)
	mustSucceed(t, err)
	if answer.GetBuckets()[0].GetBucketInfo().GetGcs() != nil || answer.GetCredentials() != nil {
		t.Errorf("the response holds more than the requested protocol: %v", answer)
	}
	want := driverkit.GrantAccessRequest{AccountID: "ba-1", AccessSpec: driverkit.AccessSpec{
		Protocol: driverkit.S3, AuthType: driverkit.ServiceAccount, Rotation: "r",
		ServiceAccount: driverkit.ServiceAccountRef{Name: "sa", Namespace: "ns"},
		Parameters:     driverkit.Values{"days": "3"},
		Buckets: []driverkit.BucketAccess{
			{BucketID: "bc-1", ObjectData: driverkit.ReadOnly, ObjectMetadata: driverkit.Any, BucketMetadata: driverkit.Any},
			{BucketID: "bc-2", ObjectData: driverkit.Any, ObjectMetadata: driverkit.Any, BucketMetadata: driverkit.Any},
		},
		Disallowed: driverkit.DisallowedModes{
			ObjectData:     []driverkit.Mode{driverkit.ReadWrite, driverkit.WriteOnly},
			BucketMetadata: []driverkit.Mode{driverkit.ReadOnly},
		},
	}}
	if diff := cmp.Diff(want, granted); diff != "" {
		t.Errorf("grant (-want +got):\n%s", diff)
	}
	_, err = client.DriverRevokeBucketAccess(t.Context(), &cosi.DriverRevokeBucketAccessRequest{
		AccountId: "ba-1", Protocol: request.GetProtocol(), AuthenticationType: request.GetAuthenticationType(),
		ServiceAccountName: "sa", ServiceAccountNamespace: "ns", Parameters: map[string]string{"from an older version": "x"},
		Buckets: []*cosi.DriverRevokeBucketAccessRequest_AccessedBucket{{BucketId: "bc-2"}, {BucketId: "bc-1"}},
	})
	mustSucceed(t, err)
	wantRevoke := driverkit.RevokeAccessRequest{
		AccountID: "ba-1", Protocol: driverkit.S3, AuthType: driverkit.ServiceAccount,
		ServiceAccount: want.ServiceAccount, BucketIDs: []string{"bc-1", "bc-2"},
		Parameters: driverkit.Values{"from an older version": "x"},
	}
	if diff := cmp.Diff(wantRevoke, revoked); diff != "" {
		t.Errorf("revoke (-want +got):\n%s", diff)
	}
}

func TestKeyAccessHidesTheServiceAccount(t *testing.T) {
	t.Parallel()
	var got driverkit.GrantAccessRequest
	driver := &stub{}
	driver.grant = func(ctx context.Context, r driverkit.GrantAccessRequest) (driverkit.Access, error) {
		got = r
		return (&stub{}).GrantAccess(ctx, r)
	}
	_, err := drivertest.Serve(t, driver, driverkit.Options{}).DriverGrantBucketAccess(t.Context(),
		grantRequest(func(r *cosi.DriverGrantBucketAccessRequest) { r.ServiceAccountName = "sa" }))
	mustSucceed(t, err)
	if got.ServiceAccount != (driverkit.ServiceAccountRef{}) {
		t.Errorf("a driver for keys sees %+v", got.ServiceAccount)
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	client := drivertest.Serve(t, &stub{}, driverkit.Options{})
	// Rows run at once, and two calls for one bucket or account would be refused: each row has its own.
	create := func(request *cosi.DriverCreateBucketRequest) func() error {
		return func() error { _, err := client.DriverCreateBucket(t.Context(), request); return err }
	}
	generate := func(request *cosi.DriverGenerateBucketIdRequest) func() error {
		return func() error { _, err := client.DriverGenerateBucketId(t.Context(), request); return err }
	}
	grant := func(change func(*cosi.DriverGrantBucketAccessRequest)) func() error {
		return func() error {
			request := grantRequest(change)
			request.AccountId = drivertest.NewAccount()
			_, err := client.DriverGrantBucketAccess(t.Context(), request)
			return err
		}
	}
	azure := []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_AZURE}}
	tests := map[string]struct {
		call    func() error
		code    codes.Code
		message string
	}{
		"a required field is missing": {
			create(&cosi.DriverCreateBucketRequest{}), codes.InvalidArgument, "bucket_id is required",
		},
		"an unknown parameter when created": {
			create(&cosi.DriverCreateBucketRequest{BucketId: "b1", Parameters: map[string]string{"tear": "hot"}}),
			codes.InvalidArgument, `unknown parameter "tear"; supported parameters: tier`,
		},
		"an unknown parameter in phase 1 already": {
			generate(&cosi.DriverGenerateBucketIdRequest{Name: "b", Parameters: map[string]string{"tear": "hot"}}),
			codes.InvalidArgument, `unknown parameter "tear"; supported parameters: tier`,
		},
		"a value that a parameter cannot have": {
			generate(&cosi.DriverGenerateBucketIdRequest{Name: "b", Parameters: map[string]string{"tier": "warm"}}),
			codes.InvalidArgument, `parameter tier is "warm", but must be one of: hot, cold`,
		},
		"a number out of range": {
			grant(func(r *cosi.DriverGrantBucketAccessRequest) { r.Parameters = map[string]string{"days": "31"} }),
			codes.InvalidArgument, `parameter days is "31", but must be a number from 1 to 30`,
		},
		"a protocol the driver lacks": {
			create(&cosi.DriverCreateBucketRequest{BucketId: "b2", Protocols: azure}),
			codes.InvalidArgument, "protocol Azure is not supported; this driver supports S3",
		},
		"a name that cannot be an ID": {
			generate(&cosi.DriverGenerateBucketIdRequest{Name: "b:c"}), codes.InvalidArgument,
			`name "b:c" cannot be a bucket ID: bucket_id has the character ':' at position 1; allowed are A-Z, a-z, 0-9 and ._/-`,
		},
		"an authentication type the driver lacks": {
			grant(func(r *cosi.DriverGrantBucketAccessRequest) {
				r.AuthenticationType.Type, r.ServiceAccountName = cosi.AuthenticationType_SERVICE_ACCOUNT, "sa"
			}), codes.InvalidArgument, "authentication type ServiceAccount is not supported; this driver supports Key",
		},
		"a mode the driver lacks": {
			grant(func(r *cosi.DriverGrantBucketAccessRequest) {
				r.Buckets[0] = accessed("bc-1", cosi.AccessMode_WRITE_ONLY)
			}),
			codes.InvalidArgument,
			"bucket bc-1: access mode WriteOnly for object data is not supported; this driver supports ReadWrite, ReadOnly",
		},
		"a category the driver lacks": {
			grant(func(r *cosi.DriverGrantBucketAccessRequest) {
				r.Buckets[0].BucketMetadataAccessMode = &cosi.AccessMode{Mode: cosi.AccessMode_READ_ONLY}
			}), codes.InvalidArgument,
			"bucket bc-1: access mode ReadOnly for bucket metadata is not supported; leave it unset with this driver",
		},
		"two buckets for one key": {
			grant(func(r *cosi.DriverGrantBucketAccessRequest) {
				r.Buckets = append(r.Buckets, accessed("bc-2", cosi.AccessMode_ANY))
			}), codes.OutOfRange, "with authentication type Key, this driver cannot create one account for 2 buckets; " +
				"create one BucketAccess for each bucket",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantStatus(t, test.call(), test.code, test.message)
		})
	}
}

func TestDeletionToleratesUnknownParameters(t *testing.T) {
	t.Parallel()
	_, err := drivertest.Serve(t, &stub{}, driverkit.Options{}).DriverDeleteBucket(t.Context(),
		&cosi.DriverDeleteBucketRequest{BucketId: "b", Parameters: map[string]string{"of an older version": "x"}})
	if err != nil {
		t.Error(err)
	}
}

func TestDriverErrors(t *testing.T) {
	t.Parallel()
	const neutral = "the driver failed; see its log for details"
	canary := errors.New("canary-value")
	tests := map[string]struct {
		err     error
		code    codes.Code
		message string
	}{
		"an error with a code": {driverkit.NotFound("no bucket %s", "b"), codes.NotFound, "no bucket b"},
		"its detail stays in the log": {
			driverkit.Unavailable("the store is down").WithDetail(canary), codes.Unavailable, "the store is down",
		},
		"what wraps it stays in the log": {
			fmt.Errorf("canary-value: %w", driverkit.AlreadyExists("taken")), codes.AlreadyExists, "taken",
		},
		"a plain error": {canary, codes.Internal, neutral},
		"a gRPC error of a backend's client is not ours": {status.Error(codes.InvalidArgument, "canary-value"), codes.Internal, neutral},
		"a deadline of a backend's client": {
			fmt.Errorf("canary-value: %w", context.DeadlineExceeded), codes.DeadlineExceeded,
			"the call did not finish within its deadline; a repeated call continues the work",
		},
		"an exhausted quota": {driverkit.ResourceExhausted("quota"), codes.ResourceExhausted, "quota"},
		"not empty":          {driverkit.FailedPrecondition("not empty"), codes.FailedPrecondition, "not empty"},
		"denied":             {driverkit.PermissionDenied("denied"), codes.PermissionDenied, "denied"},
		"unauthenticated":    {driverkit.Unauthenticated("who"), codes.Unauthenticated, "who"},
		"aborted":            {driverkit.Aborted("busy"), codes.Aborted, "busy"},
		"out of range":       {driverkit.OutOfRange("one"), codes.OutOfRange, "one"},
		"unimplemented":      {driverkit.Unimplemented("never"), codes.Unimplemented, "never"},
		"deadline exceeded":  {driverkit.DeadlineExceeded("more to do"), codes.DeadlineExceeded, "more to do"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log buffer
			client := drivertest.Serve(t, &stub{
				remove: func(context.Context, driverkit.DeleteBucketRequest) error { return test.err },
			}, driverkit.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			_, err := client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: "b"})
			wantStatus(t, err, test.code, test.message)
			if strings.Contains(test.err.Error(), "canary-value") && !strings.Contains(log.String(), "canary-value") {
				t.Errorf("the log lacks the detail: %s", log.String())
			}
		})
	}
}

func TestBadResponsesAndPanics(t *testing.T) {
	t.Parallel()
	const broken = "the driver returned a response that violates the COSI contract; see its log for details"
	const neutral = "the driver failed; see its log for details"
	tests := map[string]struct {
		info          func() driverkit.Info
		create        func() driverkit.BucketInfo
		message, logs string
	}{
		"a panic": {
			nil, func() driverkit.BucketInfo { panic("out of cheese") },
			"the driver crashed in this call; see its log for details", "panic: out of cheese",
		},
		"no protocol": {
			nil, func() driverkit.BucketInfo { return driverkit.BucketInfo{} }, broken,
			"DriverCreateBucketResponse: protocols is required: the response has no protocol for the bucket",
		},
		"a protocol that Info does not declare": {
			nil, func() driverkit.BucketInfo {
				return driverkit.BucketInfo{S3: bucketInfo().S3, GCS: &driverkit.GCSBucket{}}
			}, neutral, "the driver returns protocol GCS for a bucket, but Info declares only S3",
		},
		"a password in the endpoint": {
			nil, func() driverkit.BucketInfo {
				return driverkit.BucketInfo{S3: &driverkit.S3Bucket{Endpoint: "https://a:canary-value@b"}}
			}, broken, "protocols.s3.endpoint contains a user name or password",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log buffer
			client := drivertest.Serve(t, &stub{
				create: func(context.Context, driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
					return test.create(), nil
				},
			}, driverkit.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			for range 2 { // the second call proves that the ID is not locked forever
				_, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "b"})
				wantStatus(t, err, codes.Internal, test.message)
			}
			if !strings.Contains(log.String(), test.logs) || strings.Contains(log.String(), "canary-value") {
				t.Errorf("the log: %s", log.String())
			}
		})
	}
}

func TestBadIDOfAGenerator(t *testing.T) {
	t.Parallel()
	client := drivertest.Serve(t, &generating{id: "arn:aws"}, driverkit.Options{})
	_, err := client.DriverGenerateBucketId(t.Context(), &cosi.DriverGenerateBucketIdRequest{Name: "n"})
	wantStatus(t, err, codes.Internal, "the driver returned a response that violates the COSI contract; see its log for details")
	good := drivertest.Serve(t, &generating{id: "x/"}, driverkit.Options{})
	bucket, err := good.DriverGenerateBucketId(t.Context(), &cosi.DriverGenerateBucketIdRequest{Name: "n"})
	if err != nil || bucket.GetBucketId() != "x/n" {
		t.Errorf("got %v, %v", bucket, err)
	}
	account, err := good.DriverGenerateBucketAccessId(t.Context(), accessID("n"))
	if err != nil || account.GetAccountId() != "x/n" {
		t.Errorf("got %v, %v", account, err)
	}
}

func accessID(name string) *cosi.DriverGenerateBucketAccessIdRequest {
	grant := grantRequest(nil)
	return &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: name, Protocol: grant.GetProtocol(), AuthenticationType: grant.GetAuthenticationType(), Buckets: grant.GetBuckets(),
	}
}

// generating has IDs of its own.
type generating struct {
	stub
	id string
}

func (g *generating) BucketID(_ context.Context, r driverkit.BucketIDRequest) (string, error) {
	return g.id + r.Name, nil
}

func (g *generating) AccountID(_ context.Context, r driverkit.AccountIDRequest) (string, error) {
	return g.id + r.Name, nil
}

func TestDefaultIDsAreTheNames(t *testing.T) {
	t.Parallel()
	client := drivertest.Serve(t, &stub{}, driverkit.Options{})
	bucket, err := client.DriverGenerateBucketId(t.Context(), &cosi.DriverGenerateBucketIdRequest{Name: "bc-1"})
	if err != nil || bucket.GetBucketId() != "bc-1" {
		t.Errorf("got %v, %v", bucket, err)
	}
	account, err := client.DriverGenerateBucketAccessId(t.Context(), accessID("ba-1"))
	if err != nil || account.GetAccountId() != "ba-1" {
		t.Errorf("got %v, %v", account, err)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	values := driverkit.Values{"a": "true", "b": "false"}
	if !values.Bool("a") || values.Bool("b") || values.Bool("c") || values.Or("b", "x") != "false" || values.Or("c", "x") != "x" {
		t.Error("Bool or Or is wrong")
	}
	if driverkit.Boolean("yes") == nil || driverkit.Boolean("true") != nil {
		t.Error("Boolean is wrong")
	}
	distinct := []driverkit.Values{nil, {"a": "b=c"}, {"a=b": "c"}, {"a": "b", "c": "d"}, {"a": `b"="c`}}
	hashes := map[string]bool{}
	for _, values := range distinct {
		hashes[values.Hash()] = true
		if values.Hash() != maps.Clone(values).Hash() || len(values.Hash()) != 32 {
			t.Errorf("%v has the hashes %s and %s", values, values.Hash(), maps.Clone(values).Hash())
		}
	}
	if len(hashes) != len(distinct) {
		t.Errorf("%d hashes of %d values: %v", len(hashes), len(distinct), slices.Collect(maps.Keys(hashes)))
	}
}
