// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"golang.org/x/oauth2/google"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// issuer returns the issuer of service account tokens, according to the cluster's discovery document. It
// differs between clusters.
func (w *world) issuer(t *testing.T) string {
	t.Helper()
	var document struct{ Issuer string }
	wantNoError(t, json.Unmarshal([]byte(w.kubectl(t, "get", "--raw", "/.well-known/openid-configuration")), &document))
	return document.Issuer
}

// readIssuer lets anonymous clients read the issuer's keys, as clouds do.
const readIssuer = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: issuer-for-clouds}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: system:unauthenticated}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:service-account-issuer-discovery}
`

// clouds returns the fakes of Azure and Google Cloud. Their output contains the administrator's credentials.
func clouds(issuer string) string {
	return readIssuer +
		fake("azure", "10000", "HTTPS", "--account=teamstore", "--deletion=-1s", "--tls", "--tls-host=azure.stores.svc.cluster.local",
			"--ca-file=/dev/stdout", "--issuer-ca=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt") +
		fake("gcs", "9002", "HTTP", "--url=http://gcs.stores.svc.cluster.local:9002", "--project=team-one=123456", "--pool=cluster="+issuer,
			"--key-file=/dev/stdout")
}

// asked is a bucket, and access to it for the service account shop.
const asked = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: stranger}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClass
metadata: {name: NAME}
spec: {driverName: NAME.cooper.dev, deletionPolicy: Delete, parameters: {deleteNonEmpty: "true"}}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketAccessClass
metadata: {name: NAME}
spec: {driverName: NAME.cooper.dev, authenticationType: ServiceAccount}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClaim
metadata: {name: photos}
spec: {bucketClassName: NAME, protocols: [PROTOCOL]}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketAccess
metadata: {name: photos}
spec:
  bucketAccessClassName: NAME
  protocol: PROTOCOL
  serviceAccountName: shop
  bucketClaims: [{bucketClaimName: photos, accessSecretName: photos, accessModes: {objectData: ReadWrite}}]
`

// job is a Job without a stored key. The kubelet mounts a token of its service account for an audience.
const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: NAME}
spec:
  backoffLimit: TRIES
  template:
    spec:
      serviceAccountName: ACCOUNT
      automountServiceAccountToken: false
      restartPolicy: Never
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: client
          image: IMAGE
          envFrom: [{secretRef: {name: photos}}, {configMapRef: {name: cloud}}]
          volumeMounts: [{name: token, mountPath: /identity}, {name: cloud, mountPath: /cloud}]
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
      volumes:
        - {name: token, projected: {sources: [{serviceAccountToken: {path: token, audience: AUDIENCE, expirationSeconds: 600}}]}}
        - {name: cloud, configMap: {name: cloud}}
