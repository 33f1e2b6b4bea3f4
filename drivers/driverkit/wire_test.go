// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// serveOld serves a driver by v1alpha1 too.
func serveOld(t *testing.T, driver driverkit.Driver, options driverkit.Options) v1alpha1.ProvisionerClient {
	t.Helper()
	options.V1Alpha1 = true
	return v1alpha1.NewProvisionerClient(drivertest.Serve(t, driver, options).Conn)
}

// serveUpstream serves a driver by upstream's v1alpha2 too.
func serveUpstream(t *testing.T, driver driverkit.Driver) upstream.ProvisionerClient {
	t.Helper()
	second := drivertest.Endpoint(t)
	drivertest.Serve(t, driver, driverkit.Options{UpstreamEndpoint: second})
	return upstream.NewClient(drivertest.Dial(t, second).Conn)
}

// others returns a stub that offers a protocol in the place of S3.
func others(protocol driverkit.Protocol, bucket driverkit.BucketInfo, credential driverkit.Credential) *stub {
	return &stub{
		info: func() driverkit.Info {
			info := (&stub{}).Info()
			info.Protocols = []driverkit.Protocol{protocol}
			return info
		},
		create: func(context.Context, driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) { return bucket, nil },
		grant: func(_ context.Context, r driverkit.GrantAccessRequest) (driverkit.Access, error) {
			return driverkit.Access{Buckets: map[string]driverkit.BucketInfo{r.Buckets[0].BucketID: bucket}, Credential: credential}, nil
		},
	}
}

// named is a stub whose IDs differ from the names.
type named struct {
	*stub

	id func(name string) string
}

func (n named) BucketID(_ context.Context, r driverkit.BucketIDRequest) (string, error) {
	return n.id(r.Name), nil
}

func (n named) AccountID(_ context.Context, r driverkit.AccountIDRequest) (string, error) {
	return n.id(r.Name), nil
}

// pairs is a stub whose HMAC pairs are for S3 clients.
type pairs struct{ *stub }

func (pairs) S3Endpoint(bucketID string) string { return "https://s3.example.com/" + bucketID }

func TestV1Alpha1IsOptIn(t *testing.T) {
	t.Parallel()
	client := drivertest.Serve(t, &stub{}, driverkit.Options{})
	_, err := v1alpha1.NewIdentityClient(client.Conn).DriverGetInfo(t.Context(), &v1alpha1.DriverGetInfoRequest{})
	wantStatus(t, err, codes.Unimplemented, "unknown service cosi.v1alpha1.Identity")
}

func TestV1Alpha1SharesTheSocket(t *testing.T) {
	t.Parallel()
	client := drivertest.Serve(t, &stub{}, driverkit.Options{V1Alpha1: true})
	info, err := v1alpha1.NewIdentityClient(client.Conn).DriverGetInfo(t.Context(), &v1alpha1.DriverGetInfoRequest{})
	if err != nil || info.GetName() != "stub.example.com" {
		t.Errorf("by v1alpha1: %v, %v", info, err)
	}
	if _, err := client.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{}); err != nil {
		t.Errorf("by v1alpha2: %v", err)
	}
}

func TestV1Alpha1Buckets(t *testing.T) {
	t.Parallel()
	var created driverkit.CreateBucketRequest
	var deleted driverkit.DeleteBucketRequest
	driver := &stub{
		create: func(_ context.Context, r driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
			created = r
			return bucketInfo(), nil
		},
		remove: func(_ context.Context, r driverkit.DeleteBucketRequest) error { deleted = r; return nil },
	}
	client := serveOld(t, driver, driverkit.Options{})
	answer, err := client.DriverCreateBucket(t.Context(), &v1alpha1.DriverCreateBucketRequest{Name: "gold-1", Parameters: map[string]string{"tier": "hot"}})
	mustSucceed(t, err)
	want := &v1alpha1.DriverCreateBucketResponse{BucketId: "gold-1", BucketInfo: &v1alpha1.Protocol{
		Type: &v1alpha1.Protocol_S3{S3: &v1alpha1.S3{Region: "eu", SignatureVersion: v1alpha1.S3SignatureVersion_S3V4}},
	}}
	if diff := cmp.Diff(want, answer, protocmp.Transform()); diff != "" {
		t.Errorf("the response (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(driverkit.CreateBucketRequest{BucketID: "gold-1", Parameters: driverkit.Values{"tier": "hot"}}, created); diff != "" {
		t.Errorf("the creation (-want +got):\n%s", diff)
	}
	_, err = client.DriverDeleteBucket(t.Context(), &v1alpha1.DriverDeleteBucketRequest{BucketId: "gold-1", DeleteContext: map[string]string{"tier": "hot"}})
	mustSucceed(t, err)
	if diff := cmp.Diff(driverkit.DeleteBucketRequest{BucketID: "gold-1", Parameters: driverkit.Values{"tier": "hot"}}, deleted); diff != "" {
		t.Errorf("the deletion (-want +got):\n%s", diff)
	}
}

func TestV1Alpha1BucketsAreCalledAsAskedFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		id   func(string) string
		code codes.Code
	}{
		"the name itself":                     {func(name string) string { return name }, codes.OK},
		"the name at another backend":         {func(name string) string { return "other." + name }, codes.OK},
		"a prefix of the class is refused":    {func(name string) string { return "team-" + name }, codes.InvalidArgument},
		"a hash is refused":                   {func(string) string { return "h-1234" }, codes.InvalidArgument},
		"what begins with it is refused, too": {func(name string) string { return name + "-2" }, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := named{&stub{create: func(context.Context, driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
				if tc.code != codes.OK {
					t.Error("the bucket is made before it is refused")
				}
				return bucketInfo(), nil
			}}, tc.id}
			_, err := serveOld(t, driver, driverkit.Options{}).DriverCreateBucket(t.Context(), &v1alpha1.DriverCreateBucketRequest{Name: "gold-1"})
			drivertest.WantCode(t, err, tc.code)
		})
	}
}

