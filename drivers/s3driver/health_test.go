// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func driverOf(t *testing.T, backends map[string]s3driver.BackendConfig) *s3driver.Driver {
	t.Helper()
	driver, err := s3driver.New(s3driver.Options{
		Config:      s3driver.Config{Cluster: eksCluster, Backends: backends, DefaultBackend: "main"},
		Credentials: credstore.NewMemory(),
	})
	mustSucceed(t, err)
	return driver
}

// testEveryStoreResponds checks all APIs of the store that the driver uses.
func testEveryStoreResponds(t *testing.T, on target) {
	wrong := on.backend
	wrong.Credentials.SecretAccessKey = cosi.NewSecret("wrong")
	answers := driverOf(t, map[string]s3driver.BackendConfig{"main": on.backend, "wrong": wrong}).CheckBackends(t.Context())
	if err := answers["main"]; err != nil {
		t.Errorf("it does not respond: %v", err)
	}
	if answers["wrong"] == nil {
		t.Error("it accepts a driver with the wrong key")
	}
}

// TestWhatDoesNotRespond disables one API.
func TestWhatDoesNotRespond(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*s3driver.BackendConfig)
		fault  string
		want   string
	}{
		"S3":                        {fault: "ListBuckets", want: "check the store: "},
		"IAM":                       {fault: "iam:GetUser", want: "check the accounts of the store: "},
		"IAM for roles":             {fault: "iam:GetRole", want: "check the roles of service accounts: "},
		"EKS":                       {fault: "eks:ListPodIdentityAssociations", want: "check the roles of service accounts: "},
		"a cluster that is not one": {change: func(b *s3driver.BackendConfig) { b.IAM.ServiceAccounts.EKSCluster = "nowhere" }, want: "check the roles of service accounts: "},
		"the key for all": {change: func(b *s3driver.BackendConfig) {
			b.Type, b.IAM = s3driver.TypeStatic, s3driver.IAMConfig{}
			b.Workloads = s3driver.CredentialsConfig{AccessKeyIDFile: "/nowhere/id", SecretAccessKeyFile: "/nowhere/secret"}
		}, want: "check the accounts of the store: the key for workloads cannot be read"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, server := startFake(t, s3fake.Options{Clusters: map[string]string{eksCluster: "https://oidc.example.com/id"}})
			on.backend.IAM.ServiceAccounts.EKSCluster = eksCluster
			broken := on.backend
			if test.change != nil {
				test.change(&broken)
			}
			driver := driverOf(t, map[string]s3driver.BackendConfig{"main": broken})
			if test.fault != "" {
				if err := driver.CheckBackends(t.Context())["main"]; err != nil {
					t.Fatalf("before: %v", err)
				}
				mustSucceed(t, server.Faults.Add(fault.Rule{Operation: test.fault, Code: "ServiceUnavailable", Status: http.StatusServiceUnavailable}))
			}
			if err := driver.CheckBackends(t.Context())["main"]; err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

// TestADeniedCallIsAResponse checks with a user that has no permission for any of the check's calls.
func TestADeniedCallIsAResponse(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Clusters: map[string]string{eksCluster: "https://oidc.example.com/id"}})
	on.backend.IAM.ServiceAccounts.EKSCluster = eksCluster
	admin := iam.New(iam.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	_, err := admin.CreateUser(t.Context(), &iam.CreateUserInput{UserName: aws.String("driver")})
	mustSucceed(t, err)
	key, err := admin.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: aws.String("driver")})
	mustSucceed(t, err)
	on.backend.Credentials = s3driver.CredentialsConfig{AccessKeyID: *key.AccessKey.AccessKeyId, SecretAccessKey: cosi.NewSecret(*key.AccessKey.SecretAccessKey)}
	if err := driverOf(t, map[string]s3driver.BackendConfig{"main": on.backend}).CheckBackends(t.Context())["main"]; err != nil {
		t.Errorf("it does not respond: %v", err)
	}
}

// TestOneBackendHoldsUpNoOther checks one backend that hangs and one that responds.
func TestOneBackendHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{})
	hanging := on.backend
	hanging.Region = "eu-west-9"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := make(chan struct{}, 8)
	driver, err := s3driver.New(s3driver.Options{
		Config:      s3driver.Config{Backends: map[string]s3driver.BackendConfig{"main": on.backend, "lab": hanging}, DefaultBackend: "main"},
		Credentials: credstore.NewMemory(),
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return transportFunc(func(request *http.Request) (*http.Response, error) {
				if slices.ContainsFunc(request.Header["Authorization"], func(text string) bool { return strings.Contains(text, hanging.Region) }) {
					<-request.Context().Done()
					return nil, request.Context().Err()
				}
				response, err := next.RoundTrip(request)
				if err == nil {
					response.Body = closing{response.Body, sync.OnceFunc(func() { answered <- struct{}{} })}
				}
				return response, err
			})
		},
	})
	mustSucceed(t, err)
	go func() {
		// End the check when the SDK has read both responses of the backend that responds: one from S3 and one from IAM.
		<-answered
		<-answered
		cancel()
	}()
	answers := driver.CheckBackends(ctx)
	if answers["main"] != nil || answers["lab"] == nil {
		t.Errorf("the errors are %v, want one of lab only", answers)
	}
}

// closing is the body of a response. It reports that the SDK has read and closed it.
type closing struct {
	io.ReadCloser

	closed func()
}

// Close implements io.Closer.
func (c closing) Close() error {
	defer c.closed()
	return c.ReadCloser.Close()
}

func TestCallsToStoresAreMeasured(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{})
	registry := prometheus.NewRegistry()
	driver, err := s3driver.New(s3driver.Options{
		Config:      s3driver.Config{Backends: map[string]s3driver.BackendConfig{"main": on.backend}},
		Credentials: credstore.NewMemory(), Registerer: registry,
	})
	mustSucceed(t, err)
	if err := driver.CheckBackends(t.Context())["main"]; err != nil {
		t.Errorf("the backend does not answer: %v", err)
	}
	if _, err := driver.CreateBucket(t.Context(), driverkit.CreateBucketRequest{BucketID: "bc-1"}); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	mustSucceed(t, err)
	var seen []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "operation" {
					seen = append(seen, label.GetValue())
				}
			}
		}
	}
	for _, want := range []string{"CreateBucket", "PutBucketTagging", "ListBuckets"} {
		if !slices.Contains(seen, want) {
			t.Errorf("%s is not measured, only %v", want, seen)
		}
	}
}
