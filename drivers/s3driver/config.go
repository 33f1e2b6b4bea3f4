// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/internal/settings"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// DefaultName is the driver's name unless the configuration gives another.
const DefaultName = "s3.cooper.dev"

// Config is the configuration of the driver, as its YAML file has it.
type Config struct {
	// DriverName is the name that classes use. Default: s3.cooper.dev.
	DriverName string `json:"driverName,omitempty"`
	// DefaultBackend is the backend of classes that name none, and of IDs without a backend's name.
	// Needed with more than one backend.
	DefaultBackend string `json:"defaultBackend,omitempty"`
	// Cluster, if set, is marked on everything that the driver makes, so that the clone of a
	// cluster, in which all objects have the same UIDs, does not take it for its own.
	Cluster string `json:"cluster,omitempty"`
	// Backends are the stores, by a name of lower-case letters, digits and '-'. Names are part of
	// the IDs of what was made there and must not change while it exists.
	Backends map[string]BackendConfig `json:"backends"`
	// RemovedBackends are names of stores that are gone for good, with everything that was made
	// there: what is deleted or revoked of it counts as done. Without this the driver refuses to
	// work when a backend that was used is missing.
	RemovedBackends []string `json:"removedBackends,omitempty"`
}

// BackendType says how a backend manages accounts.
type BackendType string

// The types of backends.
const (
	// TypeAWS is a store with the IAM API of AWS: AWS itself, or compatible.
	TypeAWS BackendType = "aws"
	// TypeMinIO is MinIO, with its admin API.
	TypeMinIO BackendType = "minio"
	// TypeVersityGW is versitygw with accounts of its own, through its admin API.
	TypeVersityGW BackendType = "versitygw"
	// TypeStatic is a store without accounts, with one key pair for all workloads.
	TypeStatic BackendType = "static"
)

func backendTypes() []BackendType {
	return []BackendType{TypeAWS, TypeMinIO, TypeVersityGW, TypeStatic}
}

// Addressing is the place of the bucket name in a URL.
type Addressing string

// The addressing styles.
const (
	AddressingPath    Addressing = "path"
	AddressingVirtual Addressing = "virtual"
)

// BackendConfig is one store.
type BackendConfig struct {
	// Type is how the store manages accounts: aws (IAM), minio (its admin API), versitygw (its admin API) or static (none:
	// one key pair for all).
	Type BackendType `json:"type"`
	// Endpoint is the URL of the store. Empty means AWS.
	Endpoint string `json:"endpoint,omitempty"`
	// PublicEndpoint is the URL that workloads get, if they reach the store by another one.
	PublicEndpoint string `json:"publicEndpoint,omitempty"`
	// Region of buckets whose class names none. Default: us-east-1.
	Region string `json:"region,omitempty"`
	// Addressing is path or virtual. Default: virtual for AWS, path for an endpoint.
	Addressing Addressing `json:"addressing,omitempty"`
	// CAFile is a PEM file with the certificates that may have signed the endpoint's. Workloads get
	// them too. Default: the system's.
	CAFile string `json:"caFile,omitempty"`
	// Credentials are the driver's own. Default: what the AWS SDK finds in its environment.
	Credentials CredentialsConfig `json:"credentials,omitzero"`
	// IAM configures the accounts of type aws.
	IAM IAMConfig `json:"iam,omitzero"`
	// AdminEndpoint is the URL of the admin API of types minio and versitygw. Default: the endpoint.
	AdminEndpoint string `json:"adminEndpoint,omitempty"`
	// Workloads is the key pair that type static gives to workloads.
	Workloads CredentialsConfig `json:"workloads,omitzero"`
}

// CredentialsConfig says where the driver's own credential at a store is. Both files are read again
// when they change.
type CredentialsConfig struct {
	// AccessKeyIDFile holds the access key ID.
	AccessKeyIDFile string `json:"accessKeyIDFile,omitempty"`
	// SecretAccessKeyFile holds the secret key.
	SecretAccessKeyFile string `json:"secretAccessKeyFile,omitempty"`
	// AccessKeyID is the access key ID itself, for programs and environment variables.
	AccessKeyID string `json:"-"`
	// SecretAccessKey is the secret key itself.
	SecretAccessKey cosi.Secret `json:"-"`
}

// IAMConfig is where and how IAM users are made.
type IAMConfig struct {
	// Endpoint is the URL of the IAM API. Default: AWS, or the endpoint of the store.
	Endpoint string `json:"endpoint,omitempty"`
	// Region is what calls of the IAM API at an endpoint of one's own are signed for. Default: where
	// the partition has its IAM, us-east-1 for aws.
	Region string `json:"region,omitempty"`
	// Partition is the second part of ARNs: aws, aws-cn, aws-us-gov. Default: aws.
	Partition string `json:"partition,omitempty"`
	// Path groups the users, so that the driver's own rights can be limited to it. Default:
	// /cosi/<driver name>/.
	Path string `json:"path,omitempty"`
	// PermissionsBoundary is the ARN of a policy that bounds every user.
	PermissionsBoundary string `json:"permissionsBoundary,omitempty"`
	// ServiceAccounts lets workloads authenticate as their Kubernetes service account. Unset, only
	// keys are given out.
	ServiceAccounts ServiceAccountsConfig `json:"serviceAccounts,omitzero"`
}

