// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func testStaticBucketMustFitItsParameters(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	get := func(parameters map[string]string) error {
		_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket, Parameters: parameters})
		return err
	}
	drivertest.WantCode(t, get(map[string]string{"versioning": "true"}), codes.AlreadyExists, "versioning")
	drivertest.WantCode(t, get(map[string]string{"objectLock": "true"}), codes.AlreadyExists, "object lock")
	drivertest.WantCode(t, get(map[string]string{"region": "mars-1"}), codes.InvalidArgument, "mars-1")
	drivertest.WantCode(t, get(nil), codes.OK)
}

func testDeleteNonEmptyRemovesVersionsMarkersAndUploads(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	parameters := map[string]string{"versioning": "true", "deleteNonEmpty": "true"}
	bucket, root := w.NewBucket(t, parameters), w.root()
	for range 3 {
		for _, key := range []string{"a", "b/c", "ü + %"} {
			mustSucceed(t, putObject(t, root, bucket, key))
		}
	}
	if _, err := root.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String("a")}); err != nil {
		t.Fatal(err)
	}
	if _, err := root.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: aws.String("upload")}); err != nil {
		t.Fatal(err)
	}
	mustSucceed(t, w.Delete(t, bucket, parameters))
	_, err := root.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: &bucket})
	if code := apiCode(t, err); code != "NotFound" {
		t.Errorf("head answers %q, want NotFound", code)
	}
}

// newDriver returns a driver whose stores are never called.
func newDriver(t *testing.T) *s3driver.Driver {
	t.Helper()
	config, err := s3driver.Format().Parse([]byte(`
defaultBackend: main
backends:
  main: {type: aws, endpoint: "https://main.invalid"}
  lab: {type: aws, endpoint: "https://lab.invalid", region: lab-1}
  cloud: {type: aws}
`))
	mustSucceed(t, err)
	driver, err := s3driver.New(s3driver.Options{Config: config, Credentials: credstore.NewMemory()})
	mustSucceed(t, err)
	return driver
}

func TestBucketID(t *testing.T) {
	t.Parallel()
	const name = "bc-7e1f7f0a-1111-4222-8333-123456789abc"
	tests := map[string]struct {
		name       string
		parameters driverkit.Values
		want       string
	}{
		"the name is the ID":                      {name, nil, name},
		"the default backend is not in the ID":    {name, driverkit.Values{"backend": "main"}, name},
		"another backend is in the ID":            {name, driverkit.Values{"backend": "lab"}, "lab." + name},
		"the prefix of the class is in the name":  {name, driverkit.Values{"namePrefix": "team-"}, "team-" + name},
		"both together":                           {name, driverkit.Values{"namePrefix": "t-", "backend": "lab"}, "lab.t-" + name},
		"the longest prefix fits":                 {name, driverkit.Values{"namePrefix": strings.Repeat("p", 23)}, strings.Repeat("p", 23) + name},
		"a name with a dot is hashed":             {"a.b", nil, "h-"},
		"a name with capitals is hashed":          {"Bucket", nil, "h-"},
		"a name that looks like a hash is hashed": {"h-abc", nil, "h-"},
		"a name that is too short is hashed":      {"a", nil, "h-"},
	}
	for test, want := range tests {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			got, err := newDriver(t).BucketID(t.Context(), driverkit.BucketIDRequest{Name: want.name, Parameters: want.parameters})
			mustSucceed(t, err)
			if strings.HasPrefix(want.want, "h-") {
				if !regexp.MustCompile(`^h-[a-z2-7]{32}$`).MatchString(got) {
					t.Errorf("ID is %q, want a hash", got)
				}
			} else if got != want.want {
				t.Errorf("ID is %q, want %q", got, want.want)
			}
		})
	}
}

