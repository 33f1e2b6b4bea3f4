// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/wholebody"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// target is a store on which the driver is tested.
type target struct {
	// name and version are for the page of stores.
	name, version string
	backend       s3driver.BackendConfig
	// rootID and rootSecret are the credentials of the store's administrator.
	rootID, rootSecret string
	// secure, if set, is the same store with TLS.
	secure func(t *testing.T) target
	// real means that the target is not the fake, and may lack some capabilities.
	real bool
	// sample is the number of cells of each crash matrix that the full tier tries on this store; 0 means the constant
	// sample.
	sample int
	// queue is the ARN of a queue that accepts events, or empty, and events receives them.
	queue  string
	events <-chan string
	// can lists the target's optional capabilities.
	can []capability
	// accounts lists the accounts, keys and policies of the store.
	accounts func(ctx context.Context) ([]string, error)
}

// versityIAM is versitygw with its own IAM API, which the unmodified backend type aws uses.
func versityIAM(t *testing.T) target {
	t.Helper()
	endpoint, iamEndpoint := startVersityIAM(t)
	return target{
		name: "versitygw", version: stores.VersityGW().Version,
		backend: s3driver.BackendConfig{
			Type: s3driver.TypeAWS, Endpoint: endpoint, IAM: s3driver.IAMConfig{Endpoint: iamEndpoint},
			Credentials: s3driver.CredentialsConfig{AccessKeyID: rootAccessKey, SecretAccessKey: cosi.NewSecret(rootSecretKey)},
		},
		rootID: rootAccessKey, rootSecret: rootSecretKey, real: true, sample: sampleOfReal,
		accounts: func(ctx context.Context) ([]string, error) {
			return iamAccounts(ctx, iamEndpoint, rootAccessKey, rootSecretKey)
		},
	}
}

// versityAdmin is versitygw with its own accounts.
func versityAdmin(t *testing.T) target {
	t.Helper()
	on := adminTarget(s3driver.TypeVersityGW, startVersity(t, certificate{}), rootAccessKey, rootSecretKey)
	on.secure = secured(s3driver.TypeVersityGW, func(with certificate) string { return startVersity(t, with) })
	on.name, on.version = "versitygw", stores.VersityGW().Version
	return on
}

// realMinIO is a MinIO process.
func realMinIO(t *testing.T) target {
	t.Helper()
	receiver, events := eventReceiver(t)
	endpoint := startMinIO(t, certificate{}, "MINIO_NOTIFY_WEBHOOK_ENABLE_UPLOADS=on", "MINIO_NOTIFY_WEBHOOK_ENDPOINT_UPLOADS="+receiver)
	on := adminTarget(s3driver.TypeMinIO, endpoint, rootAccessKey, rootSecretKey)
	on.queue, on.events = "arn:minio:sqs::UPLOADS:webhook", events
	on.secure = secured(s3driver.TypeMinIO, func(with certificate) string { return startMinIO(t, with) })
	on.can = []capability{lifecycleRules}
	on.name, on.version = "MinIO", stores.MinIO().Version
	return on
}

// realSeaweedFS is a SeaweedFS process.
func realSeaweedFS(t *testing.T) target {
	t.Helper()
	on := adminTarget(s3driver.TypeSeaweedFS, startSeaweedFS(t, certificate{}), rootAccessKey, rootSecretKey)
	on.secure = secured(s3driver.TypeSeaweedFS, func(with certificate) string { return startSeaweedFS(t, with) })
	on.name, on.version = "SeaweedFS", stores.SeaweedFS().Version
	return on
}

// secured starts a store of this type with TLS.
func secured(kind s3driver.BackendType, start func(certificate) string) func(*testing.T) target {
	return func(t *testing.T) target {
		t.Helper()
		with := newCertificate(t)
		on := adminTarget(kind, start(with), rootAccessKey, rootSecretKey)
		on.backend.CAFile = with.authority
		return on
	}
}

