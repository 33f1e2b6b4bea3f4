// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// hosted is a server that clients reach as account.blob.localhost, over TLS.
type hosted struct {
	*azurefake.Server

	options azcore.ClientOptions
	host    string
}

func startHosted(t *testing.T) hosted {
	t.Helper()
	config, ca, err := azurefake.SelfSigned("*.blob.localhost")
	wantNoError(t, err)
	s := start(t, azurefake.Options{TLS: config})
	at, err := url.Parse(s.URL())
	wantNoError(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	h := hosted{Server: s, options: noRetry(), host: azurefake.DefaultAccount + ".blob.localhost:" + at.Port()}
	h.options.Transport = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		// The name of the account cannot be resolved.
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, at.Host)
		},
	}}
	return h
}

// signer is a principal with a role, and the service's client as that principal.
func (h hosted) signer(t *testing.T, role string) (azurefake.Principal, string, *service.Client) {
	t.Helper()
	p, err := h.AddPrincipal(azurefake.Principal{Name: "signer"})
	wantNoError(t, err)
	assignment, err := h.Assign(p.ObjectID, role, h.ResourceID(azurefake.DefaultAccount))
	wantNoError(t, err)
	client, isClient := h.options.Transport.(*http.Client)
	if !isClient {
		t.Fatalf("the transport is %T", h.options.Transport)
	}
	cred := login{client, h.URL() + "/" + h.TenantID() + "/oauth2/v2.0/token", url.Values{
		"grant_type": {"client_credentials"},
		"client_id":  {p.ClientID}, "client_secret": {p.Secret}, "scope": {"https://storage.azure.com/.default"},
	}}
	svc, err := service.NewClient("https://"+h.host, cred, &service.ClientOptions{ClientOptions: h.options})
	wantNoError(t, err)
	return p, assignment, svc
}

func delegationKey(t *testing.T, svc *service.Client, start, expiry time.Time) *service.UserDelegationCredential {
	t.Helper()
	key, err := svc.GetUserDelegationCredential(t.Context(), service.KeyInfo{
		Start: to.Ptr(start.UTC().Format(sas.TimeFormat)), Expiry: to.Ptr(expiry.UTC().Format(sas.TimeFormat)),
	}, nil)
	wantNoError(t, err)
	return key
}

// delegated is the container's client by a user delegation SAS.
func (h hosted) delegated(t *testing.T, key *service.UserDelegationCredential, v sas.BlobSignatureValues) *container.Client {
	t.Helper()
	v.ContainerName = "data"
	q, err := v.SignWithUserDelegation(key)
	wantNoError(t, err)
	c, err := container.NewClientWithNoCredential("https://"+h.host+"/data?"+q.Encode(), &container.ClientOptions{ClientOptions: h.options})
	wantNoError(t, err)
	return c
}