`

// An identity describes how a cloud authenticates the cluster's service accounts.
type identity struct {
	// name is the name of the driver without .cooper.dev, and protocol the protocol of its buckets.
	name, protocol string
	// audience is the required audience of tokens.
	audience string
	// install installs the driver.
	install func(*testing.T, *world)
	// environment returns the workload's settings from the administrator. A name with a dot is a file in
	// /cloud.
	environment func(t *testing.T, w *world, namespace string) map[string]string
	// refusal is part of the error for a workload with another service account.
	refusal string
	// clock sets how far the cloud's clock is ahead of the cluster's.
	clock func(t *testing.T, w *world, ahead string)
	// early is part of the error for a token that was issued a minute after the time on the cloud's clock. It
	// is "" if the cloud accepts such a token.
	early string
}

func identities() []identity {
	return []identity{
		{name: "web", protocol: "S3", audience: stsAudience, install: installWeb, environment: webEnvironment, refusal: "Not authorized to perform sts:AssumeRoleWithWebIdentity", clock: setClock},
		{name: "azure", protocol: "Azure", audience: "api://AzureADTokenExchange", install: installAzure, environment: azureEnvironment, refusal: "AADSTS700213", clock: setAzureClock},
		{name: "gcs", protocol: "GCS", audience: pool + "/providers/kubernetes", install: installGCS, environment: gcsEnvironment, refusal: "403", clock: setGCSClock, early: "invalid_grant"},
	}
}

// TestJobsWithoutAKey runs Jobs that access buckets with the tokens of their service accounts. The kubelet
// projects the tokens into the Pods, and the stores verify them with the cluster's issuer. It also tests a clock
// difference of one minute between cloud and cluster.
func TestJobsWithoutAKey(t *testing.T) { //nolint:paralleltest // all tests share the cluster
	fulltest.Long(t, "the tests of the drivers take their tokens from an API server")
	w := onCluster(t)
	w.install(t)
	wantNoError(t, w.load(t.Context(), "cosi-driver-azure,cosi-driver-gcs,e2e-identity"))
	stores := clouds(w.issuer(t))
	w.takeBack(t, "", stores)
	w.apply(t, "", stores)
	w.rolledOut(t, storeNamespace)
	for _, one := range identities() { //nolint:paralleltest // one at a time
		t.Run(one.protocol, func(t *testing.T) {
			w.withoutAKey(t, one)
		})
	}
}

func (w *world) withoutAKey(t *testing.T, one identity) {
	t.Helper()
	one.install(t, w)
	manifest := strings.NewReplacer("NAME", one.name, "PROTOCOL", one.protocol).Replace(asked)
	w.takeBack(t, "identity-"+one.name, manifest)
	ns := w.namespace(t, "identity-"+one.name)
	w.apply(t, ns, manifest)
	w.wait(t, ns, "condition=Provisioned", "bucketclaim/photos", "bucketaccess/photos")
	config, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]string{"name": "cloud"}, "data": one.environment(t, w, ns),
	})
	wantNoError(t, err)
	w.apply(t, ns, string(config))
	stored := "stored and read as " + one.protocol
	defer one.clock(t, w, "0s") // not in a Cleanup, where the test's context has ended
	one.clock(t, w, "1m")
	w.job(t, ns, one, "ahead", "shop", "Complete", stored)
	one.clock(t, w, "-1m")
	if one.early != "" {
		w.job(t, ns, one, "behind", "shop", "Failed", one.early)
	} else {
		w.job(t, ns, one, "behind", "shop", "Complete", stored)
	}
	one.clock(t, w, "0s")
	w.job(t, ns, one, "right", "shop", "Complete", stored)
	w.job(t, ns, one, "stranger", "stranger", "Failed", one.refusal)
	if got := w.kubectl(t, "-n", ns, "get", "secret", "photos", "-o", "jsonpath={.data}"); strings.Contains(got, "SECRET") || strings.Contains(got, "TOKEN") {
		t.Errorf("the Secret holds a credential: %s", got)
	}
}

// job runs a Job with a service account until it has a condition, and checks its output.
func (w *world) job(t *testing.T, namespace string, one identity, name, account, condition, want string) {
	t.Helper()
	w.apply(t, namespace, strings.NewReplacer("NAME", name, "ACCOUNT", account, "TRIES", "0", "IMAGE", image("e2e-identity"), "AUDIENCE", one.audience).Replace(job))
	w.wait(t, namespace, "condition="+condition, "job/"+name)
	if got := w.kubectl(t, "-n", namespace, "logs", "job/"+name); !strings.Contains(got, want) {
		t.Errorf("the Job %s prints %q, want %q", name, got, want)
	}
}

// setClock sets the clock of the AWS fake.
func setClock(t *testing.T, w *world, ahead string) {
	t.Helper()
	w.store(t, http.MethodPut, "clock", ahead)
}

const stsAudience = "sts.amazonaws.com"

// installWeb registers the issuer with IAM, and installs a driver that grants roles to the holders of its
// tokens.
func installWeb(t *testing.T, w *world) {
	t.Helper()
	at := "http://" + w.forward(t, storeNamespace, "service/s3", "9000")
	client := iam.New(iam.Options{BaseEndpoint: &at, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider(rootID, rootKey, "")})
	made, err := client.CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{Url: aws.String(w.issuer(t)), ClientIDList: []string{stsAudience}})
	wantNoError(t, err)
	t.Cleanup(func() {
		gone := &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: made.OpenIDConnectProviderArn}
		if _, err := client.DeleteOpenIDConnectProvider(context.WithoutCancel(t.Context()), gone); err != nil {
			t.Error(err)
		}
	})
	w.driver(t, driver{
		cloud: "s3", word: "web", secret: map[string]string{"accessKeyID": rootID, "secretAccessKey": rootKey},
		config: strings.Replace(driverConfig, "s3.cooper.dev", "web.cooper.dev\ncluster: e2e", 1) +
			"    iam: {serviceAccounts: {oidcProvider: " + aws.ToString(made.OpenIDConnectProviderArn) + "}}\n",
	})
}

func webEnvironment(_ *testing.T, _ *world, namespace string) map[string]string {
	return map[string]string{
		"AWS_ROLE_ARN":                "arn:aws:iam::000000000000:role/cosi/web.cooper.dev/e2e." + namespace + ".shop",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "/identity/token",
	}
}

const azureURL = "https://azure.stores.svc.cluster.local:10000"

// printed returns the output of a fake at its start: the variables, and the complete text.
func (w *world) printed(t *testing.T, fake string) (variables map[string]string, all string) {
	t.Helper()
	all = w.kubectl(t, "-n", storeNamespace, "logs", "deployment/"+fake)
	variables = map[string]string{}
	for line := range strings.Lines(all) {
		if name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "="); ok {
			variables[name] = strings.Trim(value, "'")
		}
	}
	return variables, all
}

func installAzure(t *testing.T, w *world) {
	t.Helper()
	fake, all := w.printed(t, "azure")
	_, certificate, _ := strings.Cut(all, "-----BEGIN")
	authority, _ := pem.Decode([]byte("-----BEGIN" + certificate))
	if authority == nil {
		t.Fatalf("the fake of Azure prints no certificate: %s", all)
	}
	const files = "/etc/cosi/credentials/"
	const config = `driverName: azure.cooper.dev
