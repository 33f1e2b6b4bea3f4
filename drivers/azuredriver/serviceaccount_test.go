// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// federation is a storage account at a fake with TLS, and a driver's configuration with which service accounts use it.
type federation struct {
	server  *azurefake.Server
	config  azuredriver.Config
	trusted *http.Client
	// driver is the driver's principal.
	driver azurefake.Principal
}

// rolesOfDriver are the roles that the documentation requires for identities, in their resource group and on the
// storage accounts.
var rolesOfDriver = []string{"Managed Identity Contributor", "Role Based Access Control Administrator"}

// roleCondition is the condition of the documentation, for more roles than the built-in ones.
func roleCondition(t *testing.T, roles ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "howto", "azure-role-condition.txt"))
	wantNoError(t, err)
	const last = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
	return strings.ReplaceAll(string(text), last, strings.Join(append([]string{last}, roles...), ", "))
}

// startFederation gives the driver the rights of the documentation, and those to assign other roles.
func startFederation(t *testing.T, options azurefake.Options, issuer string, roles ...string) *federation {
	t.Helper()
	settings, authority, err := azurefake.SelfSigned()
	wantNoError(t, err)
	options.TLS = settings
	server := startFake(t, options)
	application, err := server.AddPrincipal(azurefake.Principal{Name: "driver"})
	wantNoError(t, err)
	_, err = server.Assign(application.ObjectID, rolesOfDriver[0], server.GroupID())
	wantNoError(t, err)
	_, err = server.AssignWhen(application.ObjectID, rolesOfDriver[1], server.ResourceID(mainAccount), roleCondition(t, roles...))
	wantNoError(t, err)
	directory := t.TempDir()
	secretFile, caFile := filepath.Join(directory, "secret"), filepath.Join(directory, "ca.pem")
	wantNoError(t, os.WriteFile(secretFile, []byte(application.Secret+"\n"), 0o600))
	wantNoError(t, os.WriteFile(caFile, authority, 0o600))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	config := configOf(server)
	account := config.Backends[mainAccount]
	account.CAFile, account.ResourceID = caFile, server.ResourceID(mainAccount)
	config.Backends[mainAccount] = account
	config.Management = azuredriver.ManagementConfig{Endpoint: server.URL(), CAFile: caFile}
	config.ServiceAccounts = azuredriver.ServiceAccountsConfig{
		Issuer: issuer, SubscriptionID: server.SubscriptionID(), ResourceGroup: server.ResourceGroup(), Location: "westeurope",
		Credentials: azuredriver.CredentialsConfig{TenantID: server.TenantID(), ClientID: application.ClientID, ClientSecretFile: secretFile, Authority: server.URL()},
	}
	return &federation{
		server: server, config: config, driver: application,
		trusted: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}},
	}
}

// process serves a driver with the configuration, changed by the caller.
func (f *federation) process(t *testing.T, changes ...func(*azuredriver.Config)) *world {
	t.Helper()
	return newProcess(t, f.server, worldOptions{config: func(config *azuredriver.Config) {
		*config = f.config
		for _, change := range changes {
			change(config)
		}
	}})
}

// as makes a grant one to a service account.
func as(request *cosi.DriverGrantBucketAccessRequest, namespace, name string) *cosi.DriverGrantBucketAccessRequest {
	request.AuthenticationType = &cosi.AuthenticationType{Type: cosi.AuthenticationType_SERVICE_ACCOUNT}
	request.ServiceAccountNamespace, request.ServiceAccountName = namespace, name
	return request
}

// revokeAs revokes an access that was granted to a service account.
func (w *world) revokeAs(t *testing.T, granted *cosi.DriverGrantBucketAccessRequest) error {
	t.Helper()
	_, err := w.DriverRevokeBucketAccess(t.Context(), drivertest.RevokeRequest(granted))
	return err
}

