// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"google.golang.org/grpc/codes"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	stsAudience = "sts.amazonaws.com"
	podAudience = "pods.eks.amazonaws.com"
	eksCluster  = "prod"
)

// cluster is a Kubernetes API server whose service accounts a store trusts.
type cluster struct {
	env    *testenv.Env
	client kubernetes.Interface
	issuer string
	// target and server are the store, which fetches the keys of tokens from the API server.
	target target
	server *s3fake.Server
	// provider is the ARN of the API server's identity provider in the store's IAM.
	provider string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	env := testenv.Start(t, testenv.Options{})
	client, err := kubernetes.NewForConfig(env.Config())
	mustSucceed(t, err)
	made := &cluster{env: env, client: client}
	made.issuer = made.discover(t)
	issuers, err := rest.HTTPClientFor(env.Config())
	mustSucceed(t, err)
	made.target, made.server = startFake(t, s3fake.Options{Issuers: issuers, Clusters: map[string]string{eksCluster: made.issuer}})
	provider, err := made.iam().CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{Url: &made.issuer, ClientIDList: []string{stsAudience}})
	mustSucceed(t, err)
	made.provider = aws.ToString(provider.OpenIDConnectProviderArn)
	made.target.backend.IAM.ServiceAccounts = s3driver.ServiceAccountsConfig{EKSCluster: eksCluster, OIDCProvider: made.provider}
	return made
}

// discover returns the issuer of the API server's tokens.
func (c *cluster) discover(t *testing.T) string {
	t.Helper()
	raw, err := c.client.Discovery().RESTClient().Get().AbsPath("/.well-known/openid-configuration").DoRaw(t.Context())
	mustSucceed(t, err)
	var document struct{ Issuer string }
	mustSucceed(t, json.Unmarshal(raw, &document))
	return document.Issuer
}

func (c *cluster) iam() *iam.Client {
	return iam.New(iam.Options{BaseEndpoint: aws.String(c.server.URL()), Region: "us-east-1", Credentials: fixedCredentials(c.target.rootID, c.target.rootSecret)})
}

// pod is a workload that runs as a service account.
type pod struct {
	*cluster

	namespace, account string
}

// pod creates a service account, in a new namespace unless one is given.
func (c *cluster) pod(t *testing.T, namespace, account string) pod {
	t.Helper()
	if namespace == "" {
		namespace = c.env.Namespace()
	}
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	mustSucceed(t, c.env.Client.Create(t.Context(), made))
	return pod{cluster: c, namespace: namespace, account: account}
}

// token returns the token that the kubelet mounts into the pod.
func (p pod) token(t *testing.T, audience string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	made, err := p.client.CoreV1().ServiceAccounts(p.namespace).CreateToken(t.Context(), p.account, request, metav1.CreateOptions{})
	mustSucceed(t, err)
	return made.Status.Token
}

// webIdentity exchanges the pod's token for a session of the role with this name.
func (p pod) webIdentity(t *testing.T, role, audience string) (*s3.Client, error) {
	t.Helper()
	client := sts.New(sts.Options{BaseEndpoint: aws.String(p.server.URL()), Region: "us-east-1", Credentials: aws.AnonymousCredentials{}})
	out, err := client.AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{
		RoleArn:         aws.String("arn:aws:iam::000000000000:role/cosi/s3.cooper.dev/" + role),
		RoleSessionName: aws.String("pod"), WebIdentityToken: aws.String(p.token(t, audience)),
	})
	if err != nil {
		return nil, err
	}
	return p.session(*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken), nil
}

// podIdentity requests a session like the EKS agent on a node.
func (p pod) podIdentity(t *testing.T, audience string) (*s3.Client, error) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"token": p.token(t, audience)})
	mustSucceed(t, err)
	url := p.server.URL() + "/clusters/" + eksCluster + "/assume-role-for-pod-identity"
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	mustSucceed(t, err)
	sum := sha256.Sum256(body)
	node := aws.Credentials{AccessKeyID: p.target.rootID, SecretAccessKey: p.target.rootSecret}
	mustSucceed(t, v4.NewSigner().SignHTTP(t.Context(), node, request, hex.EncodeToString(sum[:]), "eks-auth", "us-east-1", time.Now()))
	response, err := http.DefaultClient.Do(request)
	mustSucceed(t, err)
	text, err := io.ReadAll(response.Body)
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", response.Header.Get("X-Amzn-Errortype"), text)
	}
	var out struct {
		Credentials struct{ AccessKeyID, SecretAccessKey, SessionToken string }
	}
	mustSucceed(t, json.Unmarshal(text, &out))
	return p.session(out.Credentials.AccessKeyID, out.Credentials.SecretAccessKey, out.Credentials.SessionToken), nil
}

func (p pod) session(id, secret, token string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(p.server.URL()), Region: "us-east-1", UsePathStyle: true, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(id, secret, token),
	})
}

