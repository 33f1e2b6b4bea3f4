// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// ownPool is a pool for a cluster outside of GKE.
const ownPool = "own-cluster"

// cluster is a Kubernetes API server whose service accounts the fake trusts.
type cluster struct {
	env    *testenv.Env
	client kubernetes.Interface
	google google
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	env := testenv.Start(t, testenv.Options{})
	client, err := kubernetes.NewForConfig(env.Config())
	mustSucceed(t, err)
	raw, err := client.Discovery().RESTClient().Get().AbsPath("/.well-known/openid-configuration").DoRaw(t.Context())
	mustSucceed(t, err)
	var document struct{ Issuer string }
	mustSucceed(t, json.Unmarshal(raw, &document))
	// Google fetches the keys of tokens from the API server.
	issuers, err := rest.HTTPClientFor(env.Config())
	mustSucceed(t, err)
	on := startGoogle(t, gcsfake.Options{Issuers: issuers, Pools: []gcsfake.Pool{{ID: pool, Issuer: document.Issuer}, {ID: ownPool, Issuer: document.Issuer}}})
	return &cluster{env: env, client: client, google: on}
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
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	mustSucceed(t, c.env.Client.Create(t.Context(), made))
	return pod{cluster: c, namespace: namespace, account: account}
}

// storage is Google's client as the pod uses it: with the file in which the kubelet keeps a token of
// the API server, and a configuration of workload identity federation that holds no secret.
func (p pod) storage(t *testing.T, poolID string) *storage.Client {
	t.Helper()
	provider := "//iam.googleapis.com/projects/" + p.google.ProjectNumber("") + "/locations/global/workloadIdentityPools/" + poolID + "/providers/kubernetes"
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{provider}}}
	made, err := p.client.CoreV1().ServiceAccounts(p.namespace).CreateToken(t.Context(), p.account, request, metav1.CreateOptions{})
	mustSucceed(t, err)
	file := filepath.Join(t.TempDir(), "token")
	mustSucceed(t, os.WriteFile(file, []byte(made.Status.Token), 0o600))
	config, err := json.Marshal(map[string]any{
		"type": "external_account", "audience": provider, "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
		"token_url": p.google.URL() + "/v1/token", "credential_source": map[string]string{"file": file},
	})
	mustSucceed(t, err)
	return client(t, p.google.URL(), option.WithAuthCredentialsJSON(option.ExternalAccount, config))
}

