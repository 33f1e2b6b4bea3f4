// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

const mainAccount = azurefake.DefaultAccount

// records is the container with the driver's records of accounts.
const records = "cosi-accesses"

// inventory returns the fake's inventory without the container of records, which remains when it is empty.
func inventory(t *testing.T, server *azurefake.Server) azurefake.Inventory {
	t.Helper()
	all := server.Inventory()
	all.Containers = slices.DeleteFunc(all.Containers, func(c azurefake.ContainerInventory) bool { return c.Name == records && c.Count == 0 })
	if len(all.Containers) == 0 {
		all.Containers = nil
	}
	return all
}

// clock is a clock that tests can set forward. Service and drivers of a test share it.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += by
}

func startFake(t *testing.T, options azurefake.Options) *azurefake.Server {
	t.Helper()
	server := faketest.Start(t, azurefake.New, options)
	return server
}

// configOf is a driver's configuration for all accounts of a fake.
func configOf(server *azurefake.Server, accounts ...string) azuredriver.Config {
	config := azuredriver.Config{DefaultBackend: mainAccount, Backends: map[string]azuredriver.BackendConfig{}}
	for _, name := range append(accounts, mainAccount) {
		key, _ := server.Keys(name)
		config.Backends[name] = azuredriver.BackendConfig{
			Endpoint: server.URL(), Credentials: azuredriver.CredentialsConfig{AccountKey: cosi.NewSecret(key)},
		}
	}
	return config
}

// world is one driver process on a fake.
type world struct {
	*drivertest.Client

	server *azurefake.Server
}

type worldOptions struct {
	fake   azurefake.Options
	wrap   func(http.RoundTripper) http.RoundTripper
	config func(*azuredriver.Config)
	// accounts are configured besides mainAccount.
	accounts []string
}

// newWorld starts a fake and a driver on it.
func newWorld(t *testing.T, options worldOptions) *world {
	t.Helper()
	return newProcess(t, startFake(t, options.fake), options)
}

// newProcess serves another driver on the same fake, as a restarted driver is.
func newProcess(t *testing.T, server *azurefake.Server, options worldOptions) *world {
	t.Helper()
	config := configOf(server, options.accounts...)
	if options.config != nil {
		options.config(&config)
	}
	driver, err := azuredriver.New(azuredriver.Options{Config: config, WrapTransport: options.wrap, Now: options.fake.Now})
	if err != nil {
		t.Fatal(err)
	}
	return &world{Client: drivertest.Serve(t, driver, driverkit.Options{}), server: server}
}

var (
	readWrite = drivertest.Modes{Data: cosi.AccessMode_READ_WRITE}
	readOnly  = drivertest.Modes{Data: cosi.AccessMode_READ_ONLY}
	writeOnly = drivertest.Modes{Data: cosi.AccessMode_WRITE_ONLY}
)

func grantRequest(account string, modes drivertest.Modes, buckets ...string) *cosi.DriverGrantBucketAccessRequest {
	return drivertest.GrantRequest(cosi.ObjectProtocol_AZURE, account, modes, buckets...)
}

func (w *world) revoke(t *testing.T, account string, buckets ...string) error {
	t.Helper()
	return w.Revoke(t, grantRequest(account, drivertest.Modes{}, buckets...))
}

func (w *world) mustRevoke(t *testing.T, account string, buckets ...string) {
	t.Helper()
	if err := w.revoke(t, account, buckets...); err != nil {
		t.Fatalf("revoke %s: %v", account, err)
	}
}

func clientOptions() *container.ClientOptions {
	return &container.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}}
}

// token is the URL that a grant returned.
func token(granted *cosi.DriverGrantBucketAccessResponse) string {
	return granted.GetCredentials().GetAzure().GetAccessToken()
}

// workload is a container client as an application makes it from its Secret.
func workload(t *testing.T, granted *cosi.DriverGrantBucketAccessResponse) *container.Client {
	t.Helper()
	return clientByURL(t, token(granted))
}

func clientByURL(t *testing.T, url string) *container.Client {
	t.Helper()
	client, err := container.NewClientWithNoCredential(url, clientOptions())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// root is a container client of the storage account's administrator.
func (w *world) root(t *testing.T, name string) *container.Client {
	t.Helper()
	key, _ := w.server.Keys(mainAccount)
	credential, err := container.NewSharedKeyCredential(mainAccount, key)
	if err != nil {
		t.Fatal(err)
	}
	client, err := container.NewClientWithSharedKeyCredential(w.server.AccountURL(mainAccount)+"/"+name, credential, clientOptions())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func upload(ctx context.Context, client *container.Client, name string) error {
	_, err := client.NewBlockBlobClient(name).Upload(ctx, streaming.NopCloser(strings.NewReader("text")), nil)
	return err
}

func download(ctx context.Context, client *container.Client, name string) error {
	answer, err := client.NewBlobClient(name).DownloadStream(ctx, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

func list(ctx context.Context, client *container.Client) error {
	_, err := client.NewListBlobsFlatPager(nil).NextPage(ctx)
	return err
}

func stageBlock(ctx context.Context, client *container.Client, name string) error {
	_, err := client.NewBlockBlobClient(name).StageBlock(ctx, "AAAA", streaming.NopCloser(strings.NewReader("text")), &blockblob.StageBlockOptions{})
	return err
}

// azureCode returns the code of the service's error, empty for success.
func azureCode(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	answered, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		t.Fatalf("no response of the service: %v", err)
	}
	return answered.ErrorCode
}

func wantNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// policies returns the IDs of the stored access policies of a container.
func (w *world) policies(name string) []string {
	var ids []string
	for _, one := range w.server.Inventory().Containers {
		if one.Name != name {
			continue
		}
		for _, p := range one.Policies {
			ids = append(ids, p.ID)
		}
	}
	return ids
}
