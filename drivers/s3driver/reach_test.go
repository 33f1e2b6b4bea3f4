// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/freeport"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestVirtualAddressing uses the bucket name in the host, for the driver and for workloads.
func TestVirtualAddressing(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Domains: []string{"s3.example.com"}})
	address, err := url.Parse(server.URL())
	mustSucceed(t, err)
	on.backend.Endpoint, on.backend.Addressing, on.backend.Insecure = "http://s3.example.com", s3driver.AddressingVirtual, true
	var mu sync.Mutex
	hosts := map[string]bool{}
	// The test's names cannot be resolved by DNS.
	resolve := func(next http.RoundTripper) http.RoundTripper {
		return transportFunc(func(request *http.Request) (*http.Response, error) {
			mu.Lock()
			hosts[request.URL.Host] = true
			mu.Unlock()
			request = request.Clone(request.Context())
			request.Host, request.URL.Host = request.URL.Host, address.Host
			return next.RoundTrip(request)
		})
	}
	w := newWorld(t, on, worldOptions{wrap: resolve})
	bucket := w.NewBucket(t, nil)
	granted := w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket))
	info := granted.GetBuckets()[0].GetBucketInfo().GetS3()
	if info.GetAddressingStyle().GetStyle() != cosi.S3AddressingStyle_VIRTUAL || info.GetEndpoint() != "http://s3.example.com" {
		t.Errorf("workloads are told %v", info)
	}
	mu.Lock() // health checks continue
	if !hosts[bucket+".s3.example.com"] {
		t.Errorf("the bucket is in none of the hosts %v", hosts)
	}
	mu.Unlock()
	credential := granted.GetCredentials().GetS3()
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String(info.GetEndpoint()), Region: info.GetRegion(), RetryMaxAttempts: 1,
		Credentials: fixedCredentials(credential.GetAccessKeyId(), credential.GetAccessSecretKey()),
		HTTPClient:  &http.Client{Transport: resolve(http.DefaultTransport)},
	})
	mustSucceed(t, putObject(t, client, bucket, "key"))
}

// TestRenewedLogin replaces the driver's own key in its files while it is running.
func TestRenewedLogin(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	admin := iam.New(iam.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	user := aws.String("driver")
	_, err := admin.CreateUser(t.Context(), &iam.CreateUserInput{UserName: user})
	mustSucceed(t, err)
	_, err = admin.PutUserPolicy(t.Context(), &iam.PutUserPolicyInput{
		UserName: user, PolicyName: aws.String("all"), PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`),
	})
	mustSucceed(t, err)
	directory := t.TempDir()
	files := s3driver.CredentialsConfig{AccessKeyIDFile: filepath.Join(directory, "id"), SecretAccessKeyFile: filepath.Join(directory, "secret")}
	renew := func() string {
		made, err := admin.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: user})
		mustSucceed(t, err)
		for file, text := range map[string]*string{files.AccessKeyIDFile: made.AccessKey.AccessKeyId, files.SecretAccessKeyFile: made.AccessKey.SecretAccessKey} {
			// As in a mounted Secret: with a line end, and replaced atomically.
			mustSucceed(t, os.WriteFile(file+".new", []byte(*text+"\n"), 0o600))
			mustSucceed(t, os.Rename(file+".new", file))
		}
		return aws.ToString(made.AccessKey.AccessKeyId)
	}
	first := renew()
	on.backend.Credentials = files
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)

	renew()
	_, err = admin.DeleteAccessKey(t.Context(), &iam.DeleteAccessKeyInput{UserName: user, AccessKeyId: &first})
	mustSucceed(t, err)
	w.NewBucket(t, nil)
	w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket))

	mustSucceed(t, os.WriteFile(files.SecretAccessKeyFile, nil, 0o600))
	_, err = w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "bc-" + drivertest.NewAccount()})
	if err == nil || strings.Contains(err.Error(), directory) {
		t.Errorf("an empty file: %v, want an error without paths of the driver's machine", err)
	}
}

func testStoreThatIsDown(t *testing.T, on target) {
	on.backend.Endpoint = "http://" + freeport.ForTest(t).Address()
	w := newWorld(t, on, worldOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := w.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: "bc-" + uuid.NewString()})
	drivertest.WantCode(t, err, codes.Unavailable, "cannot be reached")
}

func testWrongLogin(t *testing.T, on target) {
	for name, secret := range map[string]string{"wrong secret": "wrong", "wrong key": rootSecretKey} {
		broken := on
		broken.backend.Credentials.SecretAccessKey = cosi.NewSecret(secret)
		if name == "wrong key" {
			broken.backend.Credentials.AccessKeyID = "AKIAUNKNOWN"
		}
		w := newWorld(t, broken, worldOptions{})
		_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "bc-" + uuid.NewString()})
		drivertest.WantCode(t, err, codes.Unauthenticated, "credentials")
	}
}

// TestCAFileIsReadAgain renews a store's certificate authority while the driver is running. The driver must trust the
// new one, and its changed revision must make the sidecar grant again, so that workloads get the new authority too.
func TestCAFileIsReadAgain(t *testing.T) {
	t.Parallel()
	server, trusted := selfSigned(t)
	_, file := selfSigned(t)
	on, _ := startFake(t, s3fake.Options{TLS: server})
	on.backend.CAFile = file
	w := newWorld(t, on, worldOptions{})
	before, err := w.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{})
	mustSucceed(t, err)
	renewed, err := os.ReadFile(trusted)
	mustSucceed(t, err)
	mustSucceed(t, os.WriteFile(file, renewed, 0o600))
	granted := w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, w.NewBucket(t, nil)))
	if got := granted.GetCredentials().GetCertificateAuthority(); got != string(renewed) {
		t.Errorf("workloads get\n%s", got)
	}
	after, err := w.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{})
	mustSucceed(t, err)
	if before.GetRevision() == after.GetRevision() {
		t.Error("the sidecar is not told")
	}
}
