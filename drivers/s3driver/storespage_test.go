// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/testenv/stores/storestest"
)

// runningStore runs the conformance tests only on one running store.
var runningStore = flag.String("store", "", "type=endpoint of a store that runs, such as rgw=https://rgw.example.com; the key of the driver is in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

var (
	runningCA  = flag.String("store-ca", "", "PEM file with the certificate authority of that store, if this machine does not trust it")
	runningIAM = flag.String("store-iam", "", "URL of the IAM API of a store of type aws, if it is another than the endpoint")
)

// running is the store that the flags select.
func running(t *testing.T) target {
	t.Helper()
	kind, endpoint, found := strings.Cut(*runningStore, "=")
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	if !found || id == "" || secret == "" {
		t.Fatal("-store wants type=endpoint, and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the driver")
	}
	at := func(s3Endpoint, iamEndpoint string) target {
		on := adminTarget(s3driver.BackendType(kind), s3Endpoint, id, secret)
		on.name, on.version = endpoint, "as it runs"
		on.backend.Insecure = true // an http:// URL implies it
		if on.backend.IAM.Endpoint = iamEndpoint; iamEndpoint != "" {
			on.accounts = func(ctx context.Context) ([]string, error) { return iamAccounts(ctx, iamEndpoint, id, secret) }
		}
		return on
	}
	if *runningCA == "" {
		return at(endpoint, *runningIAM)
	}
	on := at(relay(t, endpoint), relay(t, *runningIAM))
	on.secure = func(*testing.T) target {
		secure := at(endpoint, *runningIAM)
		secure.backend.CAFile = *runningCA
		return secure
	}
	return on
}

// relay serves without TLS a store that only -store-ca vouches for, so that the tests' many clients need no CA.
// testTLS tests TLS itself. Signatures cover the host that the client requested.
func relay(t *testing.T, endpoint string) string {
	t.Helper()
	if endpoint == "" {
		return ""
	}
	authority, err := os.ReadFile(*runningCA)
	mustSucceed(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	to, err := url.Parse(endpoint)
	mustSucceed(t, err)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(to)
			request.Out.Host = request.In.Host
		},
	})
	t.Cleanup(server.Close)
	return server.URL
}

