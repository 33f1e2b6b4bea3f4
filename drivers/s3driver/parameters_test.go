// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	oneRule    = `{"Rules":[{"Status":"Enabled","Filter":{"Prefix":"tmp/"},"Expiration":{"Days":7}}]}`
	otherRule  = `{"Rules":[{"Status":"Enabled","Filter":{"Prefix":"tmp/"},"Expiration":{"Days":8}}]}`
	oldForm    = `{"Rules":[{"ID":"x","Status":"Enabled","Prefix":"tmp/","Expiration":{"Days":7}}]}`
	oneOrigin  = `{"CORSRules":[{"AllowedMethods":["GET"],"AllowedOrigins":["https://a.example.com"]}]}`
	twoOrigins = `{"CORSRules":[{"AllowedMethods":["GET"],"AllowedOrigins":["https://a.example.com","https://b.example.com"]}]}`
)

// testParametersAtTheStore makes a bucket with each parameter, and has the store's own responses
// compared with it and with another value. A store that cannot do it refuses it as a bad argument.
func testParametersAtTheStore(t *testing.T, on target) {
	lock := func(mode, days string) map[string]string {
		return map[string]string{"objectLock": "true", "objectLockMode": mode, "objectLockDays": days}
	}
	tests := map[string]struct {
		set, same, other map[string]string
		want             string
	}{
		"versioning":     {set: map[string]string{"versioning": "true"}, other: lock("GOVERNANCE", "1"), want: "object lock"},
		"object lock":    {set: map[string]string{"objectLock": "true"}, other: lock("GOVERNANCE", "1"), want: "retention"},
		"retention":      {set: lock("GOVERNANCE", "1"), other: lock("GOVERNANCE", "2"), want: "retention"},
		"retention mode": {set: lock("GOVERNANCE", "1"), other: lock("COMPLIANCE", "1"), want: "retention"},
		"tags":           {set: map[string]string{"tags": `{"Käse":"ö 1"}`}, other: map[string]string{"tags": `{"Käse":"ö 2"}`}, want: "tag"},
		"encryption":     {set: map[string]string{"encryption": "SSE-S3"}, other: map[string]string{"encryption": "SSE-KMS"}, want: "encryption"},
		"lifecycle": {
			set: map[string]string{"lifecycle": oneRule}, same: map[string]string{"lifecycle": oldForm},
			other: map[string]string{"lifecycle": otherRule}, want: "lifecycle",
		},
		"CORS": {set: map[string]string{"cors": oneOrigin}, other: map[string]string{"cors": twoOrigins}, want: "CORS"},
	}
	w := newWorld(t, on, worldOptions{})
	get := func(bucket string, parameters map[string]string) error {
		_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket, Parameters: parameters})
		return err
	}
	for name, test := range tests {
		bucket := "bc-" + drivertest.NewAccount()
		_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket, Parameters: test.set})
		if on.real && status.Code(err) == codes.InvalidArgument {
			t.Logf("%s: the store has not got it: %v", name, err)
			mustSucceed(t, w.Delete(t, bucket, nil))
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		mustSucceed(t, get(bucket, test.set))
		mustSucceed(t, get(bucket, test.same))
		if err := get(bucket, test.other); status.Code(err) != codes.AlreadyExists || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: another value: %v, want AlreadyExists with %q", name, err, test.want)
		}
		mustSucceed(t, w.Delete(t, bucket, nil))
	}
}

// TestBucketsWithoutConfiguration do not fit parameters that ask for some.
func TestBucketsWithoutConfiguration(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket, Parameters: map[string]string{
		"objectLock": "true", "objectLockMode": "GOVERNANCE", "objectLockDays": "1", "tags": `{"a":"b"}`, "encryption": "SSE-KMS", "lifecycle": oneRule, "cors": oneOrigin,
	}})
	drivertest.WantCode(t, err, codes.AlreadyExists, "versioning", "object lock", "tag", "encryption", "lifecycle", "CORS")
}

