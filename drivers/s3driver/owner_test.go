// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestBucketOfAnotherAccount is one that the driver may use, by the bucket's own policy, but whose
// owner the users are not that it makes. The driver is configured as for AWS, and led to the fake.
func TestBucketOfAnotherAccount(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Domains: []string{"s3.us-east-1.amazonaws.com"}})
	address, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	guest := s3fake.Credentials{AccessKeyID: "AKIAGUESTGUESTGUEST1", SecretAccessKey: "the secret key of a guest"}
	toTheFake := func(next http.RoundTripper) http.RoundTripper {
		return transportFunc(func(request *http.Request) (*http.Response, error) {
			if request.URL.Path == "/" && request.URL.Host == "s3.us-east-1.amazonaws.com" && strings.Contains(request.Header.Get("Authorization"), guest.AccessKeyID) {
				// The fake has the buckets of one account; a guest's own account has none.
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
	root := s3Client(on.backend.Endpoint, "us-east-1", on.rootID, on.rootSecret)
	bucket := "somebodys-bucket"
	_, err = root.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket})
	mustSucceed(t, err)
	get := func(credentials s3driver.CredentialsConfig) error {
		w := newWorld(t, on, worldOptions{wrap: toTheFake, config: func(c *s3driver.Config) {
			c.Backends["main"] = s3driver.BackendConfig{Type: s3driver.TypeAWS, Credentials: credentials}
		}})
		_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket})
		return err
	}
	mustSucceed(t, get(on.backend.Credentials))

	const everything = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`
	mustSucceed(t, server.ImportUser(s3fake.ImportedUser{Name: "guest", Credentials: guest, Policy: everything, Account: "111122223333"}))
	asGuest := s3driver.CredentialsConfig{AccessKeyID: guest.AccessKeyID, SecretAccessKey: cosi.NewSecret(guest.SecretAccessKey)}
	drivertest.WantCode(t, get(asGuest), codes.PermissionDenied)
	_, err = root.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: aws.String(`{"Version":"2012-10-17","Statement":[` +
		`{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"s3:*","Resource":["arn:aws:s3:::` + bucket + `","arn:aws:s3:::` + bucket + `/*"]}]}`)})
	mustSucceed(t, err)
	drivertest.WantCode(t, get(asGuest), codes.AlreadyExists, "another account")
}