// cluster is a Kubernetes API server whose service accounts the fake trusts.
type cluster struct {
	*federation

	env    *testenv.Env
	client kubernetes.Interface
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	env := testenv.Start(t, testenv.Options{})
	client, err := kubernetes.NewForConfig(env.Config())
	wantNoError(t, err)
	raw, err := client.Discovery().RESTClient().Get().AbsPath("/.well-known/openid-configuration").DoRaw(t.Context())
	wantNoError(t, err)
	var document struct{ Issuer string }
	wantNoError(t, json.Unmarshal(raw, &document))
	// Azure fetches the keys of tokens from the API server.
	issuers, err := rest.HTTPClientFor(env.Config())
	wantNoError(t, err)
	options := azurefake.Options{Issuers: issuers, Accounts: []azurefake.Account{{Name: mainAccount, KeepsContainers: 7}}}
	return &cluster{federation: startFederation(t, options, document.Issuer, blobsOnly), env: env, client: client}
}

// pod is a workload that runs as a service account.
type pod struct {
	*cluster

	namespace, account string
}

// pod makes a service account, in a new namespace unless one is given.
func (c *cluster) pod(t *testing.T, namespace, account string) pod {
	t.Helper()
	if namespace == "" {
		namespace = c.env.Namespace()
	}
	wantNoError(t, c.env.Client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}))
	return pod{cluster: c, namespace: namespace, account: account}
}

const entraAudience = "api://AzureADTokenExchange"

// container is azblob as the pod uses it: with the file in which the kubelet keeps a token of the API server, and the
// client ID of the access's identity.
func (p pod) container(t *testing.T, access, name, audience string) *container.Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	wantNoError(t, os.WriteFile(file, []byte(p.token(t, audience)), 0o600))
	options := clientOptions()
	options.Transport = p.trusted
	login := options.ClientOptions
	login.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: p.server.URL()}
	credential, err := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
		ClientOptions: login, TenantID: p.server.TenantID(), ClientID: p.clientID(t, access), TokenFilePath: file, DisableInstanceDiscovery: true,
	})
	wantNoError(t, err)
	return p.bearer(t, credential, name)
}

// token returns a token that the API server issues for the pod.
func (p pod) token(t *testing.T, audience string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	made, err := p.client.CoreV1().ServiceAccounts(p.namespace).CreateToken(t.Context(), p.account, request, metav1.CreateOptions{})
	wantNoError(t, err)
	return made.Status.Token
}

func (f *federation) bearer(t *testing.T, credential azcore.TokenCredential, name string) *container.Client {
	t.Helper()
	options := clientOptions()
	options.Transport = f.trusted
	client, err := container.NewClient(f.server.AccountURL(mainAccount)+"/"+name, credential, options)
	wantNoError(t, err)
	return client
}

// clientID is that of the access's identity, as az identity show returns it; a stranger's if there is none.
func (f *federation) clientID(t *testing.T, access string) string {
	t.Helper()
	for _, one := range f.server.Inventory().Principals {
		if path.Base(one.Identity) == access {
			return one.ClientID
		}
	}
	return "00000000-0000-0000-0000-000000000001"
}

