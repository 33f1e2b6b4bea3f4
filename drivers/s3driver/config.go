// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"strings"

	"github.com/cooper-cosi/cooper/drivers/settings"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// DefaultName is the default driver name.
const DefaultName = "s3.cooper.dev"

// Config is the configuration of the driver, in the format of its YAML file.
type Config struct {
	// DriverName is the name that classes use. Default: s3.cooper.dev.
	DriverName string `json:"driverName,omitempty"`
	// DefaultBackend is the backend of classes that name none, and of IDs without a backend's name.
	// Needed with more than one backend.
	DefaultBackend string `json:"defaultBackend,omitempty"`
	// Cluster, if set, is marked on everything that the driver makes, so that the clone of a
	// cluster, in which all objects have the same UIDs, does not take it for its own. Needed with iam.serviceAccounts.
	Cluster string `json:"cluster,omitempty"`
	// Backends are the stores, by a name of lower-case letters, digits and '-'. Names are part of
	// the IDs of what was made there and must not change while it exists.
	Backends map[string]BackendConfig `json:"backends"`
	// RemovedBackends are names of stores that are gone for good, with everything that was made
	// there: what is deleted or revoked of it counts as done. Without this the driver refuses to
	// work when a backend that was used is missing.
	RemovedBackends []string `json:"removedBackends,omitempty"`
}

// Addressing says where the bucket name appears in URLs.
type Addressing string

// The addressing styles.
const (
	AddressingPath    Addressing = "path"
	AddressingVirtual Addressing = "virtual"
)

// BackendConfig configures one store.
type BackendConfig struct {
	// Type is how the store manages accounts: aws (IAM), minio, rgw (Ceph) and versitygw (the admin API of each) or static
	// (none: one key pair for all).
	Type BackendType `json:"type"`
	// Endpoint is the URL of the store. Empty means AWS.
	Endpoint string `json:"endpoint,omitempty"`
	// PublicEndpoint is the URL that workloads get, if they reach the store by another one.
	PublicEndpoint string `json:"publicEndpoint,omitempty"`
	// AccountID is the number of the AWS account that has the buckets, for type aws: every call and every policy names it,
	// so that no bucket of another account is used for one of these. Default: that of the driver's own credentials for
	// AWS, and none with an endpoint, since other stores may not know the like.
	AccountID string `json:"accountID,omitempty"`
	// Region of buckets whose class names none. Default: us-east-1.
	Region string `json:"region,omitempty"`
	// Addressing is path or virtual. Default: virtual for AWS, path for an endpoint.
	Addressing Addressing `json:"addressing,omitempty"`
	// CAFile is a PEM file with the certificates that may have signed the endpoint's. Workloads get
	// them too. Default: the system's.
	CAFile string `json:"caFile,omitempty"`
	// Insecure accepts endpoints without TLS, at which keys and objects can be read and changed on the way. Addresses
	// of this host need no such word.
	Insecure bool `json:"insecure,omitempty"`
	// ReadLag is how long what was written may be missing from reads, at most 10s: what is missing is read again within
	// that time before it counts as missing. Default: 1.5s at AWS, none with an endpoint, since other stores read what
	// they wrote: set it with an endpoint of AWS. There can be none for type versitygw.
	ReadLag settings.ReadLag `json:"readLag,omitempty"`
	// Credentials are the driver's own. Default: what the AWS SDK finds in its environment.
	Credentials CredentialsConfig `json:"credentials,omitzero"`
	// IAM configures the accounts of type aws.
	IAM IAMConfig `json:"iam,omitzero"`
	// AdminEndpoint is the URL of the admin API of types minio, rgw and versitygw. Default: the endpoint.
	AdminEndpoint string `json:"adminEndpoint,omitempty"`
	// Workloads is the key pair that type static gives to workloads.
	Workloads CredentialsConfig `json:"workloads,omitzero"`
}

// CredentialsConfig locates the driver's own credentials at a store. The files are read again when they change.
type CredentialsConfig struct {
	// AccessKeyIDFile holds the access key ID.
	AccessKeyIDFile string `json:"accessKeyIDFile,omitempty"`
	// SecretAccessKeyFile holds the secret key.
	SecretAccessKeyFile string `json:"secretAccessKeyFile,omitempty"`
	// SessionTokenFile holds the session token of temporary credentials, which whoever renews them writes before they
	// end.
	SessionTokenFile string `json:"sessionTokenFile,omitempty"`
	// AccessKeyID is the access key ID itself, for programs and environment variables.
	AccessKeyID string `json:"-"`
	// SecretAccessKey is the secret key itself.
	SecretAccessKey cosi.Secret `json:"-"`
}

// IAMConfig configures where and how IAM users are created.
type IAMConfig struct {
	// Endpoint is the URL of the IAM API. Default: AWS, or the endpoint of the store.
	Endpoint string `json:"endpoint,omitempty"`
	// Region is what calls of the IAM API at an endpoint of one's own are signed for. Default: where
	// the partition has its IAM, us-east-1 for aws.
	Region string `json:"region,omitempty"`
	// Partition is the second part of ARNs: aws, aws-cn, aws-us-gov. Default: that of the region, aws for an endpoint of one's own.
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

// ServiceAccountsConfig configures how pods of a cluster get an IAM role: by EKS Pod Identity, by their token, or
// both.
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
	// drivers and clusters of one AWS account need different ones. Default: the cluster mark.
	RolePrefix string `json:"rolePrefix,omitempty"`
}

// enabled reports whether workloads can authenticate as their service account.
func (s ServiceAccountsConfig) enabled() bool { return s.EKSCluster != "" || s.OIDCProvider != "" }

// publicEndpoint returns the URL that workloads in a region use.
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