func TestUserDelegationSAS(t *testing.T) {
	t.Parallel()
	h := startHosted(t)
	principal, assignment, svc := h.signer(t, "Storage Blob Data Contributor")
	if _, err := svc.NewContainerClient("data").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	key := delegationKey(t, svc, now.Add(-time.Hour), now.Add(time.Hour))
	expiry := now.Add(time.Hour)
	all := h.delegated(t, key, sas.BlobSignatureValues{Permissions: "rcwdl", ExpiryTime: expiry})
	wantCode(t, "write", upload(t.Context(), all, "x", "text"), "")
	_, err := all.NewBlobClient("x").DownloadStream(t.Context(), nil)
	wantCode(t, "read", err, "")
	read := h.delegated(t, key, sas.BlobSignatureValues{Permissions: "r", ExpiryTime: expiry})
	wantCode(t, "write with a signature to read", upload(t.Context(), read, "x", "text"), "AuthorizationPermissionMismatch")
	// Such a signature is for one user with a token of his own, or for requests with certain headers.
	for what, v := range map[string]sas.BlobSignatureValues{
		"a user":          {SignedDelegatedUserObjectID: principal.ObjectID},
		"certain headers": {SignedRequestHeaders: map[string]string{"x-ms-meta-a": "1"}},
	} {
		v.Permissions, v.ExpiryTime = "r", expiry
		_, err = h.delegated(t, key, v).NewBlobClient("x").DownloadStream(t.Context(), nil)
		wantCode(t, "read with a signature for "+what, err, "NotImplemented")
	}
	expired := h.delegated(t, key, sas.BlobSignatureValues{Permissions: "r", ExpiryTime: now.Add(-time.Minute)})
	_, err = expired.NewBlobClient("x").DownloadStream(t.Context(), nil)
	wantCode(t, "read with an expired signature", err, "AuthenticationFailed")
	later := h.delegated(t, delegationKey(t, svc, now.Add(30*time.Minute), now.Add(time.Hour)), sas.BlobSignatureValues{Permissions: "r", ExpiryTime: expiry})
	_, err = later.NewBlobClient("x").DownloadStream(t.Context(), nil)
	wantCode(t, "read with a key that is not valid yet", err, "AuthenticationFailed")

	// The signature never allows more than its signer may do.
	wantNoError(t, h.Unassign(assignment))
	_, err = all.NewBlobClient("x").DownloadStream(t.Context(), nil)
	wantCode(t, "read when the signer has lost the role", err, "AuthorizationPermissionMismatch")
	if _, err := h.Assign(principal.ObjectID, "Storage Blob Data Reader", h.ResourceID(azurefake.DefaultAccount)); err != nil {
		t.Fatal(err)
	}
	_, err = all.NewBlobClient("x").DownloadStream(t.Context(), nil)
	wantCode(t, "read when the signer may read", err, "")
	wantCode(t, "write when the signer may only read", upload(t.Context(), all, "x", "text"), "AuthorizationPermissionMismatch")
	wantNoError(t, h.RemovePrincipal(principal.ObjectID))
	_, err = all.NewBlobClient("x").DownloadStream(t.Context(), nil)
	wantCode(t, "read when the signer is gone", err, "AuthenticationFailed")
}

// TestRevokingDelegationKeys revokes keys for times of all kinds: what counts is when they were made.
func TestRevokingDelegationKeys(t *testing.T) {
	t.Parallel()
	h := startHosted(t)
	_, _, svc := h.signer(t, "Storage Blob Data Contributor")
	c := svc.NewContainerClient("data")
	if _, err := c.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "upload", upload(t.Context(), c, "x", "text"), "")
	now := time.Now().UTC()
	read := func(key *service.UserDelegationCredential) error {
		_, err := h.delegated(t, key, sas.BlobSignatureValues{Permissions: "r", ExpiryTime: now.Add(time.Hour)}).NewBlobClient("x").GetProperties(t.Context(), nil)
		return err
	}
	old := delegationKey(t, svc, now.Add(-2*time.Hour), now.Add(time.Hour))
	fresh := delegationKey(t, svc, now, now.Add(time.Hour))
	wantCode(t, "an old key", read(old), "")
	wantCode(t, "a fresh key", read(fresh), "")
	wantNoError(t, h.RevokeDelegationKeys(azurefake.DefaultAccount))
	wantCode(t, "the old key after the revocation", read(old), "AuthenticationFailed")
	wantCode(t, "the fresh key after the revocation", read(fresh), "AuthenticationFailed")
	again := delegationKey(t, svc, now.Add(-2*time.Hour), now.Add(time.Hour))
	wantCode(t, "a new key for a time before the revocation", read(again), "")
	if err := h.RevokeDelegationKeys("nobody"); err == nil || !strings.Contains(err.Error(), "revoke user delegation keys") {
		t.Errorf("revoking for an account that is not there: %v", err)
	}
}

