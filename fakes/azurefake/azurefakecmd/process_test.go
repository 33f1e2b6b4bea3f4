// SPDX-License-Identifier: Apache-2.0

package azurefakecmd_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/cooper-cosi/cooper/fakes/azurefake/azurefakecmd"
	"github.com/cooper-cosi/cooper/fakes/internal/fakecmd/fakecmdtest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

func TestMain(m *testing.M) { os.Exit(fakecmdtest.Main(m, azurefakecmd.Prepare)) }

// child is the command in a process of its own.
type child struct{ *fakecmdtest.Child }

func startChild(t *testing.T, args ...string) child {
	t.Helper()
	return child{fakecmdtest.Start(t, args...)}
}

// options let clients trust the certificate of --tls.
func (c child) options(t *testing.T) azcore.ClientOptions {
	t.Helper()
	options := azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}
	if file := c.Env["SSL_CERT_FILE"]; file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		options.Transport = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	}
	return options
}

// container is a client made of the connection string that the command prints.
func (c child) container(t *testing.T, name string) *container.Client {
	t.Helper()
	client, err := container.NewClientFromConnectionString(c.Env["AZURE_STORAGE_CONNECTION_STRING"], name, &container.ClientOptions{ClientOptions: c.options(t)})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

type body struct{ *bytes.Reader }

func (body) Close() error { return nil }

// TestNothingAcknowledgedIsLost kills the process under load, again and again, and looks for everything that it had
// acknowledged: blobs, staged blocks and stored policies.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	l := &ledger{blobs: map[string]int{}}
	for round := range 3 {
		c := startChild(t, "--data", dir)
		if round == 0 {
			for _, name := range []string{"load", "policies"} {
				if _, err := c.container(t, name).Create(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		l.check(t, c)
		l.load(t, c, round, 150)
	}
	l.check(t, startChild(t, "--data", dir))
}

// ledger records the writes that the process has acknowledged.
type ledger struct {
	mu     sync.Mutex
	blobs  map[string]int
	policy string
}

// load writes from several clients until enough is acknowledged, then kills the process in the middle of it.
func (l *ledger) load(t *testing.T, c child, round, enough int) {
	t.Helper()
	target := len(l.blobs) + enough
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			client, policies := c.container(t, "load"), c.container(t, "policies")
			for n := 0; ; n++ {
				key, size := fmt.Sprintf("%d/%d/%d", round, worker, n), 100+n*37
				if _, err := client.NewBlockBlobClient(key).Upload(t.Context(), body{bytes.NewReader(fakecmdtest.Content(key, size))}, nil); err != nil {
					return
				}
				if worker == 0 && setPolicy(t.Context(), policies, key) != nil {
					return
				}
				l.mu.Lock()
				l.blobs[key] = size
				if worker == 0 {
					l.policy = key
				}
				if len(l.blobs) >= target {
					c.Strike() // another worker may have been faster
				}
				l.mu.Unlock()
			}
		})
	}
	wg.Wait()
	c.Kill()
}

func setPolicy(ctx context.Context, c *container.Client, id string) error {
	_, err := c.SetAccessPolicy(ctx, &container.SetAccessPolicyOptions{ContainerACL: []*container.SignedIdentifier{
		{ID: to.Ptr(id), AccessPolicy: &container.AccessPolicy{Permission: to.Ptr("r"), Expiry: to.Ptr(time.Now().Add(time.Hour))}},
	}})
	return err
}

func (l *ledger) check(t *testing.T, c child) {
	t.Helper()
	client := c.container(t, "load")
	for key, size := range l.blobs {
		out, err := client.NewBlobClient(key).DownloadStream(t.Context(), nil)
		if err != nil {
			t.Fatalf("acknowledged blob %s is lost: %v", key, err)
		}
		got, err := io.ReadAll(out.Body)
		if err != nil || !bytes.Equal(got, fakecmdtest.Content(key, size)) {
			t.Fatalf("acknowledged blob %s came back with %d bytes, want %d: %v", key, len(got), size, err)
		}
	}
	if l.policy == "" {
		return
	}
	acl, err := c.container(t, "policies").GetAccessPolicy(t.Context(), nil)
	if err != nil || len(acl.SignedIdentifiers) != 1 {
		t.Fatalf("the stored policy is lost: %v", err)
	}
	// The process may have kept one more than it could acknowledge.
	if got := *acl.SignedIdentifiers[0].ID; got < l.policy[:2] {
		t.Errorf("the stored policy is %s, older than %s", got, l.policy)
	}
}