// grantRequest requests access for the pod's service account.
func (p pod) grantRequest(account string, asked drivertest.Modes, buckets ...string) *cosi.DriverGrantBucketAccessRequest {
	request := grantRequest(account, asked, buckets...)
	request.AuthenticationType.Type = cosi.AuthenticationType_SERVICE_ACCOUNT
	request.ServiceAccountName, request.ServiceAccountNamespace = p.account, p.namespace
	return request
}

func (p pod) revoke(t *testing.T, w *world, account string, buckets ...string) error {
	t.Helper()
	_, err := w.DriverRevokeBucketAccess(t.Context(), drivertest.RevokeRequest(p.grantRequest(account, drivertest.Modes{}, buckets...)))
	return err
}

// TestTokensOfTheCluster uses tokens that a running kube-apiserver signs and that the store verifies with keys
// fetched from it.
func TestTokensOfTheCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	before := c.server.Inventory()
	w := newWorld(t, c.target, worldOptions{})
	bucket, private, account := w.NewBucket(t, nil), w.NewBucket(t, nil), drivertest.NewAccount()
	shop := c.pod(t, "", "shop")
	role := eksCluster + "." + shop.namespace + ".shop"
	request := shop.grantRequest(account, readWrite, bucket)
	if granted := w.MustGrant(t, request); granted.GetCredentials().GetS3() != nil {
		t.Error("the grant returns a key")
	}
	w.MustGrant(t, request)

	ways := map[string]func(t *testing.T, p pod, audience string) (*s3.Client, error){
		stsAudience: func(t *testing.T, p pod, audience string) (*s3.Client, error) {
			t.Helper()
			return p.webIdentity(t, role, audience)
		},
		podAudience: func(t *testing.T, p pod, audience string) (*s3.Client, error) {
			t.Helper()
			return p.podIdentity(t, audience)
		},
	}
	strangers := map[string]pod{
		"another service account": c.pod(t, shop.namespace, "other"),
		"another namespace":       c.pod(t, "", "shop"),
	}
	sessions := map[string]*s3.Client{}
	for audience, exchange := range ways {
		client, err := exchange(t, shop, audience)
		if err != nil {
			t.Fatalf("%s: the token is refused: %v", audience, err)
		}
		sessions[audience] = client
		mustSucceed(t, putObject(t, client, bucket, "key"))
		mustSucceed(t, getObject(t, client, bucket, "key"))
		if code := apiCode(t, putObject(t, client, private, "key")); code != "AccessDenied" {
			t.Errorf("%s: a bucket that was not granted: %q", audience, code)
		}
		if _, err := exchange(t, shop, "vault"); err == nil {
			t.Errorf("%s: a token for another audience is accepted", audience)
		}
		for name, stranger := range strangers {
			if _, err := exchange(t, stranger, audience); err == nil {
				t.Errorf("%s: %s gets the role", audience, name)
			}
		}
	}
	if err := shop.revoke(t, w, account, bucket); err != nil {
		t.Fatalf("revoke: %v", err)
	}
	for audience, exchange := range ways {
		if err := putObject(t, sessions[audience], bucket, "key"); err == nil {
			t.Errorf("%s: an old session works after the revoke", audience)
		}
		if _, err := exchange(t, shop, audience); err == nil {
			t.Errorf("%s: the role can be assumed after the revoke", audience)
		}
	}
	after := c.server.Inventory()
	if len(after.Roles) != len(before.Roles) || len(after.Associations) != len(before.Associations) {
		t.Errorf("left are roles %v and associations %v", after.Roles, after.Associations)
	}
}

// TestAccessesOfOneServiceAccount checks that they share a role, which is deleted with the last access.
func TestAccessesOfOneServiceAccount(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	w := newWorld(t, c.target, worldOptions{})
	first, second := w.NewBucket(t, nil), w.NewBucket(t, nil)
	shop := c.pod(t, "", "shop")
	one, two := drivertest.NewAccount(), drivertest.NewAccount()
	w.MustGrant(t, shop.grantRequest(one, readWrite, first))
	w.MustGrant(t, shop.grantRequest(two, drivertest.Modes{Data: readOnly}, second))
	client, err := shop.podIdentity(t, podAudience)
	mustSucceed(t, err)
	mustSucceed(t, putObject(t, client, first, "key"))
	if code := apiCode(t, putObject(t, client, second, "key")); code != "AccessDenied" {
		t.Errorf("writing with read-only access: %q", code)
	}
	_, err = w.DriverGrantBucketAccess(t.Context(), shop.grantRequest(two, readWrite, second))
	drivertest.WantCode(t, err, codes.AlreadyExists, two, "access modes")

	mustSucceed(t, shop.revoke(t, w, one, first))
	if code := apiCode(t, putObject(t, client, first, "key")); code != "AccessDenied" {
		t.Errorf("after the first revoke: %q", code)
	}
	if _, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &second}); err != nil {
		t.Errorf("the second access ended with the first: %v", err)
	}
	mustSucceed(t, shop.revoke(t, w, two, second))
	mustSucceed(t, shop.revoke(t, w, two, second))
	if left := c.server.Inventory(); len(left.Roles)+len(left.Associations) != 0 {
		t.Errorf("left are roles %v and associations %v", left.Roles, left.Associations)
	}
}