// TestDelegatedTenant asks for keys of signatures for users of a tenant ("Get User Delegation Key", DelegatedUserTid).
func TestDelegatedTenant(t *testing.T) {
	t.Parallel()
	h := startHosted(t)
	_, _, svc := h.signer(t, "Storage Blob Data Contributor")
	now := time.Now().UTC()
	info := func(tenant string) service.KeyInfo {
		return service.KeyInfo{Start: to.Ptr(now.Format(sas.TimeFormat)), Expiry: to.Ptr(now.Add(time.Hour).Format(sas.TimeFormat)), DelegatedUserTenantID: &tenant}
	}
	_, err := svc.GetUserDelegationCredential(t.Context(), info(h.TenantID()), nil)
	wantCode(t, "a key for users of the tenant", err, "")
	_, err = svc.GetUserDelegationCredential(t.Context(), info("6d1f0c3e-0f0e-4b6f-9b7e-2f5f4d1b7a10"), nil)
	wantCode(t, "a key for users of another tenant", err, "AuthenticationFailed")
	_, err = svc.GetUserDelegationCredential(t.Context(), info("contoso"), nil)
	wantCode(t, "a key for users of what is no tenant", err, "InvalidXmlNodeValue")
}

// TestAudiences logs in for the service of one account, whose address is the resource of such tokens ("Authorize
// access to blobs using Microsoft Entra ID"), and for other resources.
func TestAudiences(t *testing.T) {
	t.Parallel()
	h := startHosted(t)
	p, _, svc := h.signer(t, "Storage Blob Data Contributor")
	if _, err := svc.NewContainerClient("data").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	client, isClient := h.options.Transport.(*http.Client)
	if !isClient {
		t.Fatalf("the transport is %T", h.options.Transport)
	}
	for scope, code := range map[string]string{
		"https://storage.azure.com/.default":                                       "",
		"https://" + azurefake.DefaultAccount + ".blob.core.windows.net/.default":  "",
		"https://" + azurefake.DefaultAccount + ".blob.core.windows.net//.default": "",
		"https://management.azure.com/.default":                                    "InvalidAuthenticationInfo",
		"https://nobody.blob.core.windows.net/.default":                            "InvalidAuthenticationInfo", // no token at all
	} {
		cred := login{client, h.URL() + "/" + h.TenantID() + "/oauth2/v2.0/token", url.Values{
			"grant_type": {"client_credentials"}, "client_id": {p.ClientID}, "client_secret": {p.Secret}, "scope": {scope},
		}}
		c, err := container.NewClient("https://"+h.host+"/data", cred, &container.ClientOptions{ClientOptions: h.options})
		wantNoError(t, err)
		wantCode(t, "a token for "+scope, upload(t.Context(), c, "x", "text"), code)
	}
}

// TestLoginsWithParametersOfNoMeaning sends unknown parameters, which must be ignored, and duplicates, which must be
// rejected (RFC 6749, 3.2).
func TestLoginsWithParametersOfNoMeaning(t *testing.T) {
	t.Parallel()
	h := startHosted(t)
	p, _, _ := h.signer(t, "Storage Blob Data Contributor")
	for more, want := range map[string]string{
		"colour=red":                 "access_token",
		"scope=x":                    "AADSTS9000411",
		"client_id=" + p.ClientID:    "AADSTS9000411",
		"client_secret=not-the-same": "AADSTS9000411",
	} {
		form := url.Values{"grant_type": {"client_credentials"}, "client_id": {p.ClientID}, "client_secret": {p.Secret}, "scope": {"https://storage.azure.com/.default"}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL()+"/"+h.TenantID()+"/oauth2/v2.0/token", strings.NewReader(form.Encode()+"&"+more))
		wantNoError(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := h.options.Transport.Do(request)
		wantNoError(t, err)
		raw, err := io.ReadAll(response.Body)
		wantNoError(t, err)
		_ = response.Body.Close() // it was read
		if !strings.Contains(string(raw), want) || want != "access_token" && !strings.Contains(string(raw), "invalid_request") {
			t.Errorf("with %s: %d %s", more, response.StatusCode, raw)
		}
	}
}
