// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/minio/minio-go/v7"
	miniocreds "github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// fake is a started server with clients for it.
type fake struct {
	*s3fake.Server
	http *http.Client
}

// wantNoError ends the test if there is an error.
func wantNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// start runs a server for the length of the test.
func start(t *testing.T, o s3fake.Options) fake {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	if o.TLS != nil {
		t.Fatal("use startTLS")
	}
	return run(t, o, client)
}

func startTLS(t *testing.T, o s3fake.Options) fake {
	t.Helper()
	config, ca, err := s3fake.SelfSigned()
	wantNoError(t, err)
	o.TLS = config
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return run(t, o, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}})
}

func run(t *testing.T, o s3fake.Options, client *http.Client) fake {
	t.Helper()
	s := faketest.Start(t, s3fake.New, o)
	t.Cleanup(client.CloseIdleConnections)
	return fake{s, client}
}

func (f fake) config(c s3fake.Credentials) aws.Config {
	return aws.Config{
		Region: f.Region(), HTTPClient: f.http, BaseEndpoint: aws.String(f.URL()), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, ""),
	}
}

func (f fake) s3(c s3fake.Credentials) *s3.Client {
	return s3.NewFromConfig(f.config(c), func(o *s3.Options) { o.UsePathStyle = true })
}

func (f fake) iam(c s3fake.Credentials) *iam.Client { return iam.NewFromConfig(f.config(c)) }

// user makes a user with an inline policy ("" for none) and returns his credentials.
func (f fake) user(t *testing.T, name, policy string) s3fake.Credentials {
	t.Helper()
	client := f.iam(f.Root())
	if _, err := client.CreateUser(t.Context(), &iam.CreateUserInput{UserName: &name}); err != nil {
		t.Fatal(err)
	}
	if policy != "" {
		if _, err := client.PutUserPolicy(t.Context(), &iam.PutUserPolicyInput{UserName: &name, PolicyName: aws.String("p"), PolicyDocument: &policy}); err != nil {
			t.Fatal(err)
		}
	}
	out, err := client.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: &name})
	wantNoError(t, err)
	return s3fake.Credentials{AccessKeyID: *out.AccessKey.AccessKeyId, SecretAccessKey: *out.AccessKey.SecretAccessKey}
}

// allow is a policy with one statement.
func allow(actions, resource string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["` + strings.ReplaceAll(actions, " ", `","`) + `"],"Resource":"` + resource + `"}]}`
}

// code is the error code of an AWS SDK error, "" for none.
func code(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		t.Fatalf("not an error of the service: %v", err)
	}
	return api.ErrorCode()
}

func (f fake) bucket(t *testing.T, name string) {
	t.Helper()
	if _, err := f.s3(f.Root()).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
}

func (f fake) minio(t *testing.T, c s3fake.Credentials) *minio.Client {
	t.Helper()
	scheme, host, _ := strings.Cut(f.URL(), "://")
	m, err := minio.New(host, &minio.Options{
		Creds: miniocreds.NewStaticV4(c.AccessKeyID, c.SecretAccessKey, ""), Secure: scheme == "https",
		Region: f.Region(), Transport: f.http.Transport,
	})
	wantNoError(t, err)
	return m
}

func body(n int) []byte { return bytes.Repeat([]byte("cooper makes buckets\n"), n/21+1)[:n] }