// row determines the capabilities of the store by trying them.
func (on target) row(t *testing.T, report sanity.Report) storestest.Row {
	t.Helper()
	w := newWorld(t, on, worldOptions{})
	// Nothing may be left behind at a running store, even after a failure.
	remove := func(bucket string) { mustSucceed(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"})) }
	own := w.NewBucket(t, nil)
	defer remove(own)
	other := w.NewBucket(t, nil)
	defer remove(other)
	found := storestest.Row{
		Store: on.name, Version: on.version, Driver: "S3, `" + string(on.backend.Type) + "`",
		Suite:     fmt.Sprintf("MUST %s, SHOULD %s", report.Count(sanity.Must), report.Count(sanity.Should)),
		Installed: on.backend.Type == s3driver.TypeRGW,
		TLS:       storestest.YesNo(on.secure != nil || strings.HasPrefix(on.backend.Endpoint, "https:")),
	}
	if on.secure != nil {
		testTLS(t, on.secure(t))
	}
	found.SeveralBuckets = storestest.YesNo(w.reaches(t, readWrite, own, other))
	found.Accounts, found.Modes = w.accounts(t, own), w.modes(t, own)
	found.Rotation = storestest.YesNo(w.rotates(t, own))
	found.Quotas = storestest.YesNo(w.limits(t))
	found.ServiceAccounts = on.serviceAccounts()
	return found
}

// serviceAccounts distinguishes the types of backends that do not support service accounts from a store where this
// was not tested.
func (on target) serviceAccounts() string {
	if slices.Contains(on.can, serviceAccounts) {
		return "yes" // other tests use it
	}
	on.backend.IAM.ServiceAccounts.EKSCluster = eksCluster
	config := s3driver.Config{Cluster: eksCluster, Backends: map[string]s3driver.BackendConfig{"main": on.backend}}
	if _, err := s3driver.New(s3driver.Options{Config: config, Credentials: credstore.NewMemory()}); err != nil {
		return "no"
	}
	return "not tested"
}

// with calls f with an access and revokes it afterwards.
func (w *world) with(t *testing.T, modes drivertest.Modes, buckets []string, f func(client *s3.Client)) *s3.Client {
	t.Helper()
	account := drivertest.NewAccount()
	defer func() { mustSucceed(t, w.revoke(t, account, buckets...)) }()
	client := workload(t, w.MustGrant(t, grantRequest(account, modes, buckets...)))
	f(client)
	return client
}

func (w *world) reaches(t *testing.T, modes drivertest.Modes, buckets ...string) bool {
	t.Helper()
	all := true
	w.with(t, modes, buckets, func(client *s3.Client) {
		for _, bucket := range buckets {
			all = all && putObject(t, client, bucket, "key") == nil
		}
	})
	return all
}

// accounts reports whether revoking one access invalidates its key and keeps another access's key valid.
func (w *world) accounts(t *testing.T, bucket string) string {
	t.Helper()
	says := "one for all"
	w.with(t, readWrite, []string{bucket}, func(stays *s3.Client) {
		gone := w.with(t, readWrite, []string{bucket}, func(*s3.Client) {})
		if putObject(t, gone, bucket, "key") != nil && putObject(t, stays, bucket, "key") == nil {
			says = "one for each access"
		}
	})
	return says
}

// modes lists the modes that can be granted separately.
func (w *world) modes(t *testing.T, bucket string) string {
	t.Helper()
	mustSucceed(t, putObject(t, w.root(), bucket, "given"))
	var works []string
	for _, mode := range []struct {
		name     string
		modes    drivertest.Modes
		get, put bool
	}{
		{"read", drivertest.Modes{Data: cosi.AccessMode_READ_ONLY}, true, false},
		{"write", drivertest.Modes{Data: cosi.AccessMode_WRITE_ONLY}, false, true},
		{"bucket metadata", drivertest.Modes{BucketMetadata: cosi.AccessMode_READ_ONLY}, false, false},
	} {
		w.with(t, mode.modes, []string{bucket}, func(client *s3.Client) {
			_, tags := client.GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: &bucket})
			isMetadata := mode.modes.BucketMetadata != 0
			if (putObject(t, client, bucket, "made") == nil) == mode.put && (getObject(t, client, bucket, "given") == nil) == mode.get && (tags == nil) == isMetadata {
				works = append(works, mode.name)
			}
		})
	}
	return cmp.Or(strings.Join(works, ", "), "none apart")
}

func (w *world) rotates(t *testing.T, bucket string) bool {
	t.Helper()
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	defer func() { mustSucceed(t, w.revoke(t, request.GetAccountId(), bucket)) }()
	var works []bool
	var clients []*s3.Client
	for _, request.Rotation = range []string{"", "1", "2"} {
		clients = append(clients, workload(t, w.MustGrant(t, request)))
	}
	for _, client := range clients {
		works = append(works, putObject(t, client, bucket, "key") == nil)
	}
	return !works[0] && works[1] && works[2]
}

// limits has an access write more than the quota of a bucket, which the driver may not be permitted to set. The
// excess is small enough for a store to read it: a store that closes the connection instead may do so before its
// response is read.
func (w *world) limits(t *testing.T) bool {
	t.Helper()
	id, parameters := "bc-"+drivertest.NewAccount(), map[string]string{"quota": "64Ki", "deleteNonEmpty": "true"}
	err := w.Create(t, id, parameters)
	if status.Code(err) == codes.InvalidArgument {
		return false
	}
	defer func() { mustSucceed(t, w.Delete(t, id, parameters)) }()
	if status.Code(err) == codes.PermissionDenied {
		t.Log(err)
		return false
	}
	mustSucceed(t, err)
	var code string
	w.with(t, readWrite, []string{id}, func(client *s3.Client) {
		mustSucceed(t, putObject(t, client, id, "small"))
		_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &id, Key: aws.String("large"), Body: strings.NewReader(strings.Repeat("x", 128<<10))})
		code = apiCode(t, err)
	})
	return strings.HasSuffix(code, "QuotaExceeded") // MinIO's code has a prefix with its name
}