// ServiceAccountsConfig says how pods of a cluster get an IAM role: by EKS Pod Identity, by their
// token, or by either.
type ServiceAccountsConfig struct {
	// EKSCluster is the name of the cluster at EKS, which gives its pods their roles (Pod Identity).
	EKSCluster string `json:"eksCluster,omitempty"`
	// EKSEndpoint is the URL of the EKS API. Default: AWS, or the endpoint of the store.
	EKSEndpoint string `json:"eksEndpoint,omitempty"`
	// OIDCProvider is the ARN of IAM's OpenID Connect provider of the cluster, whose tokens pods
	// exchange for their role.
	OIDCProvider string `json:"oidcProvider,omitempty"`
	// Audience is whom those tokens must be for. Default: sts.amazonaws.com.
	Audience string `json:"audience,omitempty"`
	// RolePrefix begins the names of roles, which are <prefix>.<namespace>.<service account>. The
	// drivers and clusters of one AWS account need different ones. Default: the cluster mark, or
	// cosi without one.
	RolePrefix string `json:"rolePrefix,omitempty"`
}

// enabled says whether workloads can authenticate as their service account.
func (s ServiceAccountsConfig) enabled() bool { return s.EKSCluster != "" || s.OIDCProvider != "" }

// ParseConfig reads the YAML of a configuration file, fills in defaults and validates it. Unknown
// fields are errors.
func ParseConfig(data []byte) (Config, error) { return settings.Parse(data, Config.complete) }

// ReadConfig reads a configuration file.
func ReadConfig(file string) (Config, error) { return settings.Read(file, ParseConfig) }