// TestQuotaOfMinIO asks the store for the limit that it keeps, and has the driver compare it with another.
func TestQuotaOfMinIO(t *testing.T) {
	t.Parallel()
	on := realMinIO(t)
	w := newWorld(t, on, worldOptions{})
	bucket, without := w.NewBucket(t, map[string]string{"quota": "1Gi"}), w.NewBucket(t, nil)
	for _, test := range []struct {
		bucket, quota string
		want          codes.Code
	}{{bucket, "1Gi", codes.OK}, {bucket, "2Gi", codes.AlreadyExists}, {without, "1Gi", codes.AlreadyExists}} {
		_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: test.bucket, Parameters: map[string]string{"quota": test.quota}})
		if status.Code(err) != test.want {
			t.Errorf("a static bucket with a quota of %s: %v, want %v", test.quota, err, test.want)
		}
	}
	client := &adminapi.Client{
		Name: "minio", Endpoint: on.backend.Endpoint, Region: "us-east-1", Credentials: fixedCredentials(rootAccessKey, rootSecretKey), HTTP: http.DefaultClient,
	}
	answer, err := client.Call(t.Context(), adminapi.Request{
		Operation: "GetBucketQuota", Method: http.MethodGet, Path: "/minio/admin/v3/get-bucket-quota", Query: map[string][]string{"bucket": {bucket}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var quota struct{ Size, Quota int64 }
	if err := json.Unmarshal(answer, &quota); err != nil || max(quota.Size, quota.Quota) != 1<<30 {
		t.Errorf("quota is %+v, %v", quota, err)
	}
}

// TestEncryptionByAKey gives the permission to use the key, however the bucket names it.
func TestEncryptionByAKey(t *testing.T) {
	t.Parallel()
	const keyID = "1234abcd-12ab-34cd-56ef-1234567890ab"
	for name, key := range map[string]string{
		"by its ID":  keyID,
		"by its ARN": "arn:aws:kms:us-east-1:000000000000:key/" + keyID,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, _ := startFake(t, s3fake.Options{})
			w := newWorld(t, on, worldOptions{})
			bucket := w.NewBucket(t, map[string]string{"encryption": "SSE-KMS", "kmsKeyID": key})
			writer := workload(t, w.MustGrant(t, grantRequest(drivertest.NewAccount(), drivertest.Modes{Data: cosi.AccessMode_WRITE_ONLY}, bucket)))
			reader := workload(t, w.MustGrant(t, grantRequest(drivertest.NewAccount(), drivertest.Modes{Data: readOnly}, bucket)))
			mustSucceed(t, putObject(t, writer, bucket, "key"))
			mustSucceed(t, getObject(t, reader, bucket, "key"))
		})
	}
}

// TestEncryptionByAKeyOfMinIO has a MinIO with a key of its own: whoever may read or write an object there needs no
// permission for the key, and a policy that names one is refused.
func TestEncryptionByAKeyOfMinIO(t *testing.T) {
	t.Parallel()
	on := adminTarget(s3driver.TypeMinIO, startMinIO(t, "MINIO_KMS_SECRET_KEY=photos:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="))
	w := newWorld(t, on, worldOptions{})
	for name, parameters := range map[string]map[string]string{
		"the key of the class": {"encryption": "SSE-KMS", "kmsKeyID": "photos"},
		"no key at all":        {"encryption": "SSE-S3"},
	} {
		bucket := w.NewBucket(t, parameters)
		writer := workload(t, w.MustGrant(t, grantRequest(drivertest.NewAccount(), drivertest.Modes{Data: writeOnly}, bucket)))
		reader := workload(t, w.MustGrant(t, grantRequest(drivertest.NewAccount(), drivertest.Modes{Data: readOnly}, bucket)))
		mustSucceed(t, putObject(t, writer, bucket, "key"))
		mustSucceed(t, getObject(t, reader, bucket, "key"))
		_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket, Parameters: parameters})
		if err != nil {
			t.Errorf("%s: a static bucket: %v", name, err)
		}
		_, err = w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket, Parameters: map[string]string{"encryption": "SSE-KMS", "kmsKeyID": "other"}})
		drivertest.WantCode(t, err, codes.AlreadyExists, "encrypt")
	}
	_, err := w.DriverGenerateBucketId(t.Context(), &cosi.DriverGenerateBucketIdRequest{Name: "bc-1", Parameters: map[string]string{"encryption": "SSE-KMS"}})
	drivertest.WantCode(t, err, codes.InvalidArgument, "kmsKeyID")
}

// TestEncryptionByAnAlias cannot be granted: the key behind an alias can be exchanged.
func TestEncryptionByAnAlias(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	rule := types.ServerSideEncryptionRule{ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{
		SSEAlgorithm: types.ServerSideEncryptionAwsKms, KMSMasterKeyID: aws.String("alias/photos"),
	}}
	_, err := w.root().PutBucketEncryption(t.Context(), &s3.PutBucketEncryptionInput{
		Bucket: &bucket, ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{rule}},
	})
	mustSucceed(t, err)
	_, err = w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readWrite, bucket))
	drivertest.WantCode(t, err, codes.FailedPrecondition, "alias")
	if users := server.Inventory().Users; len(users) != 0 {
		t.Errorf("the refused grant made users %v", users)
	}
}

// TestRegions are those that the store and the responses name.
func TestRegions(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Region: "eu-west-3"})
	on.backend.Region = "eu-west-3"
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, map[string]string{"region": "eu-west-3"})
	granted := w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket))
	want := &cosi.S3BucketInfo{
		BucketId: bucket, Endpoint: server.URL(), Region: "eu-west-3", AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
	}
	got := granted.GetBuckets()[0].GetBucketInfo().GetS3()
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("the bucket is described differently (-want +got):\n%s", diff)
	}
	mustSucceed(t, putObject(t, workload(t, granted), bucket, "key"))

	elsewhere := on
	elsewhere.backend.Region = "us-east-1"
	_, err := newWorld(t, elsewhere, worldOptions{}).DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "bc-" + drivertest.NewAccount()})
	if err == nil {
		t.Error("a backend with the wrong region makes buckets")
	}
}