func TestV1Alpha1Grants(t *testing.T) {
	t.Parallel()
	var granted driverkit.GrantAccessRequest
	var revoked driverkit.RevokeAccessRequest
	driver := &stub{revoke: func(_ context.Context, r driverkit.RevokeAccessRequest) error { revoked = r; return nil }}
	driver.grant = func(ctx context.Context, r driverkit.GrantAccessRequest) (driverkit.Access, error) {
		granted = r
		return (&stub{}).GrantAccess(ctx, r)
	}
	client := serveOld(t, driver, driverkit.Options{})
	answer, err := client.DriverGrantBucketAccess(t.Context(), &v1alpha1.DriverGrantBucketAccessRequest{
		BucketId: "gold-1", Name: "ba-1", AuthenticationType: v1alpha1.AuthenticationType_Key, Parameters: map[string]string{"days": "3"},
	})
	mustSucceed(t, err)
	want := &v1alpha1.DriverGrantBucketAccessResponse{AccountId: "ba-1", Credentials: map[string]*v1alpha1.CredentialDetails{"s3": {Secrets: map[string]string{
		"accessKeyID": "AKIA", "accessSecretKey": "canary-value", "endpoint": "https://s3.example.com", "region": "eu",
	}}}}
	if diff := cmp.Diff(want, answer, protocmp.Transform()); diff != "" {
		t.Errorf("the response (-want +got):\n%s", diff)
	}
	wantGrant := driverkit.GrantAccessRequest{AccountID: "ba-1", AccessSpec: driverkit.AccessSpec{
		Protocol: driverkit.S3, AuthType: driverkit.Key, Parameters: driverkit.Values{"days": "3"}, OnlyPairs: true,
		Buckets: []driverkit.BucketAccess{{BucketID: "gold-1", ObjectData: driverkit.ReadWrite, ObjectMetadata: driverkit.Any, BucketMetadata: driverkit.Any}},
	}}
	if diff := cmp.Diff(wantGrant, granted); diff != "" {
		t.Errorf("the grant (-want +got):\n%s", diff)
	}
	if _, err := client.DriverRevokeBucketAccess(t.Context(), &v1alpha1.DriverRevokeBucketAccessRequest{BucketId: "gold-1", AccountId: "ba-1"}); err != nil {
		t.Fatal(err)
	}
	wantRevoke := driverkit.RevokeAccessRequest{AccountID: "ba-1", Protocol: driverkit.S3, AuthType: driverkit.Key, BucketIDs: []string{"gold-1"}}
	if diff := cmp.Diff(wantRevoke, revoked); diff != "" {
		t.Errorf("the revoke (-want +got):\n%s", diff)
	}
}

