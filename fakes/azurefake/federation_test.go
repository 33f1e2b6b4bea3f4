// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// issuer signs tokens as the API server of a cluster does.
type issuer struct {
	*httptest.Server

	key *rsa.PrivateKey
}

func startIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	wantNoError(t, err)
	made := &issuer{key: key}
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, value any) { _ = json.NewEncoder(w).Encode(value) }
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]string{"issuer": made.URL, "jwks_uri": made.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		encode := base64.RawURLEncoding.EncodeToString
		reply(w, map[string]any{"keys": []map[string]string{{
			"kty": "RSA", "kid": "one", "n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	made.Server = httptest.NewTLSServer(mux)
	t.Cleanup(made.Close)
	return made
}

// claims of a token that is accepted, to be changed.
func (i *issuer) claims() jwt.MapClaims {
	return jwt.MapClaims{
		"iss": i.URL, "sub": "system:serviceaccount:shop:app", "aud": "api://AzureADTokenExchange",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
}

func sign(t *testing.T, key *rsa.PrivateKey, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = "one"
	text, err := token.SignedString(key)
	wantNoError(t, err)
	return text
}

// workload logs in as a pod does: with the token in a file.
func (s subscription) workload(t *testing.T, clientID, token string) azcore.TokenCredential {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	wantNoError(t, os.WriteFile(file, []byte(token), 0o600))
	credential, err := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
		ClientOptions: s.options, ClientID: clientID, TenantID: s.TenantID(), TokenFilePath: file, DisableInstanceDiscovery: true,
	})
	wantNoError(t, err)
	return credential
}

func token(ctx context.Context, credential azcore.TokenCredential) error {
	_, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{"https://storage.azure.com/.default"}})
	return err
}

// wantLogin asserts the directory's code, "" for success.
func wantLogin(t *testing.T, what string, err error, code string) {
	t.Helper()
	switch {
	case code == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case code != "" && err == nil:
		t.Errorf("%s: no error, want %s", what, code)
	case code != "" && !strings.Contains(err.Error(), code+":"):
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// TestFederatedLogin exchanges tokens of another issuer. The codes are those that users of workload identity report.
func TestFederatedLogin(t *testing.T) {
	t.Parallel()
	cluster, elsewhere := startIssuer(t), startIssuer(t)
	s := startSubscription(t, azurefake.Options{Issuers: cluster.Client()})
	admin := s.caller(t, "Managed Identity Contributor")
	group := s.ResourceGroup()
	made, err := admin.identities(t).CreateOrUpdate(t.Context(), group, "app", anIdentity(), nil)
	wantNoError(t, err)
	client := *made.Properties.ClientID
	good := sign(t, cluster.key, cluster.claims())
	wantLogin(t, "before the credential is made", token(t.Context(), s.workload(t, client, good)), "AADSTS700211")
	_, err = admin.federated(t).CreateOrUpdate(t.Context(), group, "app", "fed", aFederation(cluster.URL, "system:serviceaccount:shop:app", "api://AzureADTokenExchange"), nil)
	wantNoError(t, err)
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	for what, test := range map[string]struct {
		change func(jwt.MapClaims)
		key    *rsa.PrivateKey
		code   string
	}{
		"as agreed":               {func(jwt.MapClaims) {}, cluster.key, ""},
		"another service account": {func(c jwt.MapClaims) { c["sub"] = "system:serviceaccount:shop:other" }, cluster.key, "AADSTS700213"},
		"another namespace":       {func(c jwt.MapClaims) { c["sub"] = "system:serviceaccount:shop2:app" }, cluster.key, "AADSTS700213"},
		"another case":            {func(c jwt.MapClaims) { c["sub"] = "system:serviceaccount:Shop:app" }, cluster.key, "AADSTS700213"},
		"another audience":        {func(c jwt.MapClaims) { c["aud"] = "sts.amazonaws.com" }, cluster.key, "AADSTS700212"},
		"no audience":             {func(c jwt.MapClaims) { delete(c, "aud") }, cluster.key, "AADSTS700212"},
		"another issuer":          {func(c jwt.MapClaims) { c["iss"] = elsewhere.URL }, elsewhere.key, "AADSTS700211"},
		"signed by another":       {func(jwt.MapClaims) {}, elsewhere.key, "AADSTS700027"},
		"a clock a minute ahead":  {func(c jwt.MapClaims) { c["iat"], c["nbf"] = in(time.Minute), in(time.Minute) }, cluster.key, ""},
		"expired a minute ago":    {func(c jwt.MapClaims) { c["exp"] = in(-time.Minute) }, cluster.key, ""},
		"expired":                 {func(c jwt.MapClaims) { c["exp"] = in(-time.Hour) }, cluster.key, "AADSTS700024"},
		"not valid yet":           {func(c jwt.MapClaims) { c["nbf"] = in(time.Hour) }, cluster.key, "AADSTS700024"},
		"without an end":          {func(c jwt.MapClaims) { delete(c, "exp") }, cluster.key, "AADSTS700027"},
	} {
		claims := cluster.claims()
		test.change(claims)
		wantLogin(t, what, token(t.Context(), s.workload(t, client, sign(t, test.key, claims))), test.code)
	}
	wantLogin(t, "no token at all", token(t.Context(), s.workload(t, client, "abc")), "AADSTS50027")
	wantLogin(t, "as another client", token(t.Context(), s.workload(t, admin.ClientID, good)), "AADSTS700211")
	if _, err = admin.federated(t).Delete(t.Context(), group, "app", "fed", nil); err != nil {
		t.Fatal(err)
	}
	wantLogin(t, "after the credential is deleted", token(t.Context(), s.workload(t, client, good)), "AADSTS700211")
	if _, err = admin.identities(t).Delete(t.Context(), group, "app", nil); err != nil {
		t.Fatal(err)
	}
	wantLogin(t, "after the identity is deleted", token(t.Context(), s.workload(t, client, good)), "AADSTS700016")
}

// TestIdentitiesSurviveARestart reopens the directory with its stored data.
func TestIdentitiesSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startSubscription(t, azurefake.Options{Dir: dir})
	c := first.caller(t, "Owner")
	group := first.ResourceGroup()
	made, err := c.identities(t).CreateOrUpdate(t.Context(), group, "app", anIdentity("a"), nil)
	wantNoError(t, err)
	if _, err = c.federated(t).CreateOrUpdate(t.Context(), group, "app", "fed", aFederation("https://issuer", "me", "aud"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err = c.assignments(t).Create(t.Context(), first.containerID("one"), "6a0ff8d2-8f3a-4a62-9a0b-ff4d8cc1f4ab", first.assignment(*made.Properties.PrincipalID, readerRole), nil); err != nil {
		t.Fatal(err)
	}
	before := first.Inventory()
	wantNoError(t, first.Close())
	second := startSubscription(t, azurefake.Options{Dir: dir})
	wantSame(t, before, second.Inventory())
}

func wantSame(t *testing.T, before, after azurefake.Inventory) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the inventory is another (-before +after):\n%s", diff)
	}
}
