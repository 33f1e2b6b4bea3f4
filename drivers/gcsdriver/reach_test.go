// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// TestPrivateAuthority uses an endpoint whose certificate authority is configured in the driver and passed on to
// workloads.
func TestPrivateAuthority(t *testing.T) {
	t.Parallel()
	config, ca, err := gcsfake.SelfSigned()
	mustSucceed(t, err)
	on := startGoogle(t, gcsfake.Options{TLS: config})
	file := filepath.Join(t.TempDir(), "ca.pem")
	mustSucceed(t, os.WriteFile(file, ca, 0o600))
	w := newWorld(t, on, worldOptions{config: func(c *gcsdriver.Config) {
		backend := c.Backends["main"]
		backend.CAFile = file
		c.Backends["main"] = backend
	}})
	bucket := w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	granted := w.MustGrant(t, request)
	authority := granted.GetCredentials().GetCertificateAuthority()
	if authority != string(ca) {
		t.Errorf("workloads are told to trust %q", authority)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authority))
	given := granted.GetCredentials().GetGcs()
	client, err := minio.New(strings.TrimPrefix(on.URL(), "https://"), &minio.Options{
		Creds: credentials.NewStaticV4(given.GetAccessId(), given.GetAccessSecret(), ""), BucketLookup: minio.BucketLookupPath, MaxRetries: 1, Region: "auto",
		Secure: true, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	})
	mustSucceed(t, err)
	if err := s3Put(t, client, bucket, "key"); err != nil {
		t.Error(err)
	}
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)

	stranger := newWorld(t, on, worldOptions{})
	drivertest.WantCode(t, stranger.Create(t, drivertest.NewAccount(), nil), codes.Unavailable, "certificate", "caFile")
}

// TestOwnCredentials replaces the file with the driver's own credentials while it runs.
func TestOwnCredentials(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{})
	good, err := os.ReadFile(on.keyFile)
	mustSucceed(t, err)
	file := filepath.Join(t.TempDir(), "key.json")
	w := newWorld(t, on, worldOptions{config: func(c *gcsdriver.Config) {
		backend := c.Backends["main"]
		backend.CredentialsFile = file
		c.Backends["main"] = backend
	}})
	create := func() error { return w.Create(t, "bc-of-this-test", nil) }
	drivertest.WantCode(t, create(), codes.Unauthenticated, "credentials")
	write := func(data []byte) {
		t.Helper()
		mustSucceed(t, os.WriteFile(file, data, 0o600))
	}
	write([]byte(`{"type": "service_account"}`))
	drivertest.WantCode(t, create(), codes.Unauthenticated, "credentials")
	write(good)
	drivertest.WantCode(t, create(), codes.OK)
}

// TestUnreachable checks that a network failure is not reported as invalid credentials.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{})
	w := newWorld(t, on, worldOptions{})
	mustSucceed(t, on.Close())
	drivertest.WantCode(t, w.Create(t, "bc-of-this-test", nil), codes.Unavailable, "cannot be reached")
}