func TestDistinctNamesHaveDistinctIDs(t *testing.T) {
	t.Parallel()
	driver := newDriver(t)
	long := strings.Repeat("n", 252)
	names := []string{"a", "A", "a.b", "a-b", "h-a", "Bucket", "bucket", long + "1", long + "2", strings.Repeat("n", 63), strings.Repeat("n", 64), "ü", "-", "a b"}
	seen := map[string]string{}
	for _, name := range names {
		bucket, err := driver.BucketID(t.Context(), driverkit.BucketIDRequest{Name: name})
		mustSucceed(t, err)
		account, err := driver.AccountID(t.Context(), driverkit.AccountIDRequest{Name: name, AccessSpec: readBucket("b")})
		mustSucceed(t, err)
		for kind, id := range map[string]string{"bucket ": bucket, "account ": account} {
			if other, taken := seen[kind+id]; taken {
				t.Errorf("%q and %q both have the %sID %s", name, other, kind, id)
			}
			seen[kind+id] = name
			if !regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,63}$`).MatchString(id) {
				t.Errorf("%sID %q of %q has other characters or another length than stores take", kind, id, name)
			}
		}
	}
}

func readBucket(ids ...string) driverkit.AccessSpec {
	spec := driverkit.AccessSpec{Protocol: driverkit.S3, AuthType: driverkit.Key}
	for _, id := range ids {
		spec.Buckets = append(spec.Buckets, driverkit.BucketAccess{BucketID: id, ObjectData: driverkit.ReadOnly, ObjectMetadata: driverkit.Any, BucketMetadata: driverkit.Any})
	}
	return spec
}

func TestPhaseOneRefuses(t *testing.T) {
	t.Parallel()
	driver := newDriver(t)
	buckets := map[string]struct {
		parameters driverkit.Values
		want       string
	}{
		"a backend that is not configured":    {driverkit.Values{"backend": "moon"}, "cloud, lab, main"},
		"a region that the backend has not":   {driverkit.Values{"backend": "lab", "region": "lab-2"}, "lab-1"},
		"a quota on a store without quotas":   {driverkit.Values{"quota": "1Gi"}, "does not support quotas"},
		"a limit of objects on such a store":  {driverkit.Values{"quotaObjects": "1000"}, "cannot limit the number of objects"},
		"parameters that exclude one another": {driverkit.Values{"objectLockMode": "GOVERNANCE"}, "objectLockDays"},
	}
	for name, test := range buckets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := driver.BucketID(t.Context(), driverkit.BucketIDRequest{Name: "bc-1", Parameters: test.parameters})
			drivertest.WantCode(t, err, codes.InvalidArgument, test.want)
		})
	}
	if _, err := driver.BucketID(t.Context(), driverkit.BucketIDRequest{Name: "bc-1", Parameters: driverkit.Values{"backend": "cloud", "region": "eu-west-3"}}); err != nil {
		t.Errorf("another region of AWS: %v", err)
	}
	t.Run("buckets of two backends", func(t *testing.T) {
		t.Parallel()
		_, err := driver.AccountID(t.Context(), driverkit.AccountIDRequest{Name: "ba-1", AccessSpec: readBucket("b", "lab.b")})
		drivertest.WantCode(t, err, codes.OutOfRange, "different backends")
	})
	t.Run("metadata without data", func(t *testing.T) {
		t.Parallel()
		spec := readBucket("b")
		spec.Buckets[0].ObjectData, spec.Buckets[0].ObjectMetadata = driverkit.Any, driverkit.ReadOnly
		_, err := driver.AccountID(t.Context(), driverkit.AccountIDRequest{Name: "ba-1", AccessSpec: spec})
		drivertest.WantCode(t, err, codes.InvalidArgument, "bucket b", "s3:GetObject")
	})
}

const (
	oneRule    = `{"Rules":[{"Status":"Enabled","Filter":{"Prefix":"tmp/"},"Expiration":{"Days":7}}]}`
	otherRule  = `{"Rules":[{"Status":"Enabled","Filter":{"Prefix":"tmp/"},"Expiration":{"Days":8}}]}`
	oldForm    = `{"Rules":[{"ID":"x","Status":"Enabled","Prefix":"tmp/","Expiration":{"Days":7}}]}`
	oneOrigin  = `{"CORSRules":[{"AllowedMethods":["GET"],"AllowedOrigins":["https://a.example.com"]}]}`
	twoOrigins = `{"CORSRules":[{"AllowedMethods":["GET"],"AllowedOrigins":["https://a.example.com","https://b.example.com"]}]}`
)

// testParametersAtTheStore creates a bucket with each parameter that the store can return, and checks that Describe accepts the same value and
// rejects another one. A store that does not support a parameter rejects it as invalid.
func testParametersAtTheStore(t *testing.T, on target) {
	lock := func(mode, days string) map[string]string {
		return map[string]string{"objectLock": "true", "objectLockMode": mode, "objectLockDays": days}
	}
	queue := on.queue
	if queue == "" {
		queue = "arn:aws:sqs:us-east-1:000000000000:uploads"
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
		"event queue": {
			set: map[string]string{"eventQueue": queue}, same: map[string]string{"eventQueue": queue, "eventTypes": "s3:ObjectRemoved:*,s3:ObjectCreated:*"},
			other: map[string]string{"eventQueue": queue, "eventTypes": "s3:ObjectCreated:*"}, want: "events",
		},
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
			t.Logf("%s: the store does not have it: %v", name, err)
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

// TestBucketsWithoutConfiguration checks that such buckets do not match parameters that require a configuration.
func TestBucketsWithoutConfiguration(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket, Parameters: map[string]string{
		"objectLock": "true", "objectLockMode": "GOVERNANCE", "objectLockDays": "1", "tags": `{"a":"b"}`, "encryption": "SSE-KMS", "lifecycle": oneRule, "cors": oneOrigin,
		"eventQueue": "arn:aws:sqs:us-east-1:000000000000:uploads",
	}})
	drivertest.WantCode(t, err, codes.AlreadyExists, "versioning", "object lock", "tag", "encryption", "lifecycle", "CORS", "events")
}

// TestQuotaOfMinIO reads the limit from the store, and has the driver compare it with another value.
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
	for _, quota := range []string{"2Gi", "", "1Gi"} { // raised, removed, and as it was
		_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{
			BucketId: bucket, Parameters: map[string]string{"quota": "1Gi"}, Update: changed(nil, map[string]string{"quota": quota}),
		})
		mustSucceed(t, err)
		for _, other := range []string{"1Gi", "2Gi"} {
			_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket, Parameters: map[string]string{"quota": other}})
			if (status.Code(err) == codes.OK) != (other == quota) {
				t.Errorf("after a change to %q, the quota is compared with %s: %v", quota, other, err)
			}
		}
	}
	client := &adminapi.Client{
		Name: "minio", Endpoint: on.backend.Endpoint, Region: "us-east-1", Credentials: fixedCredentials(rootAccessKey, rootSecretKey), HTTP: http.DefaultClient,
	}
	answer, err := client.Call(t.Context(), adminapi.Request{
		Operation: "GetBucketQuota", Method: http.MethodGet, Path: "/minio/admin/v3/get-bucket-quota", Query: map[string][]string{"bucket": {bucket}},
	})
	mustSucceed(t, err)
	var quota struct{ Size, Quota int64 }
	if err := json.Unmarshal(answer, &quota); err != nil || max(quota.Size, quota.Quota) != 1<<30 {
		t.Errorf("quota is %+v, %v", quota, err)
	}
}

// TestEncryptionByAKey checks the permission to use the key, for all forms in which a bucket may name it.
func TestEncryptionByAKey(t *testing.T) {
	t.Parallel()
	const keyID = "1234abcd-12ab-34cd-56ef-1234567890ab"
	for name, test := range map[string]struct{ key, account string }{
		"by its ID":          {keyID, ""},
		"by its ARN":         {"arn:aws:kms:us-east-1:000000000000:key/" + keyID, ""},
		"by its ID on AWS":   {keyID, "000000000000"},
		"by its ARN on AWS":  {"arn:aws:kms:us-east-1:000000000000:key/" + keyID, "000000000000"},
		"of another account": {"arn:aws:kms:us-east-1:111122223333:key/" + keyID, "000000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, _ := startFake(t, s3fake.Options{})
			on.backend.AccountID = test.account
			key := test.key
			w := newWorld(t, on, worldOptions{})
			bucket := w.NewBucket(t, map[string]string{"encryption": "SSE-KMS", "kmsKeyID": key})
			writer := workload(t, w.MustGrant(t, grantRequest(drivertest.NewAccount(), drivertest.Modes{Data: cosi.AccessMode_WRITE_ONLY}, bucket)))
			reader := workload(t, w.MustGrant(t, grantRequest(drivertest.NewAccount(), drivertest.Modes{Data: readOnly}, bucket)))
			mustSucceed(t, putObject(t, writer, bucket, "key"))
			mustSucceed(t, getObject(t, reader, bucket, "key"))
		})
	}
}

// TestEncryptionByAKeyOfMinIO has a MinIO server with its own key. Reading and writing objects there needs no
// permission for the key, and a policy that names one is rejected.
func TestEncryptionByAKeyOfMinIO(t *testing.T) {
	t.Parallel()
	on := adminTarget(s3driver.TypeMinIO, startMinIO(t, certificate{}, "MINIO_KMS_SECRET_KEY=photos:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="), rootAccessKey, rootSecretKey)
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

// TestKeyOfAnImportedBucket uses key names as the bucket returns them, which anyone who can configure the bucket can
// choose. A credential uses the key only for that bucket, and anything but the name of one key is rejected.
func TestKeyOfAnImportedBucket(t *testing.T) {
	t.Parallel()
	const key = "arn:aws:kms:us-east-1:000000000000:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	on, server := startFake(t, s3fake.Options{})
	on.backend.AccountID = "000000000000"
	w := newWorld(t, on, worldOptions{})
	imported, other := "imported", "somebodys"
	encrypt := func(bucket, key string) {
		t.Helper()
		rule := types.ServerSideEncryptionRule{ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{
			SSEAlgorithm: types.ServerSideEncryptionAwsKms, KMSMasterKeyID: aws.String(key),
		}}
		_, err := w.root().PutBucketEncryption(t.Context(), &s3.PutBucketEncryptionInput{
			Bucket: &bucket, ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{rule}},
		})
		mustSucceed(t, err)
	}
	for _, bucket := range []string{imported, other} {
		_, err := w.root().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket})
		mustSucceed(t, err)
		encrypt(bucket, key)
		mustSucceed(t, putObject(t, w.root(), bucket, "key"))
	}
	client := workload(t, w.MustGrant(t, grantRequest(drivertest.NewAccount(), drivertest.Modes{Data: readOnly}, imported)))
	mustSucceed(t, getObject(t, client, imported, "key"))
	user := server.Inventory().Users[0]
	// An administrator or the bucket's policy also lets the user read there, but neither can grant use of the key.
	admin := iam.New(iam.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	_, err := admin.PutUserPolicy(t.Context(), &iam.PutUserPolicyInput{UserName: &user.Name, PolicyName: aws.String("more"), PolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::` + other + `/*"}]}`)})
	mustSucceed(t, err)
	if code := apiCode(t, getObject(t, client, other, "key")); code != "AccessDenied" {
		t.Errorf("the key of the bucket opens objects of another one: %q", code)
	}
	for _, pattern := range []string{"arn:aws:kms:us-east-1:000000000000:key/*", "arn:aws:kms:*:*:key/1234abcd-12ab-34cd-56ef-1234567890ab", "arn:aws:s3:::" + other + "/*", "*"} {
		encrypt(imported, pattern)
		_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readWrite, imported))
		drivertest.WantCode(t, err, codes.FailedPrecondition, "not the name of a key")
	}
}