func TestV1Alpha1CredentialsOfOtherProtocols(t *testing.T) {
	t.Parallel()
	expiry := time.Date(2030, 1, 31, 13, 0, 0, 0, time.FixedZone("CET", 3600))
	google := driverkit.BucketInfo{GCS: &driverkit.GCSBucket{ProjectID: "p", BucketName: "gold-1"}}
	hmac := driverkit.Credential{GCS: &driverkit.GCSCredential{AccessID: "GOOG1", AccessSecret: cosi.NewSecret("canary-value")}}
	signed := func(expiry time.Time) *stub {
		return others(driverkit.Azure, driverkit.BucketInfo{Azure: &driverkit.AzureBucket{StorageAccount: "main"}},
			driverkit.Credential{Azure: &driverkit.AzureCredential{Token: cosi.NewSecret("https://main/gold-1?sig=canary-value"), Expiry: expiry}})
	}
	for name, tc := range map[string]struct {
		driver driverkit.Driver
		want   map[string]map[string]string
		code   codes.Code
	}{
		"Azure": {driver: signed(expiry), want: map[string]map[string]string{"azure": {
			"accessToken": "https://main/gold-1?sig=canary-value", "expiryTs": "2030-01-31 12:00:00 +0000 UTC",
		}}},
		"Azure without an expiry": {driver: signed(time.Time{}), want: map[string]map[string]string{"azure": {
			"accessToken": "https://main/gold-1?sig=canary-value",
		}}},
		"GCS is reached by S3": {driver: pairs{others(driverkit.GCS, google, hmac)}, want: map[string]map[string]string{"s3": {
			"accessKeyID": "GOOG1", "accessSecretKey": "canary-value", "endpoint": "https://s3.example.com/gold-1", "region": "auto",
		}}},
		"GCS is refused where S3 does not reach it": {driver: others(driverkit.GCS, google, hmac), code: codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := serveOld(t, tc.driver, driverkit.Options{}).DriverGrantBucketAccess(t.Context(), &v1alpha1.DriverGrantBucketAccessRequest{
				BucketId: "gold-1", Name: "ba-1", AuthenticationType: v1alpha1.AuthenticationType_Key,
			})
			drivertest.WantCode(t, err, tc.code)
			var got map[string]map[string]string
			for key, details := range answer.GetCredentials() {
				got = map[string]map[string]string{key: details.GetSecrets()}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("the credentials (-want +got):\n%s", diff)
			}
			if expiry := got["azure"]["expiryTs"]; expiry != "" {
				if _, err := time.Parse(v1alpha1.ExpiryLayout, expiry); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestV1Alpha1Refusals(t *testing.T) {
	t.Parallel()
	client := serveOld(t, &stub{}, driverkit.Options{})
	grant := func(change func(*v1alpha1.DriverGrantBucketAccessRequest)) error {
		request := &v1alpha1.DriverGrantBucketAccessRequest{BucketId: "gold-1", Name: "ba-1", AuthenticationType: v1alpha1.AuthenticationType_Key}
		change(request)
		_, err := client.DriverGrantBucketAccess(t.Context(), request)
		return err
	}
	create := func(request *v1alpha1.DriverCreateBucketRequest) error {
		_, err := client.DriverCreateBucket(t.Context(), request)
		return err
	}
	for name, tc := range map[string]struct {
		err     error
		message string
	}{
		"a bucket without a name": {create(&v1alpha1.DriverCreateBucketRequest{}), "name is required"},
		"a name over the limit":   {create(&v1alpha1.DriverCreateBucketRequest{Name: strings.Repeat("x", 254)}), "name has 254 bytes, more than 253"},
		"an unknown parameter": {
			create(&v1alpha1.DriverCreateBucketRequest{Name: "b", Parameters: map[string]string{"tear": "hot"}}), `unknown parameter "tear"; supported parameters: tier`,
		},
		"a grant without a name":   {grant(func(r *v1alpha1.DriverGrantBucketAccessRequest) { r.Name = "" }), "name is required"},
		"a grant without a bucket": {grant(func(r *v1alpha1.DriverGrantBucketAccessRequest) { r.BucketId = "" }), "buckets[0].bucket_id is required"},
		"a grant without a type": {
			grant(func(r *v1alpha1.DriverGrantBucketAccessRequest) { r.AuthenticationType = 0 }), "authentication_type is required",
		},
		"a type of a later version": {
			grant(func(r *v1alpha1.DriverGrantBucketAccessRequest) { r.AuthenticationType = 77 }), "authentication_type has the unknown value 77",
		},
		"IAM": {
			grant(func(r *v1alpha1.DriverGrantBucketAccessRequest) {
				r.AuthenticationType = v1alpha1.AuthenticationType_IAM
			}),
			"authentication_type IAM is not supported: requests of COSI v1alpha1 contain no service account; use Key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantStatus(t, tc.err, codes.InvalidArgument, tc.message)
		})
	}
}

func TestWiresShareOneGuard(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	second := drivertest.Endpoint(t)
	client := drivertest.Serve(t, &stub{remove: func(context.Context, driverkit.DeleteBucketRequest) error {
		close(entered)
		<-release
		return nil
	}}, driverkit.Options{V1Alpha1: true, UpstreamEndpoint: second})
	done := make(chan error, 1)
	go func() {
		_, err := client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: "one"})
		done <- err
	}()
	<-entered
	_, old := v1alpha1.NewProvisionerClient(client.Conn).DriverCreateBucket(t.Context(), &v1alpha1.DriverCreateBucketRequest{Name: "one"})
	wantStatus(t, old, codes.Aborted, "another call for bucket one is still running")
	_, other := upstream.NewClient(drivertest.Dial(t, second).Conn).DriverCreateBucket(t.Context(), &upstream.DriverCreateBucketRequest{Name: "one"})
	wantStatus(t, other, codes.Aborted, "another call for bucket one is still running")
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNoSecretOfAWireIsLogged(t *testing.T) {
	t.Parallel()
	var log buffer
	second := drivertest.Endpoint(t)
	client := drivertest.Serve(t, &stub{}, driverkit.Options{
		V1Alpha1: true, UpstreamEndpoint: second,
		Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	_, err := v1alpha1.NewProvisionerClient(client.Conn).DriverGrantBucketAccess(t.Context(), &v1alpha1.DriverGrantBucketAccessRequest{
		BucketId: "gold-1", Name: "ba-1", AuthenticationType: v1alpha1.AuthenticationType_Key,
	})
	mustSucceed(t, err)
	if _, err := upstream.NewClient(drivertest.Dial(t, second).Conn).DriverGrantBucketAccess(t.Context(), upstreamGrant()); err != nil {
		t.Fatal(err)
	}
	got := log.String()
	if strings.Contains(got, "canary-value") || strings.Count(got, "[redacted]") < 2 {
		t.Errorf("the log: %s", got)
	}
	for _, method := range []string{v1alpha1.Provisioner_DriverGrantBucketAccess_FullMethodName, upstream.Provisioner_DriverGrantBucketAccess_FullMethodName} {
		if !strings.Contains(got, method) {
			t.Errorf("the log lacks %s: %s", method, got)
		}
	}
}

func upstreamGrant() *upstream.DriverGrantBucketAccessRequest {
	return &upstream.DriverGrantBucketAccessRequest{
		AccountName:        "ba-1",
		Protocol:           &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Buckets: []*upstream.DriverGrantBucketAccessRequest_AccessedBucket{{
			BucketId: "gold-1", AccessMode: &upstream.AccessMode{Mode: upstream.AccessMode_READ_WRITE},
		}},
	}
}

func TestUpstreamBuckets(t *testing.T) {
	t.Parallel()
	client := serveUpstream(t, named{&stub{}, func(name string) string { return "id-" + name }})
	info := &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{
		BucketId: "b", Endpoint: "https://s3.example.com", Region: "eu", AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_VIRTUAL},
	}}
	created, err := client.DriverCreateBucket(t.Context(), &upstream.DriverCreateBucketRequest{Name: "gold-1", Parameters: map[string]string{"tier": "hot"}})
	mustSucceed(t, err)
	if diff := cmp.Diff(&upstream.DriverCreateBucketResponse{BucketId: "id-gold-1", Protocols: info}, created, protocmp.Transform()); diff != "" {
		t.Errorf("the creation (-want +got):\n%s", diff)
	}
	found, err := client.DriverGetExistingBucket(t.Context(), &upstream.DriverGetExistingBucketRequest{ExistingBucketId: "by-hand"})
	mustSucceed(t, err)
	if diff := cmp.Diff(&upstream.DriverGetExistingBucketResponse{BucketId: "by-hand", Protocols: info}, found, protocmp.Transform()); diff != "" {
		t.Errorf("the existing bucket (-want +got):\n%s", diff)
	}
	if _, err := client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: "id-gold-1"}); err != nil {
		t.Error(err)
	}
	_, err = client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{})
	wantStatus(t, err, codes.InvalidArgument, "bucket_id is required")
}