defaultAccount: teamstore
accounts:
  teamstore:
    endpoint: URL
    caFile: FILES/ca.pem
    resourceID: /subscriptions/SUBSCRIPTION/resourceGroups/GROUP/providers/Microsoft.Storage/storageAccounts/teamstore
    credentials: {accountKeyFile: FILES/accountKey}
management: {endpoint: URL, caFile: FILES/ca.pem}
serviceAccounts:
  issuer: ISSUER
  subscriptionID: SUBSCRIPTION
  resourceGroup: GROUP
  location: westeurope
  credentials: {tenantID: TENANT, clientID: CLIENT, clientSecretFile: FILES/clientSecret, authority: URL}
`
	w.driver(t, driver{
		cloud: "azure", word: "azure",
		config: strings.NewReplacer("URL", azureURL, "FILES/", files, "SUBSCRIPTION", fake["AZURE_SUBSCRIPTION_ID"], "GROUP", fake["AZURE_RESOURCE_GROUP"],
			"TENANT", fake["AZURE_TENANT_ID"], "CLIENT", fake["AZURE_CLIENT_ID"], "ISSUER", w.issuer(t)).Replace(config),
		secret: map[string]string{"accountKey": fake["AZURE_STORAGE_KEY"], "clientSecret": fake["AZURE_CLIENT_SECRET"], "ca.pem": string(pem.EncodeToMemory(authority))},
	})
}

// azureEnvironment returns the client ID of the access's identity, which an administrator gets from Azure.
func azureEnvironment(t *testing.T, w *world, namespace string) map[string]string {
	t.Helper()
	fake, _ := w.printed(t, "azure")
	status := func(object, path string) string {
		return w.kubectl(t, "-n", namespace, "get", object, "-o", "jsonpath={.status."+path+"}")
	}
	account := status("bucketaccess/photos", "accountID")
	found := ""
	for _, one := range w.azureInventory(t).Principals {
		if path.Base(one.Identity) == account {
			found = one.ClientID
		}
	}
	if found == "" {
		t.Fatalf("Azure has no identity %s", account)
	}
	return map[string]string{
		"AZURE_TENANT_ID": fake["AZURE_TENANT_ID"], "AZURE_CLIENT_ID": found, "AZURE_AUTHORITY_HOST": azureURL,
		"AZURE_FEDERATED_TOKEN_FILE": "/identity/token",
		"CONTAINER_URL":              azureURL + "/teamstore/" + status("bucketaccess/photos", "accessedBuckets[0].bucketID"),
	}
}

// azure sends a management request to the Azure fake, and returns the response.
func (w *world) azure(t *testing.T, method, what, body string) string {
	t.Helper()
	fake, printed := w.printed(t, "azure")
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(printed)) {
		t.Fatalf("the fake of Azure prints no certificate: %s", printed)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	address, stop := w.forwarded(t, storeNamespace, "service/azure", "10000")
	defer stop()
	status, text, err := ask(t.Context(), client, method, "https://"+address+"/_cooper/"+what, body, basic("teamstore", fake["AZURE_STORAGE_KEY"]))
	if err != nil || status/100 != 2 {
		t.Fatalf("%s %s: %d %s %v", method, what, status, text, err)
	}
	return text
}

func (w *world) azureInventory(t *testing.T) azurefake.Inventory {
	t.Helper()
	var found azurefake.Inventory
	wantNoError(t, json.Unmarshal([]byte(w.azure(t, http.MethodGet, "inventory", "")), &found))
	return found
}

func setAzureClock(t *testing.T, w *world, ahead string) {
	t.Helper()
	w.azure(t, http.MethodPut, "clock", ahead)
}

// pool is the workload identity pool of the cluster at Google.
const pool = "//iam.googleapis.com/projects/123456/locations/global/workloadIdentityPools/cluster"

const gcsURL = "http://gcs.stores.svc.cluster.local:9002"

// gcsKey returns the administrator's key that the Google Cloud fake prints.
func (w *world) gcsKey(t *testing.T) string {
	t.Helper()
	_, all := w.printed(t, "gcs")
	begin, end := strings.Index(all, "{"), strings.LastIndex(all, "}")
	if begin < 0 || end < begin {
		t.Fatalf("the fake of Google Cloud prints no key: %s", all)
	}
	return all[begin : end+1]
}

func setGCSClock(t *testing.T, w *world, ahead string) {
	t.Helper()
	config, err := google.JWTConfigFromJSON([]byte(w.gcsKey(t)), "https://www.googleapis.com/auth/cloud-platform")
	wantNoError(t, err)
	address, stop := w.forwarded(t, storeNamespace, "service/gcs", "9002")
	defer stop()
	config.TokenURL = "http://" + address + "/token"
	token, err := config.TokenSource(t.Context()).Token()
	wantNoError(t, err)
	status, text, err := ask(t.Context(), http.DefaultClient, http.MethodPut, "http://"+address+"/_cooper/clock", ahead, "Bearer "+token.AccessToken)
	if err != nil || status/100 != 2 {
		t.Fatalf("set the clock: %d %s %v", status, text, err)
	}
}

func installGCS(t *testing.T, w *world) {
	t.Helper()
	w.driver(t, driver{
		cloud: "gcs", word: "gcs", secret: map[string]string{"key.json": w.gcsKey(t)},
		config: fmt.Sprintf(`driverName: gcs.cooper.dev
defaultBackend: main
backends:
  main:
    project: team-one
    location: US
    endpoint: %s
    insecure: true
    credentialsFile: /etc/cosi/credentials/key.json
    workloadIdentity: {pool: %s}
`, gcsURL, strings.TrimPrefix(pool, "//iam.googleapis.com/")),
	})
}

func gcsEnvironment(t *testing.T, _ *world, _ string) map[string]string {
	t.Helper()
	config, err := json.Marshal(map[string]any{
		"type": "external_account", "audience": pool + "/providers/kubernetes", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
		"token_url": gcsURL + "/v1/token", "credential_source": map[string]string{"file": "/identity/token"},
	})
	wantNoError(t, err)
	return map[string]string{"GCS_ENDPOINT_URL": gcsURL, "GOOGLE_APPLICATION_CREDENTIALS": "/cloud/google.json", "google.json": string(config)}
}