// TestEncryptionByAnAlias checks that access cannot be granted, because the key of an alias can be replaced.
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

// TestRegions checks the regions in requests to the store and in responses. The store has only one region.
func TestRegions(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Region: "lab-1"})
	on.backend.Region = "lab-1"
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, map[string]string{"region": "lab-1"})
	granted := w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket))
	want := &cosi.S3BucketInfo{
		BucketId: bucket, Endpoint: server.URL(), Region: "lab-1", AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
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

// TestBucketOfAnotherAccount has a bucket of another account that its policy lets the driver use, and that has the
// name and all marks of one of the driver's. The driver is configured for AWS and redirected to the fake.
func TestBucketOfAnotherAccount(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Domains: []string{"s3.us-east-1.amazonaws.com"}})
	address, err := url.Parse(server.URL())
	mustSucceed(t, err)
	guest := s3fake.Credentials{AccessKeyID: "AKIAGUESTGUESTGUEST1", SecretAccessKey: "the secret key of a guest"}
	toTheFake := func(next http.RoundTripper) http.RoundTripper {
		return transportFunc(func(request *http.Request) (*http.Response, error) {
			if request.URL.Path == "/" && request.URL.Host == "s3.us-east-1.amazonaws.com" && strings.Contains(request.Header.Get("Authorization"), guest.AccessKeyID) {
				// The fake has the buckets of only one account; a guest's own account has none.
				return &http.Response{
					StatusCode: http.StatusOK, Header: http.Header{}, Request: request,
					Body: io.NopCloser(strings.NewReader(`<ListAllMyBucketsResult><Buckets></Buckets></ListAllMyBucketsResult>`)),
				}, nil
			}
			request = request.Clone(request.Context())
			request.Host, request.URL.Host, request.URL.Scheme = request.URL.Host, address.Host, address.Scheme
			return next.RoundTrip(request)
		})
	}
	onAWS := func(credentials s3driver.CredentialsConfig) *world {
		return newWorld(t, on, worldOptions{wrap: toTheFake, config: func(c *s3driver.Config) {
			c.Backends["main"] = s3driver.BackendConfig{Type: s3driver.TypeAWS, Credentials: credentials}
		}})
	}
	owner := onAWS(on.backend.Credentials)
	bucket := owner.NewBucket(t, nil)
	get := func(w *world) error {
		_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket})
		return err
	}
	mustSucceed(t, get(owner))
	mustSucceed(t, putObject(t, owner.root(), bucket, "key"))
	const everything = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`
	mustSucceed(t, server.ImportUser(s3fake.ImportedUser{Name: "guest", Credentials: guest, Policy: everything, Account: "111122223333"}))
	w := onAWS(s3driver.CredentialsConfig{AccessKeyID: guest.AccessKeyID, SecretAccessKey: cosi.NewSecret(guest.SecretAccessKey)})
	drivertest.WantCode(t, get(w), codes.AlreadyExists, "another account")
	_, err = owner.root().PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: aws.String(`{"Version":"2012-10-17","Statement":[` +
		`{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"s3:*","Resource":["arn:aws:s3:::` + bucket + `","arn:aws:s3:::` + bucket + `/*"]}]}`)})
	mustSucceed(t, err)

	before := server.Inventory()
	drivertest.WantCode(t, get(w), codes.AlreadyExists, "another account")
	_, err = w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket})
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change it")
	_, err = w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readWrite, bucket))
	drivertest.WantCode(t, err, codes.AlreadyExists, "another account")
	drivertest.WantCode(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}), codes.FailedPrecondition, "another account")
	if after := server.Inventory(); text(t, before) != text(t, after) {
		t.Errorf("the driver made %s of %s", text(t, after), text(t, before))
	}
}

// TestEveryCallNamesTheAccount checks all requests of the driver about buckets, from their creation to the deletion
// of one that is not empty, and the policies that it writes.
func TestEveryCallNamesTheAccount(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	on.backend.AccountID = "000000000000"
	var named atomic.Int32
	w := newWorld(t, on, worldOptions{wrap: func(next http.RoundTripper) http.RoundTripper {
		return transportFunc(func(request *http.Request) (*http.Response, error) {
			creates := request.Method == http.MethodPut && request.URL.RawQuery == ""
			switch {
			case request.URL.Path == "/" || creates:
			case request.Header.Get("X-Amz-Expected-Bucket-Owner") == "000000000000":
				named.Add(1)
			default:
				t.Errorf("%s %s does not name the account", request.Method, request.URL)
			}
			return next.RoundTrip(request)
		})
	}})
	everything := map[string]string{
		"versioning": "true", "tags": `{"a":"b"}`, "encryption": "SSE-KMS", "lifecycle": oneRule, "cors": oneOrigin, "deleteNonEmpty": "true",
	}
	bucket := w.NewBucket(t, everything)
	_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket, Parameters: everything})
	mustSucceed(t, err)
	granted := w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket))
	mustSucceed(t, putObject(t, workload(t, granted), bucket, "key"))
	if document := server.Inventory().Users[0].Inline["cosi"]; strings.Count(document, `"Condition":{"StringEquals":{"aws:ResourceAccount":["000000000000"]}}`) != 2 {
		t.Errorf("the policy is %s, want the account in both statements", document)
	}
	_, err = w.root().CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: aws.String("upload")})
	mustSucceed(t, err)
	mustSucceed(t, w.Delete(t, bucket, everything))
	if named.Load() < 15 {
		t.Errorf("only %d calls were looked at", named.Load())
	}
}