// wantRefused asserts the code of Microsoft Entra or of the service, "" for success.
func wantRefused(t *testing.T, what string, err error, code string) {
	t.Helper()
	switch {
	case code == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case code != "" && (err == nil || !strings.Contains(err.Error(), code)):
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// TestServiceAccounts exchanges tokens of a running API server for Azure's, and stores blobs with those: without a
// key, a signature or anything else that could leak or run out.
func TestServiceAccounts(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	w := c.process(t)
	before := inventory(t, c.server)
	bucket, other, third := w.NewBucket(t, nil), w.NewBucket(t, nil), w.NewBucket(t, nil)
	app := c.pod(t, "", "app")
	neighbour, namesake := c.pod(t, app.namespace, "neighbour"), c.pod(t, "", "app")
	first, second := drivertest.NewAccount(), drivertest.NewAccount()
	one := as(grantRequest(first, readWrite, bucket, other), app.namespace, app.account)
	two := as(grantRequest(second, readOnly, bucket), app.namespace, app.account)
	for range 2 {
		granted := w.MustGrant(t, one)
		if azure := granted.GetCredentials().GetAzure(); azure.GetAccessToken() != "" || azure.GetExpiryTimestamp() != "" {
			t.Errorf("there is a credential: %v", azure)
		}
		if granted.GetCredentials().GetCertificateAuthority() == "" || len(granted.GetBuckets()) != 2 {
			t.Errorf("no certificate authority, or other buckets than two: %v", granted.GetBuckets())
		}
		w.MustGrant(t, two)
	}
	mine := app.container(t, first, bucket, entraAudience)
	wantRefused(t, "the service account", upload(t.Context(), mine, "key"), "")
	wantRefused(t, "reads it", download(t.Context(), mine, "key"), "")
	wantRefused(t, "on the second bucket", upload(t.Context(), app.container(t, first, other, entraAudience), "key"), "")
	wantRefused(t, "on a bucket of no access", upload(t.Context(), app.container(t, first, third, entraAudience), "key"), "AuthorizationPermissionMismatch")
	reader := app.container(t, second, bucket, entraAudience)
	wantRefused(t, "reads by the other access", download(t.Context(), reader, "key"), "")
	wantRefused(t, "writes by the other access", upload(t.Context(), reader, "key"), "AuthorizationPermissionMismatch")
	wantRefused(t, "another one of the namespace", upload(t.Context(), neighbour.container(t, first, bucket, entraAudience), "key"), "AADSTS700213")
	wantRefused(t, "one of that name in another namespace", upload(t.Context(), namesake.container(t, first, bucket, entraAudience), "key"), "AADSTS700213")
	wantRefused(t, "another audience", upload(t.Context(), app.container(t, first, bucket, "sts.amazonaws.com"), "key"), "AADSTS700212")

	const china = "api://AzureADTokenExchangeChina"
	sovereign := c.process(t, func(config *azuredriver.Config) { config.ServiceAccounts.Audience = china })
	sovereign.MustGrant(t, two)
	wantRefused(t, "in a sovereign cloud", download(t.Context(), app.container(t, second, bucket, china), "key"), "")
	wantRefused(t, "in a sovereign cloud, with the public one's audience", download(t.Context(), app.container(t, second, bucket, entraAudience), "key"), "AADSTS700212")
	w.MustGrant(t, two)

	wantNoError(t, w.revokeAs(t, one))
	wantNoError(t, w.revokeAs(t, one))
	wantRefused(t, "after the revoke, with a token from before", upload(t.Context(), mine, "key"), "InvalidAuthenticationInfo")
	wantRefused(t, "after the revoke, with a new one", upload(t.Context(), app.container(t, first, bucket, entraAudience), "key"), "AADSTS700016")
	wantRefused(t, "the other access", download(t.Context(), reader, "key"), "")
	wantNoError(t, w.revokeAs(t, two))
	for _, id := range []string{bucket, other, third} {
		wantNoError(t, w.Delete(t, id, map[string]string{"deleteNonEmpty": "true"}))
	}
	if diff := cmp.Diff(before, inventory(t, c.server)); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
}

func TestServiceAccountRefusals(t *testing.T) {
	t.Parallel()
	f := startFederation(t, azurefake.Options{Deletion: -1}, "https://issuer.example.com")
	w := f.process(t)
	bucket, other := w.NewBucket(t, nil), w.NewBucket(t, nil)
	grant := func(w *world, request *cosi.DriverGrantBucketAccessRequest) error {
		_, err := w.DriverGrantBucketAccess(t.Context(), request)
		return err
	}
	account := drivertest.NewAccount()
	w.MustGrant(t, as(grantRequest(account, readWrite, bucket), "team", "app"))
	before := inventory(t, f.server)
	drivertest.WantCode(t, grant(w, as(grantRequest(drivertest.NewAccount(), readWrite, bucket), "", "app")), codes.InvalidArgument, "service_account_namespace")
	drivertest.WantCode(t, grant(w, as(grantRequest(account, readOnly, bucket), "team", "app")), codes.AlreadyExists, "different buckets, access modes")
	drivertest.WantCode(t, grant(w, as(grantRequest(account, readWrite, bucket, other), "team", "app")), codes.AlreadyExists, "different buckets")
	drivertest.WantCode(t, grant(w, as(grantRequest(account, readWrite, bucket), "team", "another")), codes.AlreadyExists, "different buckets")
	drivertest.WantCode(t, grant(w, as(grantRequest(drivertest.NewAccount(), readWrite, bucket, "nowhere-at-all"), "team", "app")), codes.NotFound, "nowhere-at-all")
	drivertest.WantCode(t, grant(w, as(grantRequest(drivertest.NewAccount(), writeOnly, bucket), "team", "app")), codes.InvalidArgument, "no built-in role")
	for key, text := range map[string]string{"expiry": "720h", "allowDelete": "false", "deleteVersions": "true"} {
		request := as(grantRequest(drivertest.NewAccount(), readWrite, bucket), "team", "app")
		request.Parameters = map[string]string{key: text}
		drivertest.WantCode(t, grant(w, request), codes.InvalidArgument, "authentication type Key")
	}
	metadata := drivertest.Modes{Data: cosi.AccessMode_READ_WRITE, BucketMetadata: cosi.AccessMode_READ_ONLY}
	drivertest.WantCode(t, grant(w, as(grantRequest(drivertest.NewAccount(), metadata, bucket), "team", "app")), codes.InvalidArgument, "bucket metadata")
	drivertest.WantCode(t, grant(w, grantRequest(drivertest.NewAccount(), readWrite, bucket, other)), codes.OutOfRange, "one BucketAccess for each")
	if diff := cmp.Diff(before, inventory(t, f.server)); diff != "" {
		t.Errorf("a refused grant left something (-before +after):\n%s", diff)
	}

	without := f.process(t, func(c *azuredriver.Config) {
		c.ServiceAccounts, c.Management = azuredriver.ServiceAccountsConfig{}, azuredriver.ManagementConfig{}
	})
	drivertest.WantCode(t, grant(without, as(grantRequest(drivertest.NewAccount(), readWrite, bucket), "team", "app")), codes.InvalidArgument, "ServiceAccount is not supported")
	drivertest.WantCode(t, without.revokeAs(t, as(grantRequest(account, readWrite, bucket), "team", "app")), codes.FailedPrecondition, "serviceAccounts")
	stranger := f.process(t, func(c *azuredriver.Config) { c.DriverName = "other.example.com" })
	drivertest.WantCode(t, grant(stranger, as(grantRequest(account, readWrite, bucket), "team", "app")), codes.AlreadyExists, "not created by this driver")
	wantNoError(t, stranger.revokeAs(t, as(grantRequest(account, readWrite, bucket), "team", "app")))
	if diff := cmp.Diff(before, inventory(t, f.server)); diff != "" {
		t.Errorf("another driver changed something (-before +after):\n%s", diff)
	}
}

// TestServiceAccountsConverge repairs changes that others made to identities and roles.
func TestServiceAccountsConverge(t *testing.T) {
	t.Parallel()
	const owner = "b7e6dc6d-f1e8-4753-8033-0f276bb0955b"
	f := startFederation(t, azurefake.Options{Deletion: -1}, "https://issuer.example.com", owner)
	w := f.process(t)
	before := inventory(t, f.server)
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	request := as(grantRequest(account, readOnly, bucket), "team", "app")
	w.MustGrant(t, request)
	granted := inventory(t, f.server)

	// Another role by the configuration takes the place of the former one.
	custom := f.process(t, func(c *azuredriver.Config) { c.ServiceAccounts.Roles.ReadOnly = owner })
	custom.MustGrant(t, request)
	if roles := rolesAt(f.server, bucket); !cmp.Equal(roles, []string{owner}) {
		t.Errorf("roles after the configuration changed: %v", roles)
	}
	w.MustGrant(t, request)
	if diff := cmp.Diff(granted, inventory(t, f.server)); diff != "" {
		t.Errorf("the former configuration does not give the former state (-want +got):\n%s", diff)
	}
	// Another issuer, as after a move of the cluster's keys.
	moved := f.process(t, func(c *azuredriver.Config) { c.ServiceAccounts.Issuer = "https://moved.example.com" })
	moved.MustGrant(t, request)
	w.MustGrant(t, request)

	// The identity is deleted manually. Its role assignments remain and conflict with those of the next one.
	for _, one := range f.server.Inventory().Principals {
		if one.Identity != "" {
			wantNoError(t, f.server.RemovePrincipal(one.ObjectID))
		}
	}
	w.MustGrant(t, request)
	if len(rolesAt(f.server, bucket)) != 1 {
		t.Errorf("roles %v, want one", rolesAt(f.server, bucket))
	}
	for _, one := range f.server.Inventory().Principals {
		if one.Identity != "" {
			wantNoError(t, f.server.RemovePrincipal(one.ObjectID))
		}
	}
	// A missing bucket does not prevent a revoke.
	wantNoError(t, w.Delete(t, bucket, nil))
	wantNoError(t, w.revokeAs(t, request))
	if diff := cmp.Diff(before, inventory(t, f.server)); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
}

// rolesAt are the roles at a container.
func rolesAt(server *azurefake.Server, bucket string) []string {
	var roles []string
	for _, one := range server.Inventory().Assignments {
		if path.Base(one.Scope) == bucket {
			roles = append(roles, one.Role)
		}
	}
	return roles
}

// TestParallelServiceAccountGrants lets two processes grant the same access and others at once, as after a change of the
// leader, and then revoke them at once.
func TestParallelServiceAccountGrants(t *testing.T) {
	t.Parallel()
	f := startFederation(t, azurefake.Options{Deletion: -1}, "https://issuer.example.com")
	processes := []*world{f.process(t), f.process(t)}
	before := inventory(t, f.server)
	bucket, other := processes[0].NewBucket(t, nil), processes[0].NewBucket(t, nil)
	accounts := []string{drivertest.NewAccount(), drivertest.NewAccount(), drivertest.NewAccount()}
	each := func(what string, call func(w *world, account string) error) {
		t.Helper()
		var group sync.WaitGroup
		for i := range 12 {
			group.Go(func() {
				err := call(processes[i%2], accounts[i%3])
				for status.Code(err) == codes.Aborted { // another call for the account is under way
					err = call(processes[i%2], accounts[i%3])
				}
				if err != nil {
					t.Errorf("%s %s: %v", what, accounts[i%3], err)
				}
			})
		}
		group.Wait()
	}
	request := func(account string) *cosi.DriverGrantBucketAccessRequest {
		return as(grantRequest(account, readWrite, bucket, other), "shop", "app")
	}
	each("grant", func(w *world, account string) error {
		_, err := w.DriverGrantBucketAccess(t.Context(), request(account))
		return err
	})
	if at, also := rolesAt(f.server, bucket), rolesAt(f.server, other); len(at) != 3 || len(also) != 3 {
		t.Errorf("%d and %d roles, want 3 at each bucket", len(at), len(also))
	}
	each("revoke", func(w *world, account string) error { return w.revokeAs(t, request(account)) })
	for _, id := range []string{bucket, other} {
		wantNoError(t, processes[0].Delete(t, id, nil))
	}
	if diff := cmp.Diff(before, inventory(t, f.server)); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
}
