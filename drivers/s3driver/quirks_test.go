// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestStoreThatForgetsTags simulates Ceph RGW, whose IAM accepts the marks of a user but does not keep them. Nothing
// may be created there, because it could never be revoked.
func TestStoreThatForgetsTags(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Quirks: s3fake.Quirks{ForgetsTags: true}, Clusters: map[string]string{eksCluster: "https://oidc.example.com/id"}})
	on.backend.IAM.ServiceAccounts.EKSCluster = eksCluster
	w := newWorld(t, on, worldOptions{})
	bucket, shop := w.NewBucket(t, nil), pod{namespace: "ns", account: "sa"}
	for range 2 {
		for _, request := range []*cosi.DriverGrantBucketAccessRequest{
			grantRequest(drivertest.NewAccount(), readWrite, bucket), shop.grantRequest(drivertest.NewAccount(), readWrite, bucket),
		} {
			_, err := w.DriverGrantBucketAccess(t.Context(), request)
			drivertest.WantCode(t, err, codes.FailedPrecondition, "discards the tags", "type rgw", "type static")
		}
	}
	if left := server.Inventory(); len(left.Users)+len(left.Roles)+len(left.Associations) != 0 {
		t.Errorf("left are users %v, roles %v, associations %v", left.Users, left.Roles, left.Associations)
	}
}

// TestStoreThatTakesNoTagsWithABucket also simulates Ceph RGW.
func TestStoreThatTakesNoTagsWithABucket(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{Quirks: s3fake.Quirks{LocationOnly: true}})
	w := newWorld(t, on, worldOptions{})
	livesWithItsMark(t, w, map[string]string{"tags": `{"team":"a"}`})
}

// TestStoreWithoutTagsOfBuckets simulates Garage.
func TestStoreWithoutTagsOfBuckets(t *testing.T) {
	t.Parallel()
	for _, kind := range []s3driver.BackendType{s3driver.TypeStatic, s3driver.TypeAWS} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			on, server := startFake(t, s3fake.Options{Quirks: s3fake.Quirks{NoBucketTags: true}})
			if on.backend.Type = kind; kind == s3driver.TypeStatic {
				on.backend.Workloads = on.backend.Credentials
			}
			w := newWorld(t, on, worldOptions{})
			livesWithItsMark(t, w, map[string]string{"versioning": "true"})
			if kind == s3driver.TypeStatic {
				request := grantRequest(drivertest.NewAccount(), readWrite, w.NewBucket(t, nil))
				request.Parameters = map[string]string{"acceptSharedCredential": "true"}
				mustSucceed(t, putObject(t, workload(t, w.MustGrant(t, request)), request.GetBuckets()[0].GetBucketId(), "key"))
			}
			tagged := map[string]string{"tags": `{"team":"a"}`}
			_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "bc-tagged", Parameters: tagged})
			drivertest.WantCode(t, err, codes.InvalidArgument, "does not support bucket tags", "tags")
			mustSucceed(t, w.Delete(t, "bc-tagged", tagged))
			if held := server.Inventory().Buckets; len(held) > 1 {
				t.Errorf("left are the buckets %v", held)
			}
		})
	}
}

// testTaggingTurnedOff has a store that stops supporting bucket tags. The marks are then in the credential store, and
// a driver with another credential store does not touch the buckets.
func testTaggingTurnedOff(t *testing.T, on target) {
	store := credstore.NewMemory()
	off := worldOptions{store: store, wrap: withoutTagging}
	w := newWorld(t, on, off)
	bucket := w.NewBucket(t, nil)
	w = newWorld(t, on, off)
	w.mustCreate(t, bucket, nil)
	_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket, Parameters: map[string]string{"versioning": "true"}})
	drivertest.WantCode(t, err, codes.AlreadyExists, "other parameters")
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	mustSucceed(t, putObject(t, workload(t, w.MustGrant(t, request)), bucket, "key"))
	mustSucceed(t, w.revoke(t, request.GetAccountId(), bucket))
	mustSucceed(t, putObject(t, w.root(), bucket, "kept"))

	other := newWorld(t, on, worldOptions{wrap: withoutTagging})
	_, err = other.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket})
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change it")
	drivertest.WantCode(t, other.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}), codes.FailedPrecondition, "mark")
	// A cluster that was created from a backup of this one also has its credential store.
	clone := newWorld(t, on, worldOptions{store: store, wrap: withoutTagging, config: func(c *s3driver.Config) { c.Cluster = green }})
	_, err = clone.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket})
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change it")
	drivertest.WantCode(t, clone.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}), codes.FailedPrecondition, "mark")
	mustSucceed(t, getObject(t, w.root(), bucket, "kept"))
	mustSucceed(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}))
	if left := slices.DeleteFunc(store.Accounts(), func(name string) bool { return strings.HasPrefix(name, "driver/") }); len(left) != 0 {
		t.Errorf("left are the entries %v", left)
	}
}

