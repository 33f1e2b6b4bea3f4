// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// complete fills in defaults and then says everything that is wrong, each with its field.
func (c Config) complete() (Config, error) {
	setDefault(&c.DriverName, DefaultName)
	c.DefaultBackend = c.named().DefaultName()
	backends := make(map[string]BackendConfig, len(c.Backends))
	var problems []error
	for _, name := range c.named().Names() {
		backend := c.Backends[name].withDefaults()
		backends[name] = backend
		problems = append(problems, backend.validate("backends."+name)...)
	}
	c.Backends = backends
	problems = append(problems, c.validate()...)
	if err := errors.Join(problems...); err != nil {
		return Config{}, err
	}
	return c, nil
}

var (
	clusterPattern = regexp.MustCompile(`^[a-z0-9_-]{0,63}$`)
	// projectPattern is a project ID, with the domain in front that old ones have.
	projectPattern  = regexp.MustCompile(`^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	locationPattern = regexp.MustCompile(`^[A-Za-z0-9-]{2,40}$`)
	poolPattern     = regexp.MustCompile(`^projects/[0-9]+/locations/global/workloadIdentityPools/[a-z0-9.:-]+$`)
)

func (c Config) validate() []error {
	var problems []error
	if err := cosi.ValidateDriverName(c.DriverName); err != nil {
		problems = append(problems, fmt.Errorf("driverName: %w", err))
	}
	if !clusterPattern.MatchString(c.Cluster) {
		problems = append(problems, fmt.Errorf("cluster: %q must be at most 63 lower-case letters, digits, '-' and '_'", c.Cluster))
	}
	problems = append(problems, c.named().Check()...)
	return problems
}

// named are the configured backends.
func (c Config) named() driverkit.Backends[BackendConfig] {
	return driverkit.Backends[BackendConfig]{Default: c.DefaultBackend, ByName: c.Backends}
}

func (b BackendConfig) withDefaults() BackendConfig {
	setDefault(&b.Location, "US")
	setDefault(&b.IAMEndpoint, b.Endpoint)
	switch {
	case b.WorkloadIdentity.Pool == "":
	case strings.HasSuffix(b.WorkloadIdentity.Pool, ".svc.id.goog"):
		setDefault(&b.WorkloadIdentity.Subject, "ns/{namespace}/sa/{name}")
	default:
		setDefault(&b.WorkloadIdentity.Subject, "system:serviceaccount:{namespace}:{name}")
	}
	return b
}

func setDefault(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func (b BackendConfig) validate(field string) []error {
	var problems []error
	bad := func(name, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s.%s: %w", field, name, fmt.Errorf(format, args...)))
	}
	if !projectPattern.MatchString(b.Project) {
		bad("project", "%q is not the ID of a project, which has 6 to 30 lower-case letters, digits and '-'", b.Project)
	}
	if !locationPattern.MatchString(b.Location) {
		bad("location", "%q is not a location such as EU or EUROPE-WEST1", b.Location)
	}
	b.validateEndpoints(bad)
	b.WorkloadIdentity.validate(bad)
	if b.WithoutAccounts && (b.Endpoint == "" || b.CredentialsFile != "" || b.WorkloadIdentity.Pool != "") {
		bad("withoutAccounts", "is for emulators: it needs an endpoint, and neither credentialsFile nor workloadIdentity")
	}
	wrong := b.Roles.table().Check()
	for _, role := range slices.Sorted(maps.Keys(wrong)) {
		bad("roles."+role, "%v", wrong[role])
	}
	return problems
}

func (b BackendConfig) validateEndpoints(bad func(name, format string, args ...any)) {
	for _, endpoint := range []struct{ name, value string }{{"endpoint", b.Endpoint}, {"iamEndpoint", b.IAMEndpoint}} {
		if err := driverkit.CheckEndpoint(endpoint.value, "https://storage.googleapis.com"); err != nil {
			bad(endpoint.name, "%v", err)
		}
	}
	if b.CAFile != "" && strings.HasPrefix(b.Endpoint, "http://") {
		bad("caFile", "is set, but the endpoint %s has no TLS", b.Endpoint)
	}
	if _, err := driverkit.CertificateAuthorities(b.CAFile); err != nil {
		bad("caFile", "%v", err)
	}
}

func (w WorkloadIdentityConfig) validate(bad func(name, format string, args ...any)) {
	switch {
	case w == WorkloadIdentityConfig{}:
	case !poolPattern.MatchString(w.Pool):
		bad("workloadIdentity.pool", "%q is not the full name of a pool, projects/NUMBER/locations/global/workloadIdentityPools/POOL", w.Pool)
	case !strings.Contains(w.Subject, "{namespace}") || !strings.Contains(w.Subject, "{name}"):
		bad("workloadIdentity.subject", "%q must have {namespace} and {name} in it, or it would stand for other service accounts too", w.Subject)
	}
}