// complete fills in defaults and then says everything that is wrong, each with its field.
func (c Config) complete() (Config, error) {
	if c.DriverName == "" {
		c.DriverName = DefaultName
	}
	c.DefaultBackend = c.named().DefaultName()
	backends := make(map[string]BackendConfig, len(c.Backends))
	var problems []error
	for _, name := range c.named().Names() {
		backend := c.Backends[name].withDefaults(c)
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
	iamPathPattern = regexp.MustCompile(`^/([[:graph:]]*/)?$`)

	oidcProviderPattern = regexp.MustCompile(`^arn:[a-z-]+:iam::\d*:oidc-provider/.+$`)
	rolePrefixPattern   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?$`)
)

func (c Config) validate() []error {
	var problems []error
	if err := cosi.ValidateDriverName(c.DriverName); err != nil {
		problems = append(problems, fmt.Errorf("driverName: %w", err))
	}
	problems = append(problems, c.named().Check()...)
	for _, name := range c.RemovedBackends {
		if _, configured := c.Backends[name]; configured {
			problems = append(problems, fmt.Errorf("removedBackends: %q is one of the backends", name))
		}
	}
	return problems
}

// named are the configured backends.
func (c Config) named() driverkit.Backends[BackendConfig] {
	return driverkit.Backends[BackendConfig]{Default: c.DefaultBackend, ByName: c.Backends}
}

func (b BackendConfig) withDefaults(config Config) BackendConfig {
	setDefault(&b.Region, "us-east-1")
	switch b.Type {
	case TypeAWS:
		setDefault(&b.IAM.Partition, "aws")
		setDefault(&b.IAM.Path, "/cosi/"+config.DriverName+"/")
		setDefault(&b.IAM.Endpoint, b.Endpoint)
		if accounts := &b.IAM.ServiceAccounts; accounts.enabled() {
			setDefault(&accounts.EKSEndpoint, b.Endpoint)
			setDefault(&accounts.Audience, "sts.amazonaws.com")
			setDefault(&accounts.RolePrefix, config.Cluster)
			setDefault(&accounts.RolePrefix, "cosi")
		}
	case TypeMinIO, TypeVersityGW:
		setDefault(&b.AdminEndpoint, b.Endpoint)
	case TypeStatic:
	}
	if b.Endpoint == "" {
		setDefault(&b.Addressing, AddressingVirtual)
	}
	setDefault(&b.Addressing, AddressingPath)
	return b
}

func setDefault[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

func (b BackendConfig) validate(field string) []error {
	var problems []error
	bad := func(name, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s.%s: %w", field, name, fmt.Errorf(format, args...)))
	}
	b.validateAccounts(bad)
	b.IAM.ServiceAccounts.validate(bad)
	b.validateEndpoints(bad)
	return problems
}

// validateAccounts checks what the type needs and what only it may have.
func (b BackendConfig) validateAccounts(bad func(name, format string, args ...any)) {
	if !slices.Contains(backendTypes(), b.Type) {
		bad("type", "%q is not one of: %s", b.Type, joinTypes(backendTypes()))
		return // what else is needed depends on it
	}
	if b.Type != TypeAWS && b.Endpoint == "" {
		bad("endpoint", "is needed for type %s", b.Type)
	}
	if b.Type != TypeAWS && b.Credentials.provider() == nil {
		bad("credentials", "are needed for type %s", b.Type)
	}
	b.validateWorkloads(bad)
	if err := b.Credentials.check(); err != nil {
		bad("credentials", "%v", err)
	}
	if b.Type != TypeAWS && b.IAM != (IAMConfig{}) {
		bad("iam", "is for type aws only")
	}
	// A managed policy is below the path, in one of its own with the user's name.
	if b.Type == TypeAWS && (!iamPathPattern.MatchString(b.IAM.Path) || len(b.IAM.Path) > 512-maxAccountName) {
		bad("iam.path", "%q must begin and end with '/'", b.IAM.Path)
	}
	if arn := b.IAM.PermissionsBoundary; arn != "" && !strings.HasPrefix(arn, "arn:") {
		bad("iam.permissionsBoundary", "%q is not the ARN of a policy", arn)
	}
}

// validateWorkloads checks the key pair that all workloads of a store without accounts share.
func (b BackendConfig) validateWorkloads(bad func(name, format string, args ...any)) {
	switch given := b.Workloads.provider() != nil; {
	case b.Type == TypeStatic && !given:
		bad("workloads", "is needed for type static: the key pair that its workloads get")
	case b.Type != TypeStatic && given:
		bad("workloads", "is for type static only: with type %s each access gets a key pair of its own", b.Type)
	}
	if err := b.Workloads.check(); err != nil {
		bad("workloads", "%v", err)
	}
}

// validate checks how pods get a role.
func (s ServiceAccountsConfig) validate(bad func(name, format string, args ...any)) {
	if s == (ServiceAccountsConfig{}) {
		return
	}
	if !s.enabled() {
		bad("iam.serviceAccounts", "needs eksCluster, oidcProvider or both")
	}
	if s.OIDCProvider != "" && !oidcProviderPattern.MatchString(s.OIDCProvider) {
		bad("iam.serviceAccounts.oidcProvider", "%q is not the ARN of an OpenID Connect provider, such as arn:aws:iam::111122223333:oidc-provider/oidc.example.com/id", s.OIDCProvider)
	}
	if s.enabled() && !rolePrefixPattern.MatchString(s.RolePrefix) {
		bad("iam.serviceAccounts.rolePrefix", "%q must be 1 to 24 lower-case letters, digits and '-'", s.RolePrefix)
	}
}

// validateEndpoints checks how the store is reached.
func (b BackendConfig) validateEndpoints(bad func(name, format string, args ...any)) {
	if b.Addressing != AddressingPath && b.Addressing != AddressingVirtual {
		bad("addressing", "%q is not one of: path, virtual", b.Addressing)
	}
	endpoints := map[string]string{
		"endpoint": b.Endpoint, "publicEndpoint": b.PublicEndpoint, "adminEndpoint": b.AdminEndpoint,
		"iam.endpoint": b.IAM.Endpoint, "iam.serviceAccounts.eksEndpoint": b.IAM.ServiceAccounts.EKSEndpoint,
	}
	for name, value := range endpoints {
		if err := driverkit.CheckEndpoint(value, "https://s3.example.com"); err != nil {
			bad(name, "%v", err)
		}
	}
	if b.CAFile != "" && strings.HasPrefix(b.Endpoint, "http://") {
		bad("caFile", "is set, but the endpoint %s has no TLS", b.Endpoint)
	}
	if _, err := driverkit.CertificateAuthorities(b.CAFile); err != nil {
		bad("caFile", "%v", err)
	}
}

func joinTypes(types []BackendType) string {
	var names []string
	for _, one := range types {
		names = append(names, string(one))
	}
	return strings.Join(names, ", ")
}

// publicEndpoint is the URL for workloads in a region.
func (b BackendConfig) publicEndpoint(region string) string {
	switch {
	case b.PublicEndpoint != "":
		return strings.TrimRight(b.PublicEndpoint, "/")
	case b.Endpoint != "":
		return strings.TrimRight(b.Endpoint, "/")
	case b.IAM.Partition == "aws-cn":
		return "https://s3." + region + ".amazonaws.com.cn"
	default:
		return "https://s3." + region + ".amazonaws.com"
	}
}
