// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// keyless is a storage account that does not accept its keys, at a service with TLS, and an application
// with a role there.
type keyless struct {
	server     *azurefake.Server
	config     azuredriver.BackendConfig
	assignment string
	trusted    *http.Client
	now        func() time.Time
}

// startKeyless makes one; now is the clock of service and driver, nil for the real one.
func startKeyless(t *testing.T, now func() time.Time) *keyless {
	t.Helper()
	settings, authority, err := azurefake.SelfSigned()
	wantNoError(t, err)
	server := startFake(t, azurefake.Options{TLS: settings, Now: now, Accounts: []azurefake.Account{{Name: mainAccount, SharedKeyOff: true}}})
	application, err := server.AddPrincipal(azurefake.Principal{Name: "driver"})
	wantNoError(t, err)
	assignment, err := server.Assign(application.ObjectID, "Storage Blob Data Owner", server.ResourceID(mainAccount))
	wantNoError(t, err)
	directory := t.TempDir()
	secretFile, caFile := filepath.Join(directory, "secret"), filepath.Join(directory, "ca.pem")
	wantNoError(t, os.WriteFile(secretFile, []byte(application.Secret+"\n"), 0o600))
	wantNoError(t, os.WriteFile(caFile, authority, 0o600))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	return &keyless{
		server: server, now: now, assignment: assignment,
		trusted: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}},
		config: azuredriver.BackendConfig{
			Endpoint: server.URL(), CAFile: caFile, Signing: azuredriver.SigningUserDelegation,
			Credentials: azuredriver.CredentialsConfig{TenantID: server.TenantID(), ClientID: application.ClientID, ClientSecretFile: secretFile, Authority: server.URL()},
		},
	}
}

func (k *keyless) process(t *testing.T) *world {
	t.Helper()
	return newProcess(t, k.server, worldOptions{
		fake: azurefake.Options{Now: k.now}, config: func(config *azuredriver.Config) { config.Backends[mainAccount] = k.config },
	})
}

func (k *keyless) workload(t *testing.T, address string) *container.Client {
	t.Helper()
	options := clientOptions()
	options.Transport = k.trusted
	client, err := container.NewClientWithNoCredential(address, options)
	wantNoError(t, err)
	return client
}

func TestAnAccountWithoutItsKeys(t *testing.T) {
	t.Parallel()
	k := startKeyless(t, nil)
	w := k.process(t)
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	request := grantRequest(account, readWrite, bucket)
	granted := w.MustGrant(t, request)
	address, err := url.Parse(token(granted))
	wantNoError(t, err)
	query := address.Query()
	if query.Has("si") || !query.Has("skoid") || query.Get("sp") != "racwdl" || query.Get("spr") != "https" {
		t.Errorf("token with permission %q, policy %q, protocol %q", query.Get("sp"), query.Get("si"), query.Get("spr"))
	}
	end, err := time.Parse(time.RFC3339, granted.GetCredentials().GetAzure().GetExpiryTimestamp())
	if left := time.Until(end); err != nil || left > 7*24*time.Hour || left < 6*24*time.Hour {
		t.Errorf("ends in %s, %v", left, err)
	}
	if granted.GetCredentials().GetCertificateAuthority() == "" {
		t.Error("no certificate authority for the workload")
	}
	again := k.process(t)
	for range 2 { // the signature changes every 21 hours, but not twice during the test
		if granted = w.MustGrant(t, request); token(again.MustGrant(t, request)) == token(granted) {
			break
		}
	}
	for _, process := range []*world{w, again} {
		if token(process.MustGrant(t, request)) != token(granted) {
			t.Error("a repeated grant returns something else")
		}
	}
	client := k.workload(t, token(granted))
	wantNoError(t, upload(t.Context(), client, "a"))
	wantNoError(t, download(t.Context(), client, "a"))
	request.Rotation = "1"
	if rotated := w.MustGrant(t, request); token(rotated) == token(granted) {
		t.Error("a rotation returns the same token")
	} else {
		wantNoError(t, list(t.Context(), k.workload(t, token(rotated))))
	}

	_, err = w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readOnly, bucket))
	drivertest.WantCode(t, err, codes.AlreadyExists, "other access modes")
	_, err = w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, w.NewBucket(t, nil)))
	drivertest.WantCode(t, err, codes.AlreadyExists, "another bucket")

	w.mustRevoke(t, account, bucket)
	// As documented, a single signature of this kind cannot be revoked, but all of an account can.
	wantNoError(t, list(t.Context(), client))
	wantNoError(t, k.server.RevokeDelegationKeys(mainAccount))
	if code := azureCode(t, list(t.Context(), client)); code != "AuthenticationFailed" {
		t.Errorf("after all keys were revoked: %q", code)
	}
	wantNoError(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}))
}

