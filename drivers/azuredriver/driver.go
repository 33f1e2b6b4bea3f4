// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/identity"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/store"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Options are what New needs.
type Options struct {
	// Config is the configuration. Defaults are filled in, so that a program need not.
	Config Config
	// WrapTransport, if set, is put around the transport of every call to Azure: to observe calls, or to
	// let them fail.
	WrapTransport func(http.RoundTripper) http.RoundTripper
	// Registerer takes the metrics of calls to Azure. Default none.
	Registerer prometheus.Registerer
	// TracerProvider gets a span for each call to Azure. Default OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Driver implements driverkit.Driver and driverkit.IDGenerator.
type Driver struct {
	config   Config
	accounts map[string]*account
	// identities is nil if service accounts are not configured.
	identities *identity.Manager
}

var (
	_ driverkit.Driver      = (*Driver)(nil)
	_ driverkit.IDGenerator = (*Driver)(nil)

	_ driverkit.BackendChecker = (*Driver)(nil)
)

// managementBackend is what metrics call Azure Resource Manager, beside the names of storage accounts.
const managementBackend = "management"

// account is one configured storage account.
type account struct {
	name                 string
	config               AccountConfig
	certificateAuthority string
	// key is nil for an account that does not accept its keys.
	key        *sharedKey
	containers *store.Account
}

// New makes a driver. It makes no calls: a service that is down does not keep the driver from
// starting.
func New(options Options) (*Driver, error) {
	config, err := options.Config.complete()
	if err != nil {
		return nil, err
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	calls, err := driverkit.NewBackendCalls(driverkit.BackendCallsOptions{
		DriverName: config.DriverName, Registerer: options.Registerer, TracerProvider: options.TracerProvider, Name: callName,
	})
	if err != nil {
		return nil, err
	}
	driver := &Driver{config: config, accounts: map[string]*account{}}
	wrapper := func(name string) wrapTransport {
		return func(next http.RoundTripper) http.RoundTripper {
			if options.WrapTransport != nil {
				next = options.WrapTransport(next)
			}
			return calls.Wrap(name, next)
		}
	}
	if driver.identities, err = newIdentities(config, wrapper(managementBackend)); err != nil {
		return nil, fmt.Errorf("service accounts: %w", err)
	}
	for name := range config.Accounts {
		made, err := newAccount(config, name, options, wrapper)
		if err != nil {
			return nil, fmt.Errorf("storage account %s: %w", name, err)
		}
		driver.accounts[name] = made
	}
	return driver, nil
}

func newAccount(config Config, name string, options Options, wrapper func(backend string) wrapTransport) (*account, error) {
	settings := config.Accounts[name]
	authority, err := driverkit.CertificateAuthorities(settings.CAFile)
	if err != nil {
		return nil, err
	}
	listed, err := newListedKey(config, settings, options.Now, wrapper(managementBackend))
	if err != nil {
		return nil, err
	}
	wrap := wrapper(name)
	if listed != nil {
		wrap = func(next http.RoundTripper) http.RoundTripper { return listed.watch(wrapper(name)(next)) }
	}
	client, err := clientOptions(settings.CAFile, wrap)
	if err != nil {
		return nil, err
	}
	made := &account{
		name: name, config: settings, certificateAuthority: authority,
		containers: &store.Account{Driver: config.DriverName, Cluster: config.Cluster, Records: config.RecordsContainer, Now: options.Now},
	}
	if settings.Signing == SigningUserDelegation {
		return made, made.delegate(client)
	}
	return made, made.keyed(client, listed)
}

// delegate prepares an account that does not accept its keys.
func (a *account) delegate(options azcore.ClientOptions) error {
	login, err := newIdentity(a.config.Credentials, options)
	if err != nil {
		return err
	}
	if a.containers.API, err = service.NewClient(a.config.url(a.name), login, &service.ClientOptions{ClientOptions: options}); err != nil {
		return fmt.Errorf("make the client: %w", err)
	}
	a.containers.Delegator, err = newDelegation(a.name, a.config.url(a.name), login, options)
	return err
}

// Info implements driverkit.Driver.
func (d *Driver) Info() driverkit.Info {
	authTypes := []driverkit.AuthType{driverkit.Key}
	if d.identities != nil {
		// A signature covers one container, an identity has a role at any number.
		authTypes = append(authTypes, driverkit.ServiceAccount)
	}
	return driverkit.Info{
		Name:             d.config.DriverName,
		Revision:         d.revision(),
		Protocols:        []driverkit.Protocol{driverkit.Azure},
		AuthTypes:        authTypes,
		MultiBucket:      authTypes[1:],
		Modes:            policy.Modes(),
		BucketParameters: params.BucketParameters(),
		AccessParameters: params.AccessParameters(),
	}
}

// CheckBackend implements driverkit.BackendChecker: the service answers for all storage accounts, and
// accepts the driver's own credentials.
func (d *Driver) CheckBackend(ctx context.Context) error {
	var problems []error
	for _, name := range d.config.accountNames() {
		account := d.accounts[name]
		err := account.use(ctx)
		if err == nil {
			err = account.containers.Check(ctx)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("storage account %s: %w", name, err))
		}
	}
	if d.identities != nil {
		if err := d.identities.Check(ctx); err != nil {
			problems = append(problems, fmt.Errorf("service accounts: %w", err))
		}
	}
	return errors.Join(problems...)
}

// revision changes with what appears in answers: URLs and authorities, and the key, since another key
// makes other signatures.
func (d *Driver) revision() string {
	type visible struct{ URL, Authority, Key string }
	all := map[string]visible{}
	for name, account := range d.accounts {
		fingerprint := ""
		if account.key != nil {
			fingerprint = account.key.fingerprint()
		}
		all[name] = visible{account.config.publicURL(name), account.certificateAuthority, fingerprint}
	}
	revision, err := driverkit.Digest(all)
	if err != nil {
		return ""
	}
	return revision
}

// info describes a bucket of the account.
func (a *account) info() driverkit.BucketInfo {
	return driverkit.BucketInfo{Azure: &driverkit.AzureBucket{StorageAccount: a.name}}
}
