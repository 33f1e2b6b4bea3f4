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
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/roles"
	"github.com/cooper-cosi/cooper/drivers/internal/settings"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// DefaultName is the driver's name unless the configuration gives another.
const DefaultName = "gcs.cooper.dev"

// Config is the configuration of the driver, as its YAML file has it.
type Config struct {
	// DriverName is the name that classes use. Default: gcs.cooper.dev.
	DriverName string `json:"driverName,omitempty"`
	// DefaultBackend is the backend of classes that name none, and of IDs without a backend's name.
	// Needed with more than one backend.
	DefaultBackend string `json:"defaultBackend,omitempty"`
	// Cluster, if set, is marked on everything that the driver makes, so that the clone of a
	// cluster, in which all objects have the same UIDs, does not take it for its own. Lower-case
	// letters, digits, '-' and '_', at most 63.
	Cluster string `json:"cluster,omitempty"`
	// Backends are the projects, by a name of lower-case letters, digits and '-'. Names are part of
	// the IDs of what was made there and must not change while it exists.
	Backends map[string]BackendConfig `json:"backends"`
}

// BackendConfig is one project.
type BackendConfig struct {
	// Project is the ID of the project in which buckets and service accounts are made.
	Project string `json:"project"`
	// Location of buckets whose class names none. Default: US.
	Location string `json:"location,omitempty"`
	// CredentialsFile is a JSON file with the driver's own credentials, as Google makes it: a service
	// account key or a configuration of workload identity federation. It is read again when it
	// changes. Default: application default credentials, such as those of the Pod on GKE.
	CredentialsFile string `json:"credentialsFile,omitempty"`
	// Endpoint is the URL of Cloud Storage. Default: Google's.
	Endpoint string `json:"endpoint,omitempty"`
	// IAMEndpoint is the URL of the IAM API. Default: Google's, or the endpoint if that is set.
	IAMEndpoint string `json:"iamEndpoint,omitempty"`
	// CAFile is a PEM file with the certificates that may have signed those of the endpoints.
	// Workloads get them too. Default: the system's.
	CAFile string `json:"caFile,omitempty"`
	// WithoutAccounts is for an emulator that knows neither accounts nor labels, such as
	// fake-gcs-server: the driver sends no credentials, takes a bucket without labels for its own, and
	// refuses accesses. Needs an endpoint. Never set it for a store that others use.
	WithoutAccounts bool `json:"withoutAccounts,omitempty"`
	// WorkloadIdentity says how Google knows the service accounts of the cluster. Needed for
	// authentication type ServiceAccount.
	WorkloadIdentity WorkloadIdentityConfig `json:"workloadIdentity,omitzero"`
	// Roles replace Google's roles for access modes.
	Roles RolesConfig `json:"roles,omitzero"`
}

// WorkloadIdentityConfig is the workload identity pool of the cluster.
type WorkloadIdentityConfig struct {
	// Pool is the full name of the pool, with the number of its project:
	// projects/123456/locations/global/workloadIdentityPools/example.svc.id.goog for GKE.
	Pool string `json:"pool,omitempty"`
	// Subject is what a service account is called in the pool, with {namespace} and {name} in it.
	// Default: ns/{namespace}/sa/{name} for pools of GKE, system:serviceaccount:{namespace}:{name}
	// for others.
	Subject string `json:"subject,omitempty"`
}

// RolesConfig is the role for each access mode of each category. A role is Google's, such as
// roles/storage.objectUser, or a custom one, such as projects/example/roles/writer.
type RolesConfig struct {
	// ObjectData is about the contents of objects. Defaults: roles/storage.objectViewer,
	// objectCreator and objectUser.
	ObjectData ModesConfig `json:"objectData,omitzero"`
	// ObjectMetadata is about metadata of objects, where the role for their contents does not include
	// it. Default: none, which refuses such accesses.
	ObjectMetadata ModesConfig `json:"objectMetadata,omitzero"`
	// BucketMetadata is about the configuration of the bucket. Default: roles/storage.bucketViewer for
	// reading; none for writing, which refuses such accesses.
	BucketMetadata ModesConfig `json:"bucketMetadata,omitzero"`
}

// ModesConfig is the role for each access mode.
type ModesConfig struct {
	// ReadOnly is the role for reading.
	ReadOnly string `json:"readOnly,omitempty"`
	// WriteOnly is the role for writing.
	WriteOnly string `json:"writeOnly,omitempty"`
	// ReadWrite is the role for both.
	ReadWrite string `json:"readWrite,omitempty"`
}

func (r RolesConfig) table() roles.Table {
	return roles.Table{
		ObjectData: roles.ByMode(r.ObjectData), ObjectMetadata: roles.ByMode(r.ObjectMetadata), BucketMetadata: roles.ByMode(r.BucketMetadata),
	}
}

// ParseConfig reads the YAML of a configuration file, fills in defaults and validates it. Unknown
// fields are errors.
func ParseConfig(data []byte) (Config, error) { return settings.Parse(data, Config.complete) }

// ReadConfig reads a configuration file.
func ReadConfig(file string) (Config, error) { return settings.Read(file, ParseConfig) }

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

// principal is the member that stands for a Kubernetes service account in policies.
func (w WorkloadIdentityConfig) principal(namespace, name string) string {
	subject := strings.NewReplacer("{namespace}", namespace, "{name}", name).Replace(w.Subject)
	return "principal://iam.googleapis.com/" + w.Pool + "/subject/" + subject
}