// TestServiceAccountsThatCannotBeGranted checks that the error gives the reason, and that nothing changes.
func TestServiceAccountsThatCannotBeGranted(t *testing.T) {
	t.Parallel()
	const issuer = "https://oidc.example.com/id"
	tests := map[string]struct {
		configure func(*s3driver.ServiceAccountsConfig)
		prepare   func(t *testing.T, on target)
		change    func(*cosi.DriverGrantBucketAccessRequest)
		code      codes.Code
		want      string
	}{
		"a backend without the configuration": {
			configure: func(s *s3driver.ServiceAccountsConfig) { *s = s3driver.ServiceAccountsConfig{} },
			code:      codes.InvalidArgument, want: "authentication type ServiceAccount",
		},
		"a sidecar that sends no namespace": {
			change: func(r *cosi.DriverGrantBucketAccessRequest) { r.ServiceAccountNamespace = "" },
			code:   codes.InvalidArgument, want: "service_account_namespace",
		},
		"a cluster that EKS does not know": {
			configure: func(s *s3driver.ServiceAccountsConfig) { s.EKSCluster = "nowhere" },
			code:      codes.FailedPrecondition, want: "iam.serviceAccounts",
		},
		"a role of another owner": {
			prepare: func(t *testing.T, on target) {
				t.Helper()
				foreignRole(t, on, eksCluster+".ns.sa")
			},
			code: codes.AlreadyExists, want: "does not change it",
		},
		"a service account that is bound already": {
			prepare: func(t *testing.T, on target) {
				t.Helper()
				bindToForeignRole(t, on)
			},
			code: codes.AlreadyExists, want: "allows only one",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, server := startFake(t, s3fake.Options{Clusters: map[string]string{eksCluster: issuer}})
			on.backend.IAM.ServiceAccounts.EKSCluster = eksCluster
			if test.configure != nil {
				test.configure(&on.backend.IAM.ServiceAccounts)
			}
			w := newWorld(t, on, worldOptions{})
			bucket := w.NewBucket(t, nil)
			if test.prepare != nil {
				test.prepare(t, on)
			}
			before := server.Inventory()
			request := pod{namespace: "ns", account: "sa"}.grantRequest(drivertest.NewAccount(), readWrite, bucket)
			if test.change != nil {
				test.change(request)
			}
			_, err := w.DriverGrantBucketAccess(t.Context(), request)
			drivertest.WantCode(t, err, test.code, test.want)
			after := server.Inventory()
			if len(after.Associations) != len(before.Associations) || len(after.Users) != 0 {
				t.Errorf("the refused grant made associations %v, users %v", after.Associations, after.Users)
			}
		})
	}
}

const podTrust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`

func foreignRole(t *testing.T, on target, name string) string {
	t.Helper()
	client := iam.New(iam.Options{BaseEndpoint: aws.String(on.backend.Endpoint), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	made, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(podTrust)})
	mustSucceed(t, err)
	return aws.ToString(made.Role.Arn)
}

func bindToForeignRole(t *testing.T, on target) {
	t.Helper()
	client := eks.New(eks.Options{BaseEndpoint: aws.String(on.backend.Endpoint), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	_, err := client.CreatePodIdentityAssociation(t.Context(), &eks.CreatePodIdentityAssociationInput{
		ClusterName: aws.String(eksCluster), Namespace: aws.String("ns"), ServiceAccount: aws.String("sa"), RoleArn: aws.String(foreignRole(t, on, "other")),
	})
	mustSucceed(t, err)
}

// TestRoleNamesThatAreTooLong checks that they are hashed and never truncated.
func TestRoleNamesThatAreTooLong(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Clusters: map[string]string{eksCluster: "https://oidc.example.com/id"}})
	on.backend.IAM.ServiceAccounts.EKSCluster = eksCluster
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	long := strings.Repeat("a", 100)
	for _, account := range []string{long, long + "b"} {
		w.MustGrant(t, pod{namespace: "ns", account: account}.grantRequest(drivertest.NewAccount(), readWrite, bucket))
	}
	roles := server.Inventory().Roles
	if len(roles) != 2 || !strings.HasPrefix(roles[0].Name, eksCluster+".h-") || len(roles[0].Name) > 64 {
		t.Errorf("roles %+v, want two with hashed names", roles)
	}
}