func TestUpstreamModes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode upstream.AccessMode_Mode
		want driverkit.Mode
		code codes.Code
	}{
		"1 is ReadWrite":          {mode: 1, want: driverkit.ReadWrite},
		"2 is ReadOnly":           {mode: 2, want: driverkit.ReadOnly},
		"3 is WriteOnly":          {mode: 3, want: driverkit.WriteOnly},
		"none is refused":         {mode: 0, code: codes.InvalidArgument},
		"a later mode is refused": {mode: 4, code: codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got driverkit.Mode
			driver := &stub{info: func() driverkit.Info {
				info := (&stub{}).Info()
				info.Modes.ObjectData = []driverkit.Mode{driverkit.ReadWrite, driverkit.ReadOnly, driverkit.WriteOnly}
				return info
			}}
			driver.grant = func(ctx context.Context, r driverkit.GrantAccessRequest) (driverkit.Access, error) {
				got = r.Buckets[0].ObjectData
				return (&stub{}).GrantAccess(ctx, r)
			}
			request := upstreamGrant()
			request.Buckets[0].AccessMode.Mode = tc.mode
			_, err := serveUpstream(t, driver).DriverGrantBucketAccess(t.Context(), request)
			drivertest.WantCode(t, err, tc.code)
			if got != tc.want {
				t.Errorf("the driver is asked for %q, want %q", got, tc.want)
			}
		})
	}
}

