// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/internal/keylock"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/role"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/bucket"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/s3driver/s3store"
)

// Options are the arguments of New.
type Options struct {
	// Config is the configuration. New fills in its defaults.
	Config Config
	// Credentials stores credentials that stores show only once. Required.
	Credentials credentials.Store
	// Types adds types of backends to the built-in types. Its keys are the names that the configuration uses, and
	// must differ from the names of the built-in types. Default: none.
	Types map[BackendType]s3store.Type
	// WrapTransport, if set, wraps the transport of every call to a store, to observe calls or to inject failures.
	WrapTransport func(http.RoundTripper) http.RoundTripper
	// Registerer registers the metrics of calls to stores. Default: none.
	Registerer prometheus.Registerer
	// TracerProvider creates a span for each call to a store. Default: OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
}

// Driver implements driverkit.Driver and driverkit.IDGenerator.
type Driver struct {
	config   Config
	backends driverkit.Backends[*backend]
	usage    *usage
}

var (
	_ driverkit.Driver      = (*Driver)(nil)
	_ driverkit.IDGenerator = (*Driver)(nil)

	_ driverkit.BackendsChecker = (*Driver)(nil)
)

// backend is one configured store.
type backend struct {
	name        string
	config      BackendConfig
	kind        storeType
	authorities *driverkit.Authorities
	owner       *awsAccount
	buckets     *bucket.Store
	accounts    s3store.Accounts
	// identities is nil if workloads cannot authenticate as their service account.
	identities *role.Roles
}

// New returns a driver. It makes no calls, so a store that is down does not prevent the driver from starting.
func New(options Options) (*Driver, error) {
	config, err := options.Config.complete(options.Types)
	if err != nil {
		return nil, err
	}
	options.Config = config
	if options.Credentials == nil {
		return nil, errors.New("create the S3 driver: Options.Credentials is required")
	}
	driver := &Driver{config: config, backends: driverkit.Backends[*backend]{Default: config.DefaultBackend, ByName: map[string]*backend{}}, usage: &usage{store: options.Credentials, config: config}}
	calls, err := driverkit.NewBackendCalls(driverkit.BackendCallsOptions{
		DriverName: config.DriverName, Registerer: options.Registerer, TracerProvider: options.TracerProvider, Name: callName,
	})
	if err != nil {
		return nil, err
	}
	locks := &keylock.Locks{}
	for name := range config.Backends {
		wrap := func(next http.RoundTripper) http.RoundTripper {
			if options.WrapTransport != nil {
				next = options.WrapTransport(next)
			}
			return calls.Wrap(name, next)
		}
		made, err := newBackend(options, name, locks, wrap)
		if err != nil {
			return nil, fmt.Errorf("set up backend %s: %w", name, err)
		}
		driver.backends.ByName[name] = made
	}
	return driver, nil
}

type wrapTransport func(http.RoundTripper) http.RoundTripper

func newBackend(options Options, name string, locks *keylock.Locks, wrap wrapTransport) (*backend, error) {
	config, settings := options.Config, options.Config.Backends[name]
	authorities, err := driverkit.OpenAuthorities(settings.CAFile)
	if err != nil {
		return nil, err
	}
	base, err := newAWSConfig(context.Background(), settings, authorities, wrap)
	if err != nil {
		return nil, err
	}
	owner := newAWSAccount(base, settings)
	made := &backend{
		name:        name,
		owner:       owner,
		config:      settings,
		kind:        storeTypes(options.Types)[settings.Type],
		authorities: authorities,
		buckets: &bucket.Store{
			API:      newS3Client(base, settings, owner),
			Region:   settings.Region,
			Regional: settings.Endpoint == "",

			ExpectsOwner: owner != nil,
			Driver:       config.DriverName,
			Cluster:      config.Cluster,
			Notes:        bucket.Notes{Store: options.Credentials, Backend: name},
			ReadLag:      settings.ReadLag.Duration(),
		},
	}
	all := parts{driver: config, store: options.Credentials, base: base}
	made.kind.equip(made, all)
	if settings.IAM.ServiceAccounts.enabled() {
		made.identities = newRoles(all, settings, locks)
	}
	return made, nil
}

