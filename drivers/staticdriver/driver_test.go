// SPDX-License-Identifier: Apache-2.0

package staticdriver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/staticdriver"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func onEveryCloud(t *testing.T, test func(t *testing.T, c *cloud)) {
	t.Helper()
	for name, start := range clouds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t))
		})
	}
}

// TestGivenCredentialsAreHandedOut writes the Secret of another driver's access manually. Users must get all of its
// contents, and the requested one of several credentials.
func TestGivenCredentialsAreHandedOut(t *testing.T) {
	t.Parallel()
	onEveryCloud(t, func(t *testing.T, c *cloud) {
		client, _ := serve(t, c.config(t), credstore.NewMemory())
		found, err := client.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucketID})
		mustSucceed(t, err)
		want := c.grants[driverkit.ReadWrite].GetBuckets()[0].GetBucketInfo()
		if diff := cmp.Diff(want, found.GetProtocols(), protocmp.Transform()); diff != "" {
			t.Errorf("the bucket (-written +found):\n%s", diff)
		}
		for mode, asked := range map[driverkit.Mode]cosi.AccessMode_Mode{driverkit.ReadWrite: cosi.AccessMode_READ_WRITE, driverkit.ReadOnly: cosi.AccessMode_READ_ONLY} {
			request := c.grantOf("ba-"+strings.ToLower(string(mode)), asked)
			granted, err := client.DriverGrantBucketAccess(t.Context(), request)
			mustSucceed(t, err)
			want := &cosi.DriverGrantBucketAccessResponse{
				Buckets:     []*cosi.DriverGrantBucketAccessResponse_BucketInfo{{BucketId: bucketID, BucketInfo: c.grants[mode].GetBuckets()[0].GetBucketInfo()}},
				Credentials: c.grants[mode].GetCredentials(), SharedCredential: true,
			}
			if diff := cmp.Diff(want, granted, protocmp.Transform()); diff != "" {
				t.Errorf("%s (-written +granted):\n%s", mode, diff)
			}
			if err := c.use(t.Context(), granted, true); (err == nil) != (mode == driverkit.ReadWrite) {
				t.Errorf("%s: a write: %v", mode, err)
			}
			if mode == driverkit.ReadWrite {
				if err := c.use(t.Context(), granted, false); err != nil {
					t.Errorf("a read: %v", err)
				}
			}
			if _, err := client.DriverRevokeBucketAccess(t.Context(), drivertest.RevokeRequest(request)); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestAStoreThatRefuses checks that users who claim the bucket see the store's rejection.
func TestAStoreThatRefuses(t *testing.T) {
	t.Parallel()
	onEveryCloud(t, func(t *testing.T, c *cloud) {
		client, driver := serve(t, c.config(t), credstore.NewMemory())
		want := func(code codes.Code, text string) {
			t.Helper()
			_, err := client.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucketID})
			drivertest.WantCode(t, err, code, text)
			_, err = client.DriverGrantBucketAccess(t.Context(), c.grantOf("ba-1", cosi.AccessMode_READ_WRITE))
			drivertest.WantCode(t, err, code, text)
			if driver.CheckBackends(t.Context())[bucketID] == nil {
				t.Error("the health of the bucket is good")
			}
		}
		if err := driver.CheckBackends(t.Context())[bucketID]; err != nil {
			t.Errorf("the health of the bucket: %v", err)
		}
		if c.protocol == cosi.ObjectProtocol_AZURE { // a signature is removed with its container
			c.refuse(t)
			want(codes.PermissionDenied, "rejects the configured credential")
			return
		}
		c.remove(t)
		want(codes.NotFound, "does not exist")
		c.refuse(t)
		want(codes.PermissionDenied, "rejects the configured credential")
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := newS3(t)
	client, _ := serve(t, c.config(t), credstore.NewMemory())
	ctx := t.Context()
	_, err := client.DriverGenerateBucketId(ctx, &cosi.DriverGenerateBucketIdRequest{Name: "bc-1"})
	drivertest.WantCode(t, err, codes.InvalidArgument, "creates no buckets")
	_, err = client.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: bucketID})
	drivertest.WantCode(t, err, codes.InvalidArgument, "existingBucketName")
	_, err = client.DriverGetBucket(ctx, &cosi.DriverGetBucketRequest{BucketId: "other"})
	drivertest.WantCode(t, err, codes.NotFound, "is not in the configuration")
	_, err = client.DriverGetBucket(ctx, &cosi.DriverGetBucketRequest{BucketId: bucketID, Protocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_GCS}}})
	drivertest.WantCode(t, err, codes.InvalidArgument, "GCS")
	_, err = client.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: bucketID})
	drivertest.WantCode(t, err, codes.FailedPrecondition, "deletionPolicy of its Bucket to Retain")
	if _, err := client.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: "other"}); err != nil {
		t.Errorf("a bucket that is none of this driver's: %v", err)
	}
	for name, tc := range map[string]struct {
		change func(*cosi.DriverGrantBucketAccessRequest)
		code   codes.Code
		text   string
	}{
		"a class that accepts no shared credential": {func(r *cosi.DriverGrantBucketAccessRequest) { r.Parameters = nil }, codes.InvalidArgument, "acceptSharedCredential"},
		"one with an explicit false":                {func(r *cosi.DriverGrantBucketAccessRequest) { r.Parameters["acceptSharedCredential"] = "false" }, codes.InvalidArgument, "not revoked with the access"},
		"a rotation":                                {func(r *cosi.DriverGrantBucketAccessRequest) { r.Rotation = "1" }, codes.InvalidArgument, "an administrator rotates"},
		"a mode that is not configured": {func(r *cosi.DriverGrantBucketAccessRequest) {
			r.Buckets[0].ObjectDataAccessMode.Mode = cosi.AccessMode_WRITE_ONLY
		}, codes.InvalidArgument, "ReadOnly, ReadWrite"},
		"another bucket": {func(r *cosi.DriverGrantBucketAccessRequest) { r.Buckets[0].BucketId = "other" }, codes.NotFound, "is not in the configuration"},
		"two buckets": {
			func(r *cosi.DriverGrantBucketAccessRequest) {
				r.Buckets = append(r.Buckets, &cosi.AccessedBucket{BucketId: "other", ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_ONLY}})
			},
			codes.OutOfRange, "one BucketAccess for each bucket",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := c.grantOf(drivertest.NewAccount(), cosi.AccessMode_READ_WRITE) // two calls for one account would be rejected
			tc.change(request)
			_, err := client.DriverGrantBucketAccess(t.Context(), request)
			drivertest.WantCode(t, err, tc.code, tc.text)
		})
	}
}