// adminTarget returns a store at this endpoint, as configured for a driver with this key.
func adminTarget(kind s3driver.BackendType, endpoint, id, secret string) target {
	on := target{
		backend: s3driver.BackendConfig{
			Type: kind, Endpoint: endpoint,
			Credentials: s3driver.CredentialsConfig{AccessKeyID: id, SecretAccessKey: cosi.NewSecret(secret)},
		},
		rootID: id, rootSecret: secret, real: true, sample: sampleOfReal,
	}
	on.accounts = func(ctx context.Context) ([]string, error) { return adminAccounts(ctx, kind, endpoint, id, secret) }
	if kind == s3driver.TypeAWS {
		on.accounts = func(ctx context.Context) ([]string, error) { return iamAccounts(ctx, endpoint, id, secret) }
	}
	if kind == s3driver.TypeStatic {
		on.accounts = func(context.Context) ([]string, error) { return nil, nil }
	}
	if kind == s3driver.TypeSeaweedFS {
		on.accounts = func(ctx context.Context) ([]string, error) { return seaweedFSAccounts(ctx, endpoint, id, secret) }
	}
	if kind == s3driver.TypeRGW {
		on.accounts, on.can = on.cephAccounts, []capability{readableKeys, lifecycleRules}
	}
	return on
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// ourFake is this repository's fake: S3 and IAM on one port.
func ourFake(t *testing.T) target {
	t.Helper()
	on, _ := ourServer(t, s3fake.Options{})
	return on
}

func ourServer(t *testing.T, options s3fake.Options) (target, *s3fake.Server) {
	t.Helper()
	options.Clusters = map[string]string{eksCluster: "https://oidc.example.com/id"}
	receiver, events := eventReceiver(t)
	options.Webhooks = map[string]string{"uploads": receiver}
	on, server := startFake(t, options)
	on.queue, on.events = "arn:aws:sqs:us-east-1:000000000000:uploads", events
	on.backend.AccountID, on.backend.IAM.ServiceAccounts.EKSCluster = "000000000000", eksCluster
	on.can = []capability{managedPolicies, serviceAccounts, lifecycleRules}
	on.name, on.version = "AWS, simulated by s3fake", "this version"
	on.secure = secureFake
	return on, server
}

// startFake also returns the fake itself, for tests that inject faults or inspect it.
func startFake(t *testing.T, options s3fake.Options) (target, *s3fake.Server) {
	t.Helper()
	server := faketest.Start(t, s3fake.New, options)
	root := server.Root()
	return target{
		backend: s3driver.BackendConfig{
			Type: s3driver.TypeAWS, Endpoint: server.URL(),
			Credentials: s3driver.CredentialsConfig{AccessKeyID: root.AccessKeyID, SecretAccessKey: cosi.NewSecret(root.SecretAccessKey)},
		},
		rootID: root.AccessKeyID, rootSecret: root.SecretAccessKey,
		accounts: func(context.Context) ([]string, error) {
			var lines []string
			held := server.Inventory()
			for _, user := range held.Users {
				lines = append(lines, "user "+user.Name)
				for id := range user.Keys {
					lines = append(lines, "key "+user.Name+" "+id)
				}
				for policy := range user.Inline {
					lines = append(lines, "policy "+user.Name+" "+policy)
				}
			}
			for _, role := range held.Roles {
				lines = append(lines, "role "+role.Name)
				for policy := range role.Inline {
					lines = append(lines, "policy "+role.Name+" "+policy)
				}
			}
			for _, association := range held.Associations {
				lines = append(lines, "association "+association)
			}
			for _, policy := range held.Policies {
				lines = append(lines, "policy "+policy)
			}
			return lines, nil
		},
	}, server
}

// world is one driver process on a target.
type world struct {
	*drivertest.Client

	target target
	store  credstore.Store
}

type worldOptions struct {
	store  credstore.Store
	wrap   func(http.RoundTripper) http.RoundTripper
	config func(*s3driver.Config)
	serve  driverkit.Options
}

// newWorld serves a driver over a real socket. A second world on the same target and store is equivalent to a
// restarted driver.
func newWorld(t *testing.T, on target, options worldOptions) *world {
	t.Helper()
	if options.store == nil {
		options.store = credstore.NewMemory()
	}
	config := s3driver.Config{Cluster: eksCluster, Backends: map[string]s3driver.BackendConfig{"main": on.backend}}
	if options.config != nil {
		options.config(&config)
	}
	driver, err := s3driver.New(s3driver.Options{Config: config, Credentials: options.store, WrapTransport: options.wrap})
	mustSucceed(t, err)
	return &world{Client: drivertest.Serve(t, driver, options.serve), target: on, store: options.store}
}

func (w *world) mustCreate(t *testing.T, id string, parameters map[string]string) *cosi.S3BucketInfo {
	t.Helper()
	created, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: id, Parameters: parameters})
	if err != nil {
		t.Fatalf("create bucket %s: %v", id, err)
	}
	return created.GetProtocols().GetS3()
}

var readWrite = drivertest.Modes{Data: cosi.AccessMode_READ_WRITE}

func grantRequest(account string, modes drivertest.Modes, buckets ...string) *cosi.DriverGrantBucketAccessRequest {
	return drivertest.GrantRequest(cosi.ObjectProtocol_S3, account, modes, buckets...)
}

func (w *world) revoke(t *testing.T, account string, buckets ...string) error {
	t.Helper()
	return w.Revoke(t, grantRequest(account, drivertest.Modes{}, buckets...))
}

// workload is an S3 client with the credential that a grant returned.
func workload(t *testing.T, granted *cosi.DriverGrantBucketAccessResponse) *s3.Client {
	t.Helper()
	info := granted.GetBuckets()[0].GetBucketInfo().GetS3()
	credential := granted.GetCredentials().GetS3()
	return s3Client(info.GetEndpoint(), info.GetRegion(), credential.GetAccessKeyId(), credential.GetAccessSecretKey())
}

// root is an S3 client of the store's administrator.
func (w *world) root() *s3.Client {
	return s3Client(w.target.backend.Endpoint, "us-east-1", w.target.rootID, w.target.rootSecret)
}

func s3Client(endpoint, region, id, secret string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(endpoint), Region: region, UsePathStyle: true, RetryMaxAttempts: 1,
		Credentials: fixedCredentials(id, secret),
		HTTPClient:  &http.Client{Transport: wholebody.Transport{Next: http.DefaultTransport}},
	})
}

func fixedCredentials(id, secret string) aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(id, secret, "")
}

func putObject(t *testing.T, client *s3.Client, bucket, key string) error {
	t.Helper()
	_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("text")})
	return err
}

func getObject(t *testing.T, client *s3.Client, bucket, key string) error {
	t.Helper()
	out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return err
	}
	return out.Body.Close()
}

// apiCode returns the code of a store's error, empty for success.
func apiCode(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		t.Fatalf("no response of the store: %v", err)
	}
	return api.ErrorCode()
}