// authTypes returns the union of the authentication types of all backends.
func (d *Driver) authTypes() []driverkit.AuthType {
	for _, backend := range d.backends.ByName {
		if backend.identities != nil {
			return []driverkit.AuthType{driverkit.Key, driverkit.ServiceAccount}
		}
	}
	return []driverkit.AuthType{driverkit.Key}
}

// Info implements driverkit.Driver.
func (d *Driver) Info() driverkit.Info {
	return driverkit.Info{
		Name:                 d.config.DriverName,
		Revision:             d.revision(),
		Protocols:            []driverkit.Protocol{driverkit.S3},
		AuthTypes:            d.authTypes(),
		MultiBucket:          d.authTypes(),
		Modes:                policy.Modes(),
		KeepsDisallowedModes: true,
		BucketParameters:     params.BucketParameters(),
		AccessParameters:     params.AccessParameters(),
	}
}

// revision returns a value that changes with the configuration that appears in responses: endpoints, regions,
// addressing and authorities.
func (d *Driver) revision() string {
	type visible struct{ Endpoint, Region, Addressing, Authority string }
	all := map[string]visible{}
	for name, made := range d.backends.ByName {
		backend := made.config
		all[name] = visible{backend.publicEndpoint(backend.Region), backend.Region, string(backend.Addressing), made.authorities.PEM()}
	}
	revision, err := driverkit.Digest(all)
	if err != nil {
		return ""
	}
	return revision
}

// info describes a bucket of the backend.
func (b *backend) info(name, region string) driverkit.BucketInfo {
	return driverkit.BucketInfo{S3: &driverkit.S3Bucket{
		Name:     name,
		Endpoint: b.config.publicEndpoint(region),
		Region:   region,
		Style:    driverkit.AddressingStyle(b.config.Addressing),
	}}
}

// checkBucket returns an error for parameters that this backend cannot satisfy.
func (b *backend) checkBucket(want params.Bucket) error {
	if want.Backend != "" && want.Backend != b.name {
		return driverkit.InvalidArgument("parameter backend is %q, but the bucket ID belongs to backend %q", want.Backend, b.name)
	}
	if want.Region != "" && want.Region != b.config.Region && !b.buckets.Regional {
		return driverkit.InvalidArgument("parameter region is %q, but backend %s has only %q", want.Region, b.name, b.config.Region)
	}
	if (want.Zonegroup != "" || want.Placement != "") && !b.buckets.Placements {
		return driverkit.InvalidArgument("parameter zonegroup or placement is set, but backend %s, of type %s, supports neither", b.name, b.config.Type)
	}
	if b.kind.needsKMSKey && want.Encryption == params.EncryptionKMS && want.KMSKey == "" {
		return driverkit.InvalidArgument("parameter encryption is %q, but backend %s, of type %s, also requires kmsKeyID", want.Encryption, b.name, b.config.Type)
	}
	if want.Events != nil && !b.buckets.QueueEvents {
		return driverkit.InvalidArgument("parameter eventQueue is set, but backend %s, of type %s, does not support event notifications to queues", b.name, b.config.Type)
	}
	if want.Quota != 0 && b.buckets.Quotas == nil {
		return driverkit.InvalidArgument("parameter quota is set, but backend %s, of type %s, does not support quotas", b.name, b.config.Type)
	}
	if want.QuotaObjects != 0 && !b.buckets.QuotasOfObjects {
		return driverkit.InvalidArgument("parameter quotaObjects is set, but backend %s, of type %s, cannot limit the number of objects", b.name, b.config.Type)
	}
	return nil
}