// TestServiceAccounts exchanges tokens of a running API server for Google's, and uses buckets with
// those: without a key, a Google service account or anything else that could leak or run out.
func TestServiceAccounts(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	w := newWorld(t, c.google, worldOptions{})
	bucket, other := w.NewBucket(t, nil), w.NewBucket(t, nil)
	before := c.google.Inventory()
	app := c.pod(t, "", "app")
	neighbour, namesake := c.pod(t, app.namespace, "neighbour"), c.pod(t, "", "app")
	mine := app.storage(t, pool)
	if got := httpStatus(put(t.Context(), mine, bucket, "key")); got != 403 {
		t.Errorf("before the grant: status %d", got)
	}
	first := as(grantRequest(drivertest.NewAccount(), readWrite, bucket), app.namespace, app.account)
	second := as(grantRequest(drivertest.NewAccount(), readWrite, bucket, other), app.namespace, app.account)
	for range 2 {
		if granted := w.MustGrant(t, first); granted.GetCredentials() != nil {
			t.Errorf("there is a credential: %v", granted.GetCredentials())
		}
		w.MustGrant(t, second)
	}
	if accounts := c.google.Inventory().Accounts; len(accounts) != 0 {
		t.Errorf("service accounts were made: %+v", accounts)
	}
	wants := func(when string, client *storage.Client, bucket string, want int) {
		t.Helper()
		if got := httpStatus(put(t.Context(), client, bucket, "key")); got != want {
			t.Errorf("%s: status %d, want %d", when, got, want)
		}
	}
	wants("the service account", mine, bucket, 0)
	wants("the service account on the second bucket", mine, other, 0)
	wants("another one of the namespace", neighbour.storage(t, pool), bucket, 403)
	wants("one of that name in another namespace", namesake.storage(t, pool), bucket, 403)
	wants("the same one by another pool", app.storage(t, ownPool), bucket, 403)

	drivertest.WantCode(t, w.Revoke(t, first), codes.OK)
	wants("after the first of two accesses is revoked", mine, bucket, 0)
	wants("and on the other bucket", mine, other, 0)
	drivertest.WantCode(t, w.Revoke(t, second), codes.OK)
	drivertest.WantCode(t, w.Revoke(t, second), codes.OK)
	wants("after both are revoked", mine, bucket, 403)
	for _, id := range []string{bucket, other} {
		if err := c.google.root(t).Bucket(id).Object("key").Delete(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(before, c.google.Inventory()); diff != "" {
		t.Errorf("something is left (-before +after)\n%s", diff)
	}
}

// TestServiceAccountsOutsideOfGKE does the same by a pool with another form of subjects.
func TestServiceAccountsOutsideOfGKE(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	w := newWorld(t, c.google, worldOptions{config: func(config *gcsdriver.Config) {
		backend := config.Backends["main"]
		backend.WorkloadIdentity.Pool = strings.Replace(backend.WorkloadIdentity.Pool, pool, ownPool, 1)
		config.Backends["main"] = backend
	}})
	app, bucket := c.pod(t, "", "app"), w.NewBucket(t, nil)
	request := as(grantRequest(drivertest.NewAccount(), readOnly, bucket), app.namespace, app.account)
	w.MustGrant(t, request)
	client := app.storage(t, ownPool)
	if got := httpStatus(put(t.Context(), client, bucket, "key")); got != 403 {
		t.Errorf("writing with read-only access: status %d", got)
	}
	if err := get(t.Context(), client, bucket, "none"); err == nil || httpStatus(err) == 403 {
		t.Errorf("read a missing object: %v", err)
	}
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
	if err := get(t.Context(), client, bucket, "none"); httpStatus(err) != 403 {
		t.Errorf("after revoke: %v", err)
	}
}

func TestServiceAccountRefusals(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{})
	w := newWorld(t, on, worldOptions{})
	bucket, other := w.NewBucket(t, nil), w.NewBucket(t, nil)
	grant := func(w *world, request *cosi.DriverGrantBucketAccessRequest) error {
		_, err := w.DriverGrantBucketAccess(t.Context(), request)
		return err
	}
	account := drivertest.NewAccount()
	w.MustGrant(t, as(grantRequest(account, readWrite, bucket), "team", "app"))
	drivertest.WantCode(t, grant(w, as(grantRequest(drivertest.NewAccount(), readWrite, bucket), "", "app")), codes.InvalidArgument, "service_account_namespace")
	drivertest.WantCode(t, grant(w, as(grantRequest(account, readOnly, bucket), "team", "app")), codes.AlreadyExists, "other buckets, access modes")
	drivertest.WantCode(t, grant(w, as(grantRequest(account, readWrite, other), "team", "app")), codes.AlreadyExists, "other buckets")
	drivertest.WantCode(t, grant(w, as(grantRequest(account, readWrite, bucket), "team", "another")), codes.AlreadyExists, "other buckets")
	drivertest.WantCode(t, grant(w, as(grantRequest(drivertest.NewAccount(), readWrite, "nowhere-at-all"), "team", "app")), codes.NotFound, "does not exist")

	// A bucket that the driver did not create can lack what conditions require. Google reports that like a lost race.
	mustSucceed(t, on.root(t).Bucket("fine-grained").Create(t.Context(), on.ProjectID(), nil))
	drivertest.WantCode(t, grant(w, as(grantRequest(drivertest.NewAccount(), readWrite, "fine-grained"), "team", "app")), codes.FailedPrecondition, "uniform bucket-level access")

	// The store that knew the account is lost: the bindings still tell.
	forgetful := newWorld(t, on, worldOptions{})
	drivertest.WantCode(t, grant(forgetful, as(grantRequest(account, readOnly, bucket), "team", "app")), codes.AlreadyExists, "other buckets")

	without := newWorld(t, on, worldOptions{config: func(c *gcsdriver.Config) {
		backend := c.Backends["main"]
		backend.WorkloadIdentity = gcsdriver.WorkloadIdentityConfig{}
		c.Backends["main"] = backend
	}})
	drivertest.WantCode(t, grant(without, as(grantRequest(drivertest.NewAccount(), readWrite, bucket), "team", "app")), codes.InvalidArgument, "ServiceAccount is not supported")
}
