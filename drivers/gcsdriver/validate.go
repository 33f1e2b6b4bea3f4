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
	"github.com/cooper-cosi/cooper/drivers/settings"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// complete fills in defaults and then returns all errors, each with its field.
func (c Config) complete() (Config, error) {
	settings.Default(&c.DriverName, DefaultName)
	c.DefaultBackend = c.named().DefaultName()
	var problems []error
	c.Backends, problems = settings.Complete("backends", c.Backends, BackendConfig.withDefaults, BackendConfig.validate)
	problems = append(problems, c.validate()...)
	if err := errors.Join(problems...); err != nil {
		return Config{}, err
	}
	return c, nil
}

var (
	clusterPattern = regexp.MustCompile(`^[a-z0-9_-]{0,63}$`)
	// projectPattern matches a project ID, optionally prefixed by a domain as in old projects.
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

// named returns the configured backends.
func (c Config) named() driverkit.Backends[BackendConfig] {
	return driverkit.Backends[BackendConfig]{Default: c.DefaultBackend, ByName: c.Backends}
}

func (b BackendConfig) withDefaults() BackendConfig {
	settings.Default(&b.Location, "US")
	settings.Default(&b.IAMEndpoint, b.Endpoint)
	if b.Endpoint == "" {
		settings.Default(&b.ReadLag, settings.CloudReadLag)
	}
	switch {
	case b.WorkloadIdentity.Pool == "":
	case strings.HasSuffix(b.WorkloadIdentity.Pool, ".svc.id.goog"):
		settings.Default(&b.WorkloadIdentity.Subject, "ns/{namespace}/sa/{name}")
	default:
		settings.Default(&b.WorkloadIdentity.Subject, "system:serviceaccount:{namespace}:{name}")
	}
	return b
}

func (b BackendConfig) validate(bad settings.Bad) {
	if !projectPattern.MatchString(b.Project) {
		bad("project", "%q is not the ID of a project, which has 6 to 30 lower-case letters, digits and '-'", b.Project)
	}
	if !locationPattern.MatchString(b.Location) {
		bad("location", "%q is not a location such as EU or EUROPE-WEST1", b.Location)
	}
	b.ReadLag.Check(bad)
	b.reach().Check(bad, "https://storage.googleapis.com")
	b.WorkloadIdentity.validate(bad)
	if b.WithoutAccounts && (b.Endpoint == "" || b.CredentialsFile != "" || b.WorkloadIdentity.Pool != "") {
		bad("withoutAccounts", "is only for emulators: it requires an endpoint, and excludes credentialsFile and workloadIdentity")
	}
	wrong := b.Roles.table().Check()
	for _, role := range slices.Sorted(maps.Keys(wrong)) {
		bad("roles."+role, "%v", wrong[role])
	}
}

// reach returns how the backends are reached, by name.
func (c Config) reach() map[string]settings.Reach {
	all := map[string]settings.Reach{}
	for name, backend := range c.Backends {
		all[name] = backend.reach()
	}
	return all
}

func (b BackendConfig) reach() settings.Reach {
	return settings.Reach{CAFile: b.CAFile, Insecure: b.Insecure, Endpoints: map[string]string{"endpoint": b.Endpoint, "iamEndpoint": b.IAMEndpoint}}
}

func (w WorkloadIdentityConfig) validate(bad settings.Bad) {
	switch {
	case w == WorkloadIdentityConfig{}:
	case !poolPattern.MatchString(w.Pool):
		bad("workloadIdentity.pool", "%q is not the full name of a pool, projects/NUMBER/locations/global/workloadIdentityPools/POOL", w.Pool)
	case !strings.Contains(w.Subject, "{namespace}") || !strings.Contains(w.Subject, "{name}"):
		bad("workloadIdentity.subject", "%q must contain {namespace} and {name}; otherwise, it would include other service accounts", w.Subject)
	}
}
