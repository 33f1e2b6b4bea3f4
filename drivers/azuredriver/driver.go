// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account/identity"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account/signature"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/bucket"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Options are the arguments of New.
type Options struct {
	// Config is the configuration. New fills in its defaults.
	Config Config
	// WrapTransport, if set, wraps the transport of every call to Azure, to observe calls or to inject failures.
	WrapTransport func(http.RoundTripper) http.RoundTripper
	// Registerer registers the metrics of calls to Azure. Default: none.
	Registerer prometheus.Registerer
	// TracerProvider creates a span for each call to Azure. Default: OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
	// Now returns the current time. Default: time.Now.
	Now func() time.Time
}

// Driver implements driverkit.Driver and driverkit.IDGenerator.
type Driver struct {
	config   Config
	backends driverkit.Backends[*backend]
	// identities is nil if service accounts are not configured.
	identities *identity.Manager
}

var (
	_ driverkit.Driver      = (*Driver)(nil)
	_ driverkit.IDGenerator = (*Driver)(nil)

	_ driverkit.BackendsChecker = (*Driver)(nil)
)

// managementBackend is the backend name of Azure Resource Manager in metrics, in addition to the names of storage
// accounts.
const managementBackend = "management"

// backend is one configured storage account.
type backend struct {
	name        string
	config      BackendConfig
	authorities *driverkit.Authorities
	// key is nil for an account that does not accept its keys.
	key        *signature.SharedKey
	buckets    *bucket.Store
	signatures *signature.Manager
	// keepsContainers reports whether deleted containers are kept. It is nil if the driver cannot find out.
	keepsContainers func(context.Context) (bool, error)
}

// New returns a driver. It makes no calls, so a service that is down does not prevent the driver from starting.
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
	driver := &Driver{config: config, backends: driverkit.Backends[*backend]{Default: config.DefaultBackend, ByName: map[string]*backend{}, Word: backendWord}}
	wrapper := func(name string) wrapTransport {
		return func(next http.RoundTripper) http.RoundTripper {
			if options.WrapTransport != nil {
				next = options.WrapTransport(next)
			}
			return calls.Wrap(name, next)
		}
	}
	if driver.identities, err = newIdentities(config, wrapper(managementBackend)); err != nil {
		return nil, fmt.Errorf("set up service accounts: %w", err)
	}
	for name := range config.Backends {
		made, err := newBackend(config, name, options, wrapper)
		if err != nil {
			return nil, fmt.Errorf("set up storage account %s: %w", name, err)
		}
		driver.backends.ByName[name] = made
	}
	return driver, nil
}

func newBackend(config Config, name string, options Options, wrapper func(backend string) wrapTransport) (*backend, error) {
	settings := config.Backends[name]
	authorities, err := driverkit.OpenAuthorities(settings.CAFile)
	if err != nil {
		return nil, err
	}
	listed, err := newListedKey(config, settings, options.Now, wrapper(managementBackend))
	if err != nil {
		return nil, err
	}
	wrap := wrapper(name)
	if listed != nil {
		wrap = func(next http.RoundTripper) http.RoundTripper { return listed.Watch(wrapper(name)(next)) }
	}
	client := clientOptions(authorities, wrap)
	made := &backend{
		name: name, config: settings, authorities: authorities,
		buckets:    &bucket.Store{Driver: config.DriverName, Cluster: config.Cluster},
		signatures: &signature.Manager{Driver: config.DriverName, Cluster: config.Cluster, Records: config.RecordsContainer, Now: options.Now},
	}
	if settings.Signing == SigningUserDelegation {
		err = made.delegate(client)
	} else {
		err = made.keyed(client, listed)
	}
	if err != nil {
		return nil, err
	}
	made.signatures.API = made.buckets.API
	made.keepsContainers, err = newRetention(config, settings, wrapper(managementBackend))
	return made, err
}

// Info implements driverkit.Driver.
func (d *Driver) Info() driverkit.Info {
	authTypes := []driverkit.AuthType{driverkit.Key}
	if d.identities != nil {
		// A signature covers one container; an identity can have a role on any number.
		authTypes = append(authTypes, driverkit.ServiceAccount)
	}
	return driverkit.Info{
		Name:                 d.config.DriverName,
		Revision:             d.revision(),
		Protocols:            []driverkit.Protocol{driverkit.Azure},
		AuthTypes:            authTypes,
		MultiBucket:          authTypes[1:],
		Modes:                policy.Modes(),
		KeepsDisallowedModes: true,
		BucketParameters:     params.BucketParameters(),
		AccessParameters:     params.AccessParameters(),
	}
}

// revision returns a value that changes with the configuration that appears in responses: URLs, authorities and the
// key, because another key produces other signatures.
func (d *Driver) revision() string {
	type visible struct{ URL, Authority, Key string }
	all := map[string]visible{}
	for name, backend := range d.backends.ByName {
		fingerprint := ""
		if backend.key != nil {
			fingerprint = backend.key.Fingerprint()
		}
		all[name] = visible{backend.config.publicURL(name), backend.authorities.PEM(), fingerprint}
	}
	revision, err := driverkit.Digest(all)
	if err != nil {
		return ""
	}
	return revision
}

// info describes a bucket of the account.
func (b *backend) info() driverkit.BucketInfo {
	return driverkit.BucketInfo{Azure: &driverkit.AzureBucket{StorageAccount: b.name}}
}
