// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/drivercmdtest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func startStore(t *testing.T, options s3fake.Options) *s3fake.Server {
	t.Helper()
	server := faketest.Start(t, s3fake.New, options)
	return server
}

// write replaces a file atomically, as the kubelet does in a mounted Secret.
func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// key is the driver's own key pair in two files.
type key struct{ id, secret string }

func newKey(t *testing.T) key {
	t.Helper()
	directory := t.TempDir()
	return key{filepath.Join(directory, "id"), filepath.Join(directory, "secret")}
}

func (k key) write(t *testing.T, id, secret string) {
	t.Helper()
	write(t, k.id, id+"\n")
	write(t, k.secret, secret+"\n")
}

// yaml returns the configuration of a backend that uses the key.
func (k key) yaml(name, endpoint, rest string) string {
	return fmt.Sprintf("  %s: {type: aws, endpoint: '%s', credentials: {accessKeyIDFile: '%s', secretAccessKeyFile: '%s'}%s}\n", name, endpoint, k.id, k.secret, rest)
}

func createBucket(t *testing.T, client *drivertest.Client, backend string) string {
	t.Helper()
	parameters := map[string]string{"backend": backend}
	generated, err := client.DriverGenerateBucketId(t.Context(), &cosi.DriverGenerateBucketIdRequest{Name: "bc-" + uuid.NewString(), Parameters: parameters})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: generated.GetBucketId(), Parameters: parameters}); err != nil {
		t.Fatalf("create a bucket at %s: %v", backend, err)
	}
	return generated.GetBucketId()
}

func grant(t *testing.T, client *drivertest.Client, bucket string) *cosi.DriverGrantBucketAccessResponse {
	t.Helper()
	request := &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: "ba-" + uuid.NewString(), Protocol: &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Buckets:            []*cosi.AccessedBucket{{BucketId: bucket, ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE}}},
	}
	generated, err := client.DriverGenerateBucketAccessId(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	granted, err := client.DriverGrantBucketAccess(t.Context(), &cosi.DriverGrantBucketAccessRequest{
		AccountId: generated.GetAccountId(), Protocol: request.GetProtocol(), AuthenticationType: request.GetAuthenticationType(), Buckets: request.GetBuckets(),
	})
	if err != nil {
		t.Fatalf("grant access to %s: %v", bucket, err)
	}
	return granted
}

