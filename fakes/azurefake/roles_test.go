// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// login gets tokens at the fake's token endpoint.
type login struct {
	client   *http.Client
	endpoint string
	form     url.Values
}

// GetToken implements azcore.TokenCredential.
func (l login) GetToken(_ context.Context, _ policy.TokenRequestOptions) (azcore.AccessToken, error) {
	resp, err := l.client.PostForm(l.endpoint, l.form)
	if err != nil {
		return azcore.AccessToken{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var response struct {
		Token string `json:"access_token"`
	}
	err = json.NewDecoder(resp.Body).Decode(&response)
	return azcore.AccessToken{Token: response.Token, ExpiresOn: time.Now().Add(time.Hour)}, err
}

func TestRolesAreEnforced(t *testing.T) {
	t.Parallel()
	config, ca, err := azurefake.SelfSigned()
	wantNoError(t, err)
	s := start(t, azurefake.Options{TLS: config})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	options := noRetry()
	options.Transport = client
	p, err := s.AddPrincipal(azurefake.Principal{Name: "signer"})
	wantNoError(t, err)
	account := azurefake.DefaultAccount
	assignment, err := s.Assign(p.ObjectID, "Storage Blob Data Contributor", s.ResourceID(account))
	wantNoError(t, err)
	cred := login{client, s.URL() + "/" + s.TenantID() + "/oauth2/v2.0/token", url.Values{
		"grant_type": {"client_credentials"},
		"client_id":  {p.ClientID}, "client_secret": {p.Secret}, "scope": {"https://storage.azure.com/.default"},
	}}
	svc, err := service.NewClient(s.AccountURL(account), cred, &service.ClientOptions{ClientOptions: options})
	wantNoError(t, err)
	if _, err := svc.NewContainerClient("data").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	key, err := svc.GetUserDelegationCredential(t.Context(), service.KeyInfo{
		Start:  to.Ptr(time.Now().UTC().Add(-time.Minute).Format(sas.TimeFormat)),
		Expiry: to.Ptr(time.Now().UTC().Add(time.Hour).Format(sas.TimeFormat)),
	}, nil)
	wantNoError(t, err)
	q, err := sas.BlobSignatureValues{ContainerName: "data", Permissions: "rwl", ExpiryTime: time.Now().UTC().Add(time.Hour)}.SignWithUserDelegation(key)
	wantNoError(t, err)
	// The SDK takes the account from the host, which does not contain it in path style, so its signature is for another
	// account.
	c, err := container.NewClientWithNoCredential(s.AccountURL(account)+"/data?"+q.Encode(), &container.ClientOptions{ClientOptions: options})
	wantNoError(t, err)
	wantCode(t, "a signature for another account", upload(t.Context(), c, "x", "text"), "AuthenticationFailed")
	bearer := svc.NewContainerClient("data")
	wantCode(t, "write by role", upload(t.Context(), bearer, "x", "text"), "")
	wantNoError(t, s.Unassign(assignment))
	wantCode(t, "write without the role", upload(t.Context(), bearer, "x", "text"), "AuthorizationPermissionMismatch")
	wantNoError(t, s.RemovePrincipal(p.ObjectID))
	wantCode(t, "write after the principal", upload(t.Context(), bearer, "x", "text"), "InvalidAuthenticationInfo")
}