// TestNoteOfAnOlderVersion has a note without the owner of the bucket, which may belong to the cluster that this one
// was cloned from.
func TestNoteOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{Quirks: s3fake.Quirks{NoBucketTags: true}})
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	mustSucceed(t, putObject(t, w.root(), bucket, "key"))
	name := "bucket/main/" + bucket
	entry, err := w.store.Get(t.Context(), name)
	mustSucceed(t, err)
	entry.Notes = map[string]string{"state": entry.Notes["state"], "params": entry.Notes["params"]}
	_, err = w.store.Put(t.Context(), entry)
	mustSucceed(t, err)
	for range 2 {
		_, err = w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket})
		drivertest.WantCode(t, err, codes.FailedPrecondition, "older version", "manually")
		drivertest.WantCode(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}), codes.FailedPrecondition, "older version", "manually")
	}
	mustSucceed(t, putObject(t, workload(t, w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket))), bucket, "key"))
	_, err = w.root().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String("key")})
	mustSucceed(t, err)
	_, err = w.root().DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &bucket})
	mustSucceed(t, err)
	mustSucceed(t, w.Delete(t, bucket, nil))
	w.mustCreate(t, bucket, nil)
}

// withoutTagging responds like a store that does not support bucket tagging.
func withoutTagging(next http.RoundTripper) http.RoundTripper {
	return transportFunc(func(request *http.Request) (*http.Response, error) {
		if !request.URL.Query().Has("tagging") {
			return next.RoundTrip(request)
		}
		recorder := httptest.NewRecorder()
		recorder.WriteHeader(http.StatusNotImplemented)
		_, _ = recorder.WriteString("<Error><Code>NotImplemented</Code><Message>no tags</Message></Error>")
		return recorder.Result(), nil
	})
}

// TestBucketWithABAC has an administrator enable tags for access control before and after a bucket is complete. From
// then on AWS rejects PutBucketTagging.
func TestBucketWithABAC(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	on = least(t, on, "bc-")
	w := newWorld(t, on, worldOptions{})
	request := &cosi.DriverCreateBucketRequest{BucketId: "bc-abac", Parameters: map[string]string{"tags": `{"team":"a"}`}}
	mustSucceed(t, server.Faults.Add(fault.Rule{Operation: "PutBucketTagging", Code: "SlowDown", Status: http.StatusServiceUnavailable}))
	_, err := w.DriverCreateBucket(t.Context(), request)
	drivertest.WantCode(t, err, codes.ResourceExhausted)
	server.Faults.Clear()
	_, err = w.root().PutBucketAbac(t.Context(), &s3.PutBucketAbacInput{Bucket: &request.BucketId, AbacStatus: &types.AbacStatus{Status: types.BucketAbacStatusEnabled}})
	mustSucceed(t, err)
	livesWithItsMark(t, w, request.GetParameters(), request.GetBucketId())
}

// livesWithItsMark repeats the creation of a bucket, also with a restarted driver. It checks that an administrator's
// changes are preserved, that other parameters are rejected, and that the bucket can be deleted.
func livesWithItsMark(t *testing.T, w *world, parameters map[string]string, name ...string) {
	t.Helper()
	bucket := strings.Join(append(name, "bc-marked")[:1], "")
	for range 2 {
		w.mustCreate(t, bucket, parameters)
	}
	cors := &s3.PutBucketCorsInput{Bucket: &bucket, CORSConfiguration: &types.CORSConfiguration{CORSRules: []types.CORSRule{{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"*"}}}}}
	_, err := w.root().PutBucketCors(t.Context(), cors)
	mustSucceed(t, err)
	again := newWorld(t, w.target, worldOptions{store: w.store})
	again.mustCreate(t, bucket, parameters)
	if _, err := w.root().GetBucketCors(t.Context(), &s3.GetBucketCorsInput{Bucket: &bucket}); err != nil {
		t.Errorf("the administrator's change: %v", err)
	}
	_, err = again.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket, Parameters: map[string]string{"cors": oneOrigin}})
	drivertest.WantCode(t, err, codes.AlreadyExists, "other parameters")
	foreign := "bc-somebody-elses"
	_, err = w.root().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &foreign})
	mustSucceed(t, err)
	_, err = again.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: foreign, Parameters: parameters})
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change it")
	drivertest.WantCode(t, again.Delete(t, foreign, parameters), codes.FailedPrecondition, "mark")
	_, err = w.root().DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &foreign})
	mustSucceed(t, err)
	mustSucceed(t, again.Delete(t, bucket, parameters))
	w.mustCreate(t, bucket, map[string]string{"cors": oneOrigin})
	mustSucceed(t, again.Delete(t, bucket, nil))
}