// TestAnAccountWithoutItsKeysAsContributor uses the lesser of the documented roles, which does not allow reading the
// policies of a container.
func TestAnAccountWithoutItsKeysAsContributor(t *testing.T) {
	t.Parallel()
	k := startKeyless(t, nil)
	principal := ""
	for _, one := range k.server.Inventory().Principals {
		principal = one.ObjectID
	}
	wantNoError(t, k.server.Unassign(k.assignment))
	_, err := k.server.Assign(principal, "Storage Blob Data Contributor", k.server.ResourceID(mainAccount))
	wantNoError(t, err)
	w := k.process(t)
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	client := k.workload(t, token(w.MustGrant(t, grantRequest(account, readWrite, bucket))))
	wantNoError(t, upload(t.Context(), client, "a"))
	w.mustRevoke(t, account, bucket)
	drivertest.WantCode(t, w.Delete(t, bucket, nil), codes.FailedPrecondition, "not empty")
	wantNoError(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}))
	w.mustRevoke(t, account, bucket)
}

// TestDelegatedSignaturesAreRenewed asks again as a sidecar does before the end: a signature that ends later takes the
// place of the former one, which works until its own end.
func TestDelegatedSignaturesAreRenewed(t *testing.T) {
	t.Parallel()
	now := &clock{}
	k := startKeyless(t, now.Now)
	w := k.process(t)
	request := grantRequest(drivertest.NewAccount(), readOnly, w.NewBucket(t, nil))
	request.Parameters = map[string]string{"expiry": "1h"}
	first := w.MustGrant(t, request)
	end := first.GetCredentials().GetAzure().GetExpiryTimestamp()
	now.advance(10 * time.Minute)
	next := w.MustGrant(t, request)
	if later := next.GetCredentials().GetAzure().GetExpiryTimestamp(); later <= end || token(next) == token(first) {
		t.Errorf("the first ends at %s, and after ten minutes another at %s", end, later)
	}
	for what, granted := range map[string]*cosi.DriverGrantBucketAccessResponse{"first": first, "next": next} {
		wantRefused(t, what, list(t.Context(), k.workload(t, token(granted))), "")
	}
	// Of the hour, a quarter and the eighth in which all responses are the same may be over at the start.
	now.advance(36 * time.Minute)
	wantRefused(t, "the first after its end", list(t.Context(), k.workload(t, token(first))), "AuthenticationFailed")
	wantRefused(t, "the next", list(t.Context(), k.workload(t, token(w.MustGrant(t, request)))), "")
}

func TestLimitsOfAnAccountWithoutItsKeys(t *testing.T) {
	t.Parallel()
	k := startKeyless(t, nil)
	w := k.process(t)
	bucket := w.NewBucket(t, nil)
	for expiry, ok := range map[string]bool{"15m": false, "1h": true, "168h": true, "169h": false} {
		request := grantRequest(drivertest.NewAccount(), readOnly, bucket)
		request.Parameters = map[string]string{"expiry": expiry}
		_, err := w.DriverGenerateBucketAccessId(t.Context(), &cosi.DriverGenerateBucketAccessIdRequest{
			AccountName: request.GetAccountId(), Protocol: request.GetProtocol(), AuthenticationType: request.GetAuthenticationType(),
			Parameters: request.GetParameters(), Buckets: request.GetBuckets(),
		})
		if !ok {
			drivertest.WantCode(t, err, codes.InvalidArgument, "168h")
			continue
		}
		wantNoError(t, err)
		wantNoError(t, list(t.Context(), k.workload(t, token(w.MustGrant(t, request)))))
	}
	wantNoError(t, k.server.Unassign(k.assignment))
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readOnly, bucket))
	drivertest.WantCode(t, err, codes.PermissionDenied, "grant the permission")
}

// TestAccountKeysThatAreNotAccepted checks that the error tells the administrator how to fix it.
func TestAccountKeysThatAreNotAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{fake: azurefake.Options{Accounts: []azurefake.Account{{Name: mainAccount, SharedKeyOff: true}}}})
	drivertest.WantCode(t, w.Create(t, "bc-1", nil), codes.FailedPrecondition, "shared key")
}