func TestTLSServesWithItsOwnAuthority(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--tls", "--data", filepath.Join(t.TempDir(), "data"))
	if !strings.HasPrefix(c.Env["AZURE_STORAGE_BLOB_ENDPOINT"], "https://") {
		t.Errorf("the endpoint is %s", c.Env["AZURE_STORAGE_BLOB_ENDPOINT"])
	}
	if _, err := c.container(t, "data").Create(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestBadStartsSayWhatToDo(t *testing.T) {
	t.Parallel()
	noKey := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(noKey, []byte("no key!"), 0o600); err != nil {
		t.Fatal(err)
	}
	fakecmdtest.BadStarts(t, azurefakecmd.Prepare, "PutBlob", map[string]fakecmdtest.BadStart{
		"no account at all":            {Args: []string{"--account", ""}, Want: "set the name of at least one storage account"},
		"a name that no account has":   {Args: []string{"--account", "No_Account"}, Want: "3 to 24 lower-case letters and digits"},
		"a key file that is not there": {Args: []string{"--key-file", "/nowhere.key"}, Want: "read --key-file"},
		"a key that is not base64":     {Args: []string{"--key-file", noKey}, Want: "the key is not base64"},
	})
}

func TestAdminIsOff(t *testing.T) {
	t.Parallel()
	endpoint := startChild(t).Env["AZURE_STORAGE_BLOB_ENDPOINT"]
	fakecmdtest.AdminIsOff(t, endpoint[:strings.LastIndex(endpoint, "/")])
}

func TestAdminEndpoint(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--admin")
	owner := c.Env["AZURE_STORAGE_ACCOUNT"]
	admin := fakecmdtest.Admin{
		URL: strings.TrimSuffix(c.Env["AZURE_STORAGE_BLOB_ENDPOINT"], "/"+owner), Wants: "key1 of the first account",
		Authenticate: func(r *http.Request) { r.SetBasicAuth(owner, c.Env["AZURE_STORAGE_KEY"]) },
	}
	admin.TestAdmin(t, fakecmdtest.Create{Operation: "CreateContainer", Code: "ServerBusy", Name: "first", Do: func() error {
		_, err := c.container(t, "first").Create(t.Context(), nil)
		return err
	}})
}

// TestManagementOfAProcess logs in with the credentials that the command prints, and finds its identity again after a
// restart.
func TestManagementOfAProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for round := range 2 {
		c := startChild(t, "--tls", "--data", dir)
		identities := c.identities(t)
		if round == 0 {
			if _, err := identities.CreateOrUpdate(t.Context(), c.Env["AZURE_RESOURCE_GROUP"], "app", armmsi.Identity{Location: to.Ptr("westeurope")}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := identities.Get(t.Context(), c.Env["AZURE_RESOURCE_GROUP"], "app", nil); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		c.Kill()
	}
}

func (c child) identities(t *testing.T) *armmsi.UserAssignedIdentitiesClient {
	t.Helper()
	options := c.options(t)
	options.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: c.Env["AZURE_AUTHORITY_HOST"], Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
		cloud.ResourceManager: {Endpoint: c.Env["AZURE_RESOURCE_MANAGER"], Audience: "https://management.azure.com"},
	}}
	login, err := azidentity.NewClientSecretCredential(c.Env["AZURE_TENANT_ID"], c.Env["AZURE_CLIENT_ID"], c.Env["AZURE_CLIENT_SECRET"], &azidentity.ClientSecretCredentialOptions{
		ClientOptions: options, DisableInstanceDiscovery: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := armmsi.NewUserAssignedIdentitiesClient(c.Env["AZURE_SUBSCRIPTION_ID"], login, &arm.ClientOptions{ClientOptions: options})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestMemoryStaysBounded uploads a large blob, in blocks and at once, and looks at the process's peak memory.
func TestMemoryStaysBounded(t *testing.T) { //nolint:paralleltest // it moves 1 GiB, which would slow down other tests
	fulltest.Only(t, "TestMemoryStaysBounded in fakes/s3fake/s3fakecmd")
	size := int64(fulltest.Size(512, 512, 5120)) << 20 // more than limit
	const limit = 128 << 20
	c := startChild(t)
	client := c.container(t, "big")
	if _, err := client.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	inBlocks := &blockblob.UploadStreamOptions{BlockSize: 16 << 20, Concurrency: 2}
	if _, err := client.NewBlockBlobClient("blocks").UploadStream(t.Context(), io.LimitReader(endless{}, size), inBlocks); err != nil {
		t.Fatal(err)
	}
	read, err := client.NewBlobClient("blocks").DownloadStream(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, read.Body)
	if err = errors.Join(err, read.Body.Close()); err != nil || n != size {
		t.Fatalf("read back %d bytes, want %d: %v", n, size, err)
	}
	whole := io.NewSectionReader(endless{}, 0, size/2)
	if _, err := client.NewBlockBlobClient("whole").Upload(t.Context(), section{whole}, nil); err != nil {
		t.Fatal(err)
	}
	peak := c.PeakMemory(t)
	t.Logf("%d MiB in blocks, and half of it at once: peak resident memory %d MiB", size>>20, peak>>20)
	if peak > limit {
		t.Errorf("peak resident memory %d MiB, want at most %d MiB", peak>>20, int64(limit)>>20)
	}
}

// endless is as many zeros as anybody reads.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func (endless) ReadAt(p []byte, _ int64) (int, error) { return len(p), nil }

type section struct{ *io.SectionReader }

func (section) Close() error { return nil }