// TestAnAccountIsForOneRequest checks that the purpose of an account is kept across a restart, until it is revoked.
func TestAnAccountIsForOneRequest(t *testing.T) {
	t.Parallel()
	c := newS3(t)
	config, store := c.config(t), credstore.NewMemory()
	client, _ := serve(t, config, store)
	first := c.grantOf("ba-1", cosi.AccessMode_READ_WRITE)
	if _, err := client.DriverGrantBucketAccess(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	client, _ = serve(t, config, store)
	if _, err := client.DriverGrantBucketAccess(t.Context(), first); err != nil {
		t.Errorf("the same again: %v", err)
	}
	other := c.grantOf("ba-1", cosi.AccessMode_READ_ONLY)
	_, err := client.DriverGrantBucketAccess(t.Context(), other)
	drivertest.WantCode(t, err, codes.AlreadyExists, "exists with other buckets, access modes or parameters")
	if _, err := client.DriverRevokeBucketAccess(t.Context(), drivertest.RevokeRequest(first)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.DriverGrantBucketAccess(t.Context(), other); err != nil {
		t.Errorf("after the revocation: %v", err)
	}
}

// TestAnExchangedCredentialReachesUsers replaces the contents of a directory.
func TestAnExchangedCredentialReachesUsers(t *testing.T) {
	t.Parallel()
	c := newS3(t)
	config := c.config(t)
	client, driver := serve(t, config, credstore.NewMemory())
	client.AwaitBackends(t) // which also reads the directory
	before := driver.Info().Revision
	c.mount(t, config.Buckets[bucketID].Credentials[0].Directory, c.grants[driverkit.ReadOnly])
	driver.CheckBackends(t.Context()) // the kit does this every half minute
	if driver.Info().Revision == before {
		t.Error("the revision is the same")
	}
	granted, err := client.DriverGrantBucketAccess(t.Context(), c.grantOf("ba-1", cosi.AccessMode_READ_WRITE))
	if diff := cmp.Diff(c.grants[driverkit.ReadOnly].GetCredentials(), granted.GetCredentials(), protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("%v (-exchanged +granted)\n%s", err, diff)
	}
	mustSucceed(t, os.Remove(filepath.Join(config.Buckets[bucketID].Credentials[0].Directory, "AWS_ACCESS_KEY_ID")))
	_, err = client.DriverGrantBucketAccess(t.Context(), c.grantOf("ba-1", cosi.AccessMode_READ_WRITE))
	drivertest.WantCode(t, err, codes.FailedPrecondition, "cannot be read; see the driver's log")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	c := newS3(t)
	directory := c.config(t).Buckets[bucketID].Credentials[0].Directory
	elsewhere := t.TempDir()
	for key, value := range map[string]string{
		"COSI_PROTOCOL": "S3", "AWS_ENDPOINT_URL": "https://s3.example.com", "BUCKET_NAME": "other", "AWS_DEFAULT_REGION": "here", "AWS_S3_ADDRESSING_STYLE": "path",
		"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "hush",
	} {
		mustSucceed(t, os.WriteFile(filepath.Join(elsewhere, key), []byte(value), 0o600))
	}
	for name, tc := range map[string]struct{ text, err string }{
		"credentials of two buckets": {
			"{buckets: {photos: {credentials: [{directory: DIR, objectData: ReadWrite}, {directory: " + elsewhere + ", objectData: ReadOnly}]}}}",
			"credentials[1].directory: is for https://s3.example.com/other, but",
		},
		"the required fields":         {"{buckets: {photos: {credentials: [{directory: DIR, objectData: ReadWrite}]}}}", ""},
		"metadata alone":              {"{buckets: {photos: {credentials: [{directory: DIR, bucketMetadata: ReadOnly}]}}}", ""},
		"no bucket":                   {"{}", "buckets: at least one is required"},
		"no credential":               {"{buckets: {photos: {}}}", "buckets.photos.credentials: at least one"},
		"no modes":                    {"{buckets: {photos: {credentials: [{directory: DIR}]}}}", "credentials[0]: objectData or bucketMetadata is required"},
		"a mode that is none":         {"{buckets: {photos: {credentials: [{directory: DIR, objectData: Any}]}}}", `objectData: "Any" is not one of`},
		"no directory":                {"{buckets: {photos: {credentials: [{objectData: ReadOnly}]}}}", "credentials[0].directory: is required"},
		"a directory that is missing": {"{buckets: {photos: {credentials: [{directory: /nowhere, objectData: ReadOnly}]}}}", "credentials[0].directory: read the keys of the credential: open /nowhere"},
		"an ID that cannot be one":    {"{buckets: {'a b': {credentials: [{directory: DIR, objectData: ReadOnly}]}}}", `the name "a b"`},
		"a field that is none":        {"{buckets: {photos: {region: here}}}", "region"},
		"a name that is none":         {"{driverName: A, buckets: {photos: {credentials: [{directory: DIR, objectData: ReadOnly}]}}}", "driverName"},
		"an endpoint without TLS":     {"{buckets: {photos: {endpoint: 'http://storage.example.com', credentials: [{directory: DIR, objectData: ReadOnly}]}}}", "does not use TLS"},
		"one that is accepted":        {"{buckets: {photos: {insecure: true, endpoint: 'http://storage.example.com', credentials: [{directory: DIR, objectData: ReadOnly}]}}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := staticdriver.Format().Parse([]byte(strings.ReplaceAll(tc.text, "DIR", directory)))
			if tc.err == "" && (err != nil || config.DriverName != staticdriver.DefaultName) {
				t.Errorf("%+v, %v", config, err)
			}
			if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %v, want an error with %q", err, tc.err)
			}
		})
	}
}

