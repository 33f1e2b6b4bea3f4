// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account/principal"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account/serviceaccount"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/bucket"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
)

// Options are the arguments of New.
type Options struct {
	// Config is the configuration. New fills in its defaults.
	Config Config
	// Credentials stores credentials that Google shows only once. Required.
	Credentials credentials.Store
	// WrapTransport, if set, wraps the transport of every call to Google, to observe calls or to inject failures.
	WrapTransport func(http.RoundTripper) http.RoundTripper
	// Registerer registers the metrics of calls to Google. Default: none.
	Registerer prometheus.Registerer
	// TracerProvider creates a span for each call to Google. Default: OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
}

// Driver implements driverkit.Driver and driverkit.IDGenerator.
type Driver struct {
	config   Config
	backends driverkit.Backends[*backend]
}

var (
	_ driverkit.Driver      = (*Driver)(nil)
	_ driverkit.IDGenerator = (*Driver)(nil)

	_ driverkit.BackendsChecker = (*Driver)(nil)
	_ driverkit.PairGranter     = (*Driver)(nil)
)

// backend is one configured project.
type backend struct {
	name        string
	config      BackendConfig
	authorities *driverkit.Authorities
	roles       policy.Roles
	buckets     *bucket.Store
	accounts    *serviceaccount.Accounts
	principals  *principal.Principals
}

// New returns a driver. It makes no calls, so an endpoint that is down does not prevent the driver from starting.
func New(options Options) (*Driver, error) {
	config, err := options.Config.complete()
	if err != nil {
		return nil, fmt.Errorf("create the GCS driver: %w", err)
	}
	options.Config = config
	if options.Credentials == nil {
		return nil, errors.New("create the GCS driver: Options.Credentials is required")
	}
	driver := &Driver{config: config, backends: driverkit.Backends[*backend]{Default: config.DefaultBackend, ByName: map[string]*backend{}}}
	calls, err := driverkit.NewBackendCalls(driverkit.BackendCallsOptions{
		DriverName: config.DriverName, Registerer: options.Registerer, TracerProvider: options.TracerProvider, Name: callName,
	})
	if err != nil {
		return nil, err
	}
	for name := range config.Backends {
		wrap := func(next http.RoundTripper) http.RoundTripper {
			if options.WrapTransport != nil {
				next = options.WrapTransport(next)
			}
			return calls.Wrap(name, next)
		}
		made, err := newBackend(options, name, wrap)
		if err != nil {
			return nil, fmt.Errorf("set up backend %s: %w", name, err)
		}
		driver.backends.ByName[name] = made
	}
	return driver, nil
}

type wrapTransport func(http.RoundTripper) http.RoundTripper

func newBackend(options Options, name string, wrap wrapTransport) (*backend, error) {
	config, settings := options.Config, options.Config.Backends[name]
	authorities, err := driverkit.OpenAuthorities(settings.CAFile)
	if err != nil {
		return nil, err
	}
	clients, err := newClients(context.Background(), settings, authorities, wrap)
	if err != nil {
		return nil, err
	}
	project := &account.Project{
		ID: settings.Project, IAM: clients.iam, Storage: clients.storage, Policies: bucket.NewPolicyEditor(clients.storage),
		Store: options.Credentials, Driver: config.DriverName, Cluster: config.Cluster, ReadLag: settings.ReadLag.Duration(),
	}
	return &backend{
		name:        name,
		config:      settings,
		authorities: authorities,
		roles:       settings.Roles.table().Defaults(),
		buckets: &bucket.Store{
			API: clients.storage, Project: settings.Project, Location: settings.Location,
			Driver: config.DriverName, Cluster: config.Cluster, Unmarked: settings.WithoutAccounts, ReadLag: settings.ReadLag.Duration(),
		},
		accounts:   &serviceaccount.Accounts{Project: project},
		principals: &principal.Principals{Project: project},
	}, nil
}

// Info implements driverkit.Driver. It includes ServiceAccount if any backend supports it.
func (d *Driver) Info() driverkit.Info {
	authTypes := []driverkit.AuthType{driverkit.Key}
	for _, backend := range d.config.Backends {
		if backend.WorkloadIdentity.Pool != "" && len(authTypes) == 1 {
			authTypes = append(authTypes, driverkit.ServiceAccount)
		}
	}
	return driverkit.Info{
		Name:                 d.config.DriverName,
		Revision:             d.revision(),
		Protocols:            []driverkit.Protocol{driverkit.GCS},
		AuthTypes:            authTypes,
		MultiBucket:          authTypes,
		Modes:                policy.Modes(),
		KeepsDisallowedModes: true,
		BucketParameters:     params.BucketParameters(),
		AccessParameters:     params.AccessParameters(),
	}
}

// revision returns a value that changes with the configuration that appears in responses: projects and certificate
// authorities. It also covers the roles, so that a change of roles is applied to existing accesses.
func (d *Driver) revision() string {
	type visible struct {
		Project, Authority string
		Roles              RolesConfig
	}
	all := map[string]visible{}
	for name, made := range d.backends.ByName {
		all[name] = visible{made.config.Project, made.authorities.PEM(), made.config.Roles}
	}
	revision, err := driverkit.Digest(all)
	if err != nil {
		return ""
	}
	return revision
}

// S3Endpoint implements driverkit.PairGranter. It returns the endpoint of the XML API.
func (d *Driver) S3Endpoint(bucketID string) string {
	backend, _ := d.backends.SplitID(bucketID)
	return cmp.Or(backend.config.Endpoint, "https://storage.googleapis.com")
}

// info describes a bucket of the backend.
func (b *backend) info(name string) driverkit.BucketInfo {
	return driverkit.BucketInfo{GCS: &driverkit.GCSBucket{ProjectID: b.config.Project, BucketName: name}}
}