func TestUpstreamGrants(t *testing.T) {
	t.Parallel()
	var revoked driverkit.RevokeAccessRequest
	driver := &stub{
		info: func() driverkit.Info {
			info := (&stub{}).Info()
			info.AuthTypes = []driverkit.AuthType{driverkit.Key, driverkit.ServiceAccount}
			return info
		},
		revoke: func(_ context.Context, r driverkit.RevokeAccessRequest) error { revoked = r; return nil },
	}
	driver.grant = func(ctx context.Context, r driverkit.GrantAccessRequest) (driverkit.Access, error) {
		access, err := (&stub{}).GrantAccess(ctx, r)
		if r.AuthType == driverkit.ServiceAccount {
			access.Credential = driverkit.Credential{}
		}
		return access, err
	}
	client := serveUpstream(t, driver)
	answer, err := client.DriverGrantBucketAccess(t.Context(), upstreamGrant())
	mustSucceed(t, err)
	if answer.GetAccountId() != "ba-1" || answer.GetCredentials().GetS3().GetAccessSecretKey() != "canary-value" || answer.GetBuckets()[0].GetBucketId() != "gold-1" {
		t.Errorf("the response is %s", cosi.RedactedString(answer))
	}
	// Without the message of the protocol the upstream sidecar loses the account.
	request := upstreamGrant()
	request.AuthenticationType.Type, request.ServiceAccountName = cosi.AuthenticationType_SERVICE_ACCOUNT, "app"
	if answer, err = client.DriverGrantBucketAccess(t.Context(), request); err != nil || answer.GetCredentials().GetS3() == nil {
		t.Errorf("for a service account: %v, %v", answer, err)
	}
	_, err = client.DriverRevokeBucketAccess(t.Context(), &cosi.DriverRevokeBucketAccessRequest{
		AccountId: "ba-1", Protocol: request.GetProtocol(), AuthenticationType: request.GetAuthenticationType(), ServiceAccountName: "app",
		Buckets: []*cosi.DriverRevokeBucketAccessRequest_AccessedBucket{{BucketId: "gold-1"}},
	})
	mustSucceed(t, err)
	want := driverkit.RevokeAccessRequest{
		AccountID: "ba-1", Protocol: driverkit.S3, AuthType: driverkit.ServiceAccount, ServiceAccount: driverkit.ServiceAccountRef{Name: "app"}, BucketIDs: []string{"gold-1"},
	}
	if diff := cmp.Diff(want, revoked); diff != "" {
		t.Errorf("the revoke (-want +got):\n%s", diff)
	}
}

// TestContractsAreNotTakenForEachOther shows why the dialect has a socket of its own: a call of the one is understood as
// something else by the other.
func TestContractsAreNotTakenForEachOther(t *testing.T) {
	t.Parallel()
	ours := drivertest.Serve(t, &stub{}, driverkit.Options{})
	taken, err := upstream.NewClient(ours.Conn).DriverCreateBucket(t.Context(), &upstream.DriverCreateBucketRequest{Name: "gold-1"})
	if err == nil && taken.GetBucketId() == "gold-1" {
		t.Errorf("our socket speaks the dialect: %v", taken)
	}
	_, err = upstream.NewClient(ours.Conn).DriverGetExistingBucket(t.Context(), &upstream.DriverGetExistingBucketRequest{ExistingBucketId: "b"})
	drivertest.WantCode(t, err, codes.Unimplemented)
}

func TestTheSecondSocketIsNotBesideTheFirst(t *testing.T) {
	t.Parallel()
	first := drivertest.Endpoint(t)
	beside := "unix://" + filepath.Join(filepath.Dir(strings.TrimPrefix(first, "unix://")), "other.sock")
	for want, endpoint := range map[string]string{"use a separate directory": beside, "is not a UNIX socket address": "tcp://127.0.0.1:1"} {
		err := driverkit.Serve(t.Context(), &stub{}, driverkit.Options{Endpoint: first, UpstreamEndpoint: endpoint})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