func TestConfigFromEnvironment(t *testing.T) {
	t.Parallel()
	c := newS3(t)
	directory := c.config(t).Buckets[bucketID].Credentials[0].Directory
	values := map[string]string{
		"STATIC_DRIVER_NAME": "given.example.com", "STATIC_DRIVER_BUCKET_ID": "photos", "STATIC_DRIVER_DIRECTORY": directory,
		"STATIC_DRIVER_OBJECT_DATA": "ReadWrite", "STATIC_DRIVER_BUCKET_METADATA": "ReadOnly", "STATIC_DRIVER_ENDPOINT": "http://storage.example.com", "STATIC_DRIVER_INSECURE": "true",
	}
	got, err := staticdriver.Format().FromEnvironment(func(name string) (string, bool) { value, ok := values[name]; return value, ok })
	want := staticdriver.Config{DriverName: "given.example.com", Buckets: map[string]staticdriver.BucketConfig{"photos": {
		Endpoint: "http://storage.example.com", Insecure: true,
		Credentials: []staticdriver.CredentialConfig{{Directory: directory, ObjectData: driverkit.ReadWrite, BucketMetadata: driverkit.ReadOnly}},
	}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for _, variable := range staticdriver.Format().Variables {
		if strings.HasPrefix(variable.Name, "COSI_") || values[variable.Name] == "" {
			t.Errorf("variable %q is reserved, or not tried here", variable.Name)
		}
	}
}