// TestPartitions simulates AWS in China, which has its own names.
func TestPartitions(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{Partition: "aws-cn"})
	on.backend.IAM.Partition = "aws-cn"
	w := newWorld(t, on, worldOptions{})
	var buckets []string
	for range 16 {
		buckets = append(buckets, w.NewBucket(t, nil))
	}
	for _, account := range [][]string{buckets[:1], buckets} {
		request := grantRequest(drivertest.NewAccount(), readWrite, account...)
		for range 2 {
			mustSucceed(t, putObject(t, workload(t, w.MustGrant(t, request)), buckets[0], "key"))
		}
		mustSucceed(t, w.revoke(t, request.GetAccountId(), account...))
	}
}

// TestRegionsOfPartitions creates a bucket in a region of each partition and grants access to it. Requests to the
// partition's host names reach the fake, which uses the partition's regions and ARNs, and its signing region for IAM.
func TestRegionsOfPartitions(t *testing.T) {
	t.Parallel()
	for region, tc := range map[string]struct{ partition, domain string }{
		"eu-central-1": {"aws", "amazonaws.com"}, "cn-northwest-1": {"aws-cn", "amazonaws.com.cn"},
		"us-gov-east-1": {"aws-us-gov", "amazonaws.com"}, "eusc-de-east-1": {"aws-eusc", "amazonaws.eu"},
	} {
		t.Run(region, func(t *testing.T) {
			t.Parallel()
			host := "s3." + region + "." + tc.domain
			on, server := startFake(t, s3fake.Options{Partition: tc.partition, Region: region, Domains: []string{host}})
			address, err := url.Parse(server.URL())
			mustSucceed(t, err)
			toTheFake := func(next http.RoundTripper) http.RoundTripper {
				return transportFunc(func(request *http.Request) (*http.Response, error) {
					if !strings.HasSuffix(request.URL.Host, "."+tc.domain) {
						t.Errorf("a request to %s", request.URL.Host)
					}
					request = request.Clone(request.Context())
					request.Host, request.URL.Host, request.URL.Scheme = request.URL.Host, address.Host, address.Scheme
					return next.RoundTrip(request)
				})
			}
			w := newWorld(t, on, worldOptions{wrap: toTheFake, config: func(c *s3driver.Config) {
				c.Backends["main"] = s3driver.BackendConfig{Type: s3driver.TypeAWS, Region: region, Credentials: on.backend.Credentials}
			}})
			bucket := w.NewBucket(t, nil)
			granted := w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket))
			if got := granted.GetBuckets()[0].GetBucketInfo().GetS3().GetEndpoint(); got != "https://"+host {
				t.Errorf("the endpoint is %s, want https://%s", got, host)
			}
		})
	}
}

// TestTemporaryCredentials has a driver that uses a session, from three files that are renewed.
func TestTemporaryCredentials(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	directory := t.TempDir()
	files := s3driver.CredentialsConfig{
		AccessKeyIDFile: filepath.Join(directory, "id"), SecretAccessKeyFile: filepath.Join(directory, "secret"), SessionTokenFile: filepath.Join(directory, "token"),
	}
	security := sts.New(sts.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	made, err := security.GetSessionToken(t.Context(), &sts.GetSessionTokenInput{})
	mustSucceed(t, err)
	for path, text := range map[string]*string{
		files.AccessKeyIDFile: made.Credentials.AccessKeyId, files.SecretAccessKeyFile: made.Credentials.SecretAccessKey, files.SessionTokenFile: made.Credentials.SessionToken,
	} {
		mustSucceed(t, os.WriteFile(path, []byte(*text+"\n"), 0o600))
	}
	on.backend.Credentials = files
	newWorld(t, on, worldOptions{}).NewBucket(t, nil)
}
