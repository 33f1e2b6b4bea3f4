// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/s3driver/s3store"
	"github.com/cooper-cosi/cooper/drivers/settings"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// complete fills in defaults and then returns all errors, each with its field. more are types in addition to the
// built-in ones.
func (c Config) complete(more map[BackendType]s3store.Type) (Config, error) {
	types := storeTypes(more)
	settings.Default(&c.DriverName, DefaultName)
	c.DefaultBackend = c.named().DefaultName()
	var problems []error
	c.Backends, problems = settings.Complete("backends", c.Backends,
		func(b BackendConfig) BackendConfig { return b.withDefaults(c, types[b.Type]) },
		func(b BackendConfig, bad settings.Bad) { b.validate(types, bad) })
	problems = append(problems, c.validate()...)
	for _, name := range typeNames(storeTypes(nil)) {
		if _, taken := more[BackendType(name)]; taken {
			problems = append(problems, fmt.Errorf("type %s is already a type of the driver; use another name", name))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return Config{}, err
	}
	return c, nil
}

// typeNames returns the values of the field type.
func typeNames(types map[BackendType]storeType) []string {
	all := make([]string, 0, len(types))
	for name := range types {
		all = append(all, string(name))
	}
	slices.Sort(all)
	return all
}

// partitionOf returns the AWS partition of a region.
func partitionOf(region string) string {
	for _, partition := range []string{"aws-cn", "aws-eusc", "aws-us-gov"} {
		if strings.HasPrefix(region, strings.TrimPrefix(partition, "aws-")+"-") {
			return partition
		}
	}
	return "aws"
}

var (
	accountPattern = regexp.MustCompile(`^\d{12}$`)
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
	for name, backend := range c.Backends {
		if backend.IAM.ServiceAccounts.enabled() && c.Cluster == "" {
			problems = append(problems, fmt.Errorf("cluster: is required with backends.%s.iam.serviceAccounts, and must be unique in the AWS account: "+
				"without it, clusters share the roles of service accounts with the same name", name))
		}
	}
	for _, name := range c.RemovedBackends {
		if _, configured := c.Backends[name]; configured {
			problems = append(problems, fmt.Errorf("removedBackends: %q is one of the backends", name))
		}
	}
	return problems
}

// named returns the configured backends.
func (c Config) named() driverkit.Backends[BackendConfig] {
	return driverkit.Backends[BackendConfig]{Default: c.DefaultBackend, ByName: c.Backends}
}

func (b BackendConfig) withDefaults(config Config, kind storeType) BackendConfig {
	settings.Default(&b.Region, "us-east-1")
	if !kind.iam {
		settings.Default(&b.AdminEndpoint, b.Endpoint)
	} else {
		if b.Endpoint == "" {
			settings.Default(&b.IAM.Partition, partitionOf(b.Region))
		}
		settings.Default(&b.IAM.Partition, "aws")
		settings.Default(&b.IAM.Path, "/cosi/"+config.DriverName+"/")
		settings.Default(&b.IAM.Endpoint, b.Endpoint)
		if accounts := &b.IAM.ServiceAccounts; accounts.enabled() {
			settings.Default(&accounts.EKSEndpoint, b.Endpoint)
			settings.Default(&accounts.Audience, "sts.amazonaws.com")
			settings.Default(&accounts.RolePrefix, config.Cluster)
		}
	}
	if b.Endpoint == "" {
		settings.Default(&b.ReadLag, settings.CloudReadLag)
		settings.Default(&b.Addressing, AddressingVirtual)
	}
	settings.Default(&b.Addressing, AddressingPath)
	return b
}

func (b BackendConfig) validate(types map[BackendType]storeType, bad settings.Bad) {
	b.validateAccounts(types, bad)
	b.IAM.ServiceAccounts.validate(bad)
	if b.Addressing != AddressingPath && b.Addressing != AddressingVirtual {
		bad("addressing", "%q is not one of: path, virtual", b.Addressing)
	}
	b.ReadLag.Check(bad)
	if types[b.Type].sharesPolicies && b.ReadLag.Duration() > 0 {
		bad("readLag", "must not be set for type %s: each access reads, changes and writes the bucket policy, and a stale read would drop the statements of other accesses", b.Type)
	}
	b.reach().Check(bad, "https://s3.example.com")
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
	endpoints := map[string]string{
		"endpoint": b.Endpoint, "publicEndpoint": b.PublicEndpoint, "adminEndpoint": b.AdminEndpoint,
		"iam.endpoint": b.IAM.Endpoint, "iam.serviceAccounts.eksEndpoint": b.IAM.ServiceAccounts.EKSEndpoint,
	}
	if b.Credentials.provider() == nil {
		// The SDK reads these from the same sources as the credentials.
		for _, service := range []string{"", "_S3", "_IAM", "_STS", "_EKS"} {
			endpoints["AWS_ENDPOINT_URL"+service] = os.Getenv("AWS_ENDPOINT_URL" + service)
		}
	}
	return settings.Reach{CAFile: b.CAFile, Insecure: b.Insecure, Endpoints: endpoints}
}

// validateAccounts checks the settings that the type requires and those that only it may have.
func (b BackendConfig) validateAccounts(types map[BackendType]storeType, bad settings.Bad) {
	kind, known := types[b.Type]
	if !known {
		bad("type", "%q is not one of: %s", b.Type, strings.Join(typeNames(types), ", "))
		return // the other requirements depend on the type
	}
	if !kind.iam && b.Endpoint == "" {
		bad("endpoint", "is required for type %s", b.Type)
	}
	if !kind.iam && b.Credentials.provider() == nil {
		bad("credentials", "are required for type %s", b.Type)
	}
	b.validateWorkloads(kind, bad)
	if err := b.Credentials.check(); err != nil {
		bad("credentials", "%v", err)
	}
	if !kind.iam && b.IAM != (IAMConfig{}) {
		bad("iam", "is only for type aws")
	}
	// A managed policy is in a separate path below this one, which ends with the user's name.
	if kind.iam && (!iamPathPattern.MatchString(b.IAM.Path) || len(b.IAM.Path) > 512-names.MaxAccount) {
		bad("iam.path", "%q must begin and end with '/'", b.IAM.Path)
	}
	if b.AccountID != "" && !(kind.iam && accountPattern.MatchString(b.AccountID)) {
		bad("accountID", "%q must be the 12 digits of an AWS account, and is only for type aws", b.AccountID)
	}
	if arn := b.IAM.PermissionsBoundary; arn != "" && !strings.HasPrefix(arn, "arn:") {
		bad("iam.permissionsBoundary", "%q is not the ARN of a policy", arn)
	}
}

// validateWorkloads checks the key pair that all workloads of a store without accounts share.
func (b BackendConfig) validateWorkloads(kind storeType, bad settings.Bad) {
	switch given := b.Workloads.provider() != nil; {
	case kind.sharedKey && !given:
		bad("workloads", "is required for type static: the key pair for its workloads")
	case !kind.sharedKey && given:
		bad("workloads", "is only for type static: with type %s, each access gets its own key pair", b.Type)
	}
	if err := b.Workloads.check(); err != nil {
		bad("workloads", "%v", err)
	}
	if b.Workloads.SessionTokenFile != "" {
		bad("workloads.sessionTokenFile", "is only for the driver's own credentials: workloads need a key that does not expire")
	}
}

// validate checks how pods get a role.
func (s ServiceAccountsConfig) validate(bad settings.Bad) {
	if s == (ServiceAccountsConfig{}) {
		return
	}
	if !s.enabled() {
		bad("iam.serviceAccounts", "requires eksCluster, oidcProvider or both")
	}
	if s.OIDCProvider != "" && !oidcProviderPattern.MatchString(s.OIDCProvider) {
		bad("iam.serviceAccounts.oidcProvider", "%q is not the ARN of an OpenID Connect provider, such as arn:aws:iam::111122223333:oidc-provider/oidc.example.com/id", s.OIDCProvider)
	}
	if s.enabled() && !rolePrefixPattern.MatchString(s.RolePrefix) {
		bad("iam.serviceAccounts.rolePrefix", "%q must be 1 to 24 lower-case letters, digits and '-'", s.RolePrefix)
	}
}

// check returns an error if only one half of a key pair is given.
func (c CredentialsConfig) check() error {
	switch {
	case (c.AccessKeyIDFile == "") != (c.SecretAccessKeyFile == ""):
		return errors.New("accessKeyIDFile and secretAccessKeyFile require each other")
	case c.SessionTokenFile != "" && c.AccessKeyIDFile == "":
		return errors.New("sessionTokenFile requires accessKeyIDFile and secretAccessKeyFile")
	case (c.AccessKeyID == "") != c.SecretAccessKey.IsZero():
		return errors.New("the access key ID and the secret key require each other")
	case c.AccessKeyID != "" && c.AccessKeyIDFile != "":
		return errors.New("the key pair is set both directly and with files; use one")
	}
	return nil
}
