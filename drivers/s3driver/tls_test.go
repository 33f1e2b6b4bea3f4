// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// selfSigned returns a TLS configuration and a file with its certificate.
func selfSigned(t *testing.T) (*tls.Config, string) {
	t.Helper()
	config, authority, err := s3fake.SelfSigned("127.0.0.1")
	mustSucceed(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	mustSucceed(t, os.WriteFile(file, authority, 0o600))
	return config, file
}

// certificate contains the files for a server process, with the names that MinIO requires. It is empty for a server
// without TLS.
type certificate struct{ dir, cert, key, authority string }

func (c certificate) url(address string) string {
	if c.cert == "" {
		return "http://" + address
	}
	return "https://" + address
}

func newCertificate(t *testing.T) certificate {
	t.Helper()
	config, authority := selfSigned(t)
	dir := t.TempDir()
	made := certificate{dir: dir, cert: filepath.Join(dir, "public.crt"), key: filepath.Join(dir, "private.key"), authority: authority}
	key, err := x509.MarshalPKCS8PrivateKey(config.Certificates[0].PrivateKey)
	mustSucceed(t, err)
	for file, block := range map[string]*pem.Block{
		made.cert: {Type: "CERTIFICATE", Bytes: config.Certificates[0].Certificate[0]}, made.key: {Type: "PRIVATE KEY", Bytes: key},
	} {
		mustSucceed(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return made
}

// TestTLSIsNeverSkipped uses a store with a certificate that is trusted only through caFile.
func TestTLSIsNeverSkipped(t *testing.T) {
	t.Parallel()
	testTLS(t, secureFake(t))
}

func secureFake(t *testing.T) target {
	t.Helper()
	server, trusted := selfSigned(t)
	on, _ := startFake(t, s3fake.Options{TLS: server})
	on.backend.CAFile = trusted
	return on
}

// testTLS uses a store whose authority is configured as caFile.
func testTLS(t *testing.T, on target) {
	t.Helper()
	_, other := selfSigned(t)
	for name, file := range map[string]string{"without a CA": "", "with another CA": other} {
		refused := on
		refused.backend.CAFile = file
		_, err := newWorld(t, refused, worldOptions{}).DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "bc-" + drivertest.NewAccount()})
		if err == nil {
			t.Errorf("%s: an untrusted certificate is accepted", name)
			continue
		}
		drivertest.WantCode(t, err, codes.Unavailable, "is not trusted", "caFile")
	}
	w := newWorld(t, on, worldOptions{})
	bucket, account := "bc-"+drivertest.NewAccount(), drivertest.NewAccount()
	w.mustCreate(t, bucket, nil)
	granted := w.MustGrant(t, grantRequest(account, readWrite, bucket))

	// The workload gets everything that it needs to reach the store with the same security.
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(granted.GetCredentials().GetCertificateAuthority())) {
		t.Fatal("the grant answers no certificate authority")
	}
	credential := granted.GetCredentials().GetS3()
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String(on.backend.Endpoint), Region: "us-east-1", UsePathStyle: true, RetryMaxAttempts: 1,
		Credentials: fixedCredentials(credential.GetAccessKeyId(), credential.GetAccessSecretKey()),
		HTTPClient:  &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}},
	})
	mustSucceed(t, putObject(t, client, bucket, "key"))
	mustSucceed(t, w.revoke(t, account, bucket))
	mustSucceed(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}))
}