// TestScrapedAfterAGrant checks the metrics of every RPC and of every call to two stores, and finds the store
// calls of an RPC in its trace.
func TestScrapedAfterAGrant(t *testing.T) {
	t.Parallel()
	collector := processtest.NewCollector(t)
	endpoint, metrics, config := drivertest.Endpoint(t), freeport.ForTest(t).Address(), filepath.Join(t.TempDir(), "config.yaml")
	text := "defaultBackend: main\nbackends:\n"
	for _, name := range []string{"main", "lab"} {
		server, own := startStore(t, s3fake.Options{}), newKey(t)
		own.write(t, server.Root().AccessKeyID, server.Root().SecretAccessKey)
		text += own.yaml(name, server.URL(), "")
	}
	write(t, config, text)
	environment := map[string]string{
		"COSI_ENDPOINT": endpoint, "COOPER_CREDENTIAL_STORE": "directory:" + t.TempDir(), "COOPER_TRACES_ENDPOINT": collector.URL,
	}
	process := drivercmdtest.Launch{Environment: environment, Arguments: []string{"--config=" + config, "--metrics-address=" + metrics}}.Start(t)
	client := drivertest.Dial(t, endpoint)
	secret := grant(t, client, createBucket(t, client, "main")).GetCredentials().GetS3().GetAccessSecretKey()
	createBucket(t, client, "lab")
	if _, err := client.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: "bc-none"}); err == nil {
		t.Error("a bucket that is not there was found")
	}

	page := process.AwaitPage("http://"+metrics+"/metrics", http.StatusOK, `cosi_driver_backend_up{backend="main",driver_name="s3.cooper.dev"} 1`)
	const rpc, call = "cosi_driver_rpc_duration_seconds_count", "cosi_driver_backend_call_duration_seconds_count"
	method := func(name string) string {
		return `method="/` + cosi.Provisioner_ServiceDesc.ServiceName + "/" + name + `"`
	}
	for _, want := range []string{
		rpc + `{driver_name="s3.cooper.dev",grpc_status_code="OK",` + method("DriverGenerateBucketId") + `} 2`,
		rpc + `{driver_name="s3.cooper.dev",grpc_status_code="OK",` + method("DriverCreateBucket") + `} 2`,
		rpc + `{driver_name="s3.cooper.dev",grpc_status_code="NotFound",` + method("DriverGetBucket") + `} 1`,
		rpc + `{driver_name="s3.cooper.dev",grpc_status_code="OK",` + method("DriverGenerateBucketAccessId") + `} 1`,
		rpc + `{driver_name="s3.cooper.dev",grpc_status_code="OK",` + method("DriverGrantBucketAccess") + `} 1`,
		call + `{api="IAM",backend="main",driver_name="s3.cooper.dev",operation="CreateUser",status="200"} 1`,
		call + `{api="IAM",backend="main",driver_name="s3.cooper.dev",operation="CreateAccessKey",status="200"} 1`,
		call + `{api="S3",backend="main",driver_name="s3.cooper.dev",operation="CreateBucket",status="200"} 1`,
		call + `{api="S3",backend="lab",driver_name="s3.cooper.dev",operation="CreateBucket",status="200"} 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	process.Terminate()
	if code := process.Exit(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, process.Output())
	}
	// The caller gets only a sentence. The driver's log has the request ID, by which the call can be found in
	// the store's log.
	if log := process.Output(); !regexp.MustCompile(`GetBucketLocation, .*StatusCode: 404, RequestID: \w+, .*NoSuchBucket`).MatchString(log) {
		t.Errorf("the log lacks the store's code and request ID of the bucket that is not there:\n%s", log)
	}
	for _, span := range []string{"DriverGrantBucketAccess", "IAM.CreateUser", "S3.CreateBucket", "cosi.backend"} {
		if !strings.Contains(collector.Received(), span) {
			t.Errorf("the traces lack %s", span)
		}
	}
	if secret == "" || strings.Contains(page+process.Output()+collector.Received(), secret) {
		t.Error("no secret, or it is in metrics, log or traces")
	}
	if t.Failed() {
		t.Log(page)
	}
}

// TestKeyExchangedWhileItRuns replaces the driver's key in its files and deletes the old key. The store's
// certificate is trusted only through caFile.
func TestKeyExchangedWhileItRuns(t *testing.T) {
	t.Parallel()
	certificate, authority, err := s3fake.SelfSigned("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	server, own := startStore(t, s3fake.Options{TLS: certificate}), newKey(t)
	ca, config, endpoint := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "config.yaml"), drivertest.Endpoint(t)
	write(t, ca, string(authority))
	write(t, config, "backends:\n"+own.yaml("main", server.URL(), ", caFile: '"+ca+"'"))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	admin := iam.New(iam.Options{
		BaseEndpoint: aws.String(server.URL()), Region: server.Region(),
		HTTPClient:  &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}},
		Credentials: credentials.NewStaticCredentialsProvider(server.Root().AccessKeyID, server.Root().SecretAccessKey, ""),
	})
	first := newAdministrator(t, admin, own)
	environment := map[string]string{"COSI_ENDPOINT": endpoint, "COOPER_CREDENTIAL_STORE": "memory"}
	process := drivercmdtest.Launch{Environment: environment, Arguments: []string{"--config=" + config}}.Start(t)
	client := drivertest.Dial(t, endpoint)
	bucket := createBucket(t, client, "main")

	exchange(t, admin, own)
	if _, err := admin.DeleteAccessKey(t.Context(), &iam.DeleteAccessKeyInput{UserName: aws.String("driver"), AccessKeyId: &first}); err != nil {
		t.Fatal(err)
	}
	createBucket(t, client, "main")
	granted := grant(t, client, bucket)
	if granted.GetCredentials().GetCertificateAuthority() != string(authority) {
		t.Error("workloads do not get the certificate authority")
	}
	process.Terminate()
	if code := process.Exit(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, process.Output())
	}
}

// newAdministrator creates the driver's user with a key in the files, and returns the key's ID.
func newAdministrator(t *testing.T, admin *iam.Client, own key) string {
	t.Helper()
	if _, err := admin.CreateUser(t.Context(), &iam.CreateUserInput{UserName: aws.String("driver")}); err != nil {
		t.Fatal(err)
	}
	_, err := admin.PutUserPolicy(t.Context(), &iam.PutUserPolicyInput{
		UserName: aws.String("driver"), PolicyName: aws.String("all"),
		PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return exchange(t, admin, own)
}

// exchange writes a new key of the driver into its files and returns the key's ID.
func exchange(t *testing.T, admin *iam.Client, own key) string {
	t.Helper()
	made, err := admin.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: aws.String("driver")})
	if err != nil {
		t.Fatal(err)
	}
	own.write(t, *made.AccessKey.AccessKeyId, *made.AccessKey.SecretAccessKey)
	return *made.AccessKey.AccessKeyId
}

// TestStartsBeforeItsSidecar starts the driver before its credential store is served. The driver responds to
// DriverGetInfo, for which the sidecar waits, and calls that need the store fail with a retryable error.
func TestStartsBeforeItsSidecar(t *testing.T) {
	t.Parallel()
	server, own, config := startStore(t, s3fake.Options{}), newKey(t), filepath.Join(t.TempDir(), "config.yaml")
	own.write(t, server.Root().AccessKeyID, server.Root().SecretAccessKey)
	write(t, config, "backends:\n"+own.yaml("main", server.URL(), ""))
	endpoint := drivertest.Endpoint(t)
	environment := map[string]string{"COSI_ENDPOINT": endpoint, "COOPER_CREDENTIAL_STORE": "sidecar:" + drivertest.Endpoint(t)}
	process := drivercmdtest.Launch{Environment: environment, Arguments: []string{"--config=" + config}}.Start(t)
	client := drivertest.Dial(t, endpoint)
	if _, err := client.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{}); err != nil {
		t.Errorf("DriverGetInfo: %v", err)
	}
	_, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "bc-" + uuid.NewString()})
	drivertest.WantCode(t, err, codes.Unavailable, "credential store")
	process.Terminate()
	if code := process.Exit(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, process.Output())
	}
}
