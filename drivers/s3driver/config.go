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
	// DefaultBackend is the backend for classes that set none, and for IDs without the name of a backend. Required with
	// more than one backend.
	DefaultBackend string `json:"defaultBackend,omitempty"`
	// Cluster, if set, is the mark of the cluster on everything that the driver creates. It prevents a clone of
	// the cluster, in which all objects have the same UIDs, from treating these as its own. Required with iam.serviceAccounts.
	Cluster string `json:"cluster,omitempty"`
	// Backends are the stores, by a name of lower-case letters, digits and '-'. The names are part of the IDs of
	// buckets and accounts, and must not change while these exist.
	Backends map[string]BackendConfig `json:"backends"`
	// RemovedBackends are the names of stores that were deleted permanently, with all their contents. Deletions and
	// revocations there succeed immediately. If a used backend is in neither list, all calls fail.
	RemovedBackends []string `json:"removedBackends,omitempty"`
}

// Addressing determines the place of the bucket name in URLs.
type Addressing string

// The addressing styles.
const (
	AddressingPath    Addressing = "path"
	AddressingVirtual Addressing = "virtual"
)

// BackendConfig configures one store.
type BackendConfig struct {
	// Type determines how the store manages accounts: aws (IAM), seaweedfs (its IAM), minio, rgw (Ceph) and versitygw
	// (with their admin APIs) or static (no accounts: one key pair for all workloads).
	Type BackendType `json:"type"`
	// Endpoint is the URL of the store. Default: AWS.
	Endpoint string `json:"endpoint,omitempty"`
	// PublicEndpoint is the URL of the store for workloads, if it differs.
	PublicEndpoint string `json:"publicEndpoint,omitempty"`
	// AccountID is the number of the AWS account that owns the buckets, for type aws. All calls and policies contain
	// it, so the driver never uses a bucket of another account. Default: the account of the driver's own credentials
	// for AWS; none with an endpoint, since other stores may not support it.
	AccountID string `json:"accountID,omitempty"`
	// Region of buckets, unless the class sets one. Default: us-east-1.
	Region string `json:"region,omitempty"`
	// Addressing is path or virtual. Default: virtual for AWS, path for an endpoint.
	Addressing Addressing `json:"addressing,omitempty"`
	// CAFile is a PEM file with the CA certificates for the endpoint. Workloads receive them, too. Default: the
	// system's CA certificates.
	CAFile string `json:"caFile,omitempty"`
	// Insecure allows endpoints without TLS, where keys and objects can be read and changed on the network. Addresses
	// of this host do not need it.
	Insecure bool `json:"insecure,omitempty"`
	// ReadLag is the maximum time until reads return a completed write, at most 10s. During this time, the driver
	// repeats reads that find nothing. Default: 1.5s for AWS, none if an endpoint is set, since other stores have no
	// lag. Set it with an endpoint of AWS. It is not allowed for type versitygw.
	ReadLag settings.ReadLag `json:"readLag,omitempty"`
	// Credentials are the driver's own. Default: the environment of the AWS SDK.
	Credentials CredentialsConfig `json:"credentials,omitzero"`
	// IAM configures the accounts of type aws.
	IAM IAMConfig `json:"iam,omitzero"`
	// AdminEndpoint is the URL of the admin API of types minio, rgw and versitygw, and of the IAM API of type seaweedfs.
	// Default: the endpoint.
	AdminEndpoint string `json:"adminEndpoint,omitempty"`
	// Workloads is the key pair that type static gives to workloads.
	Workloads CredentialsConfig `json:"workloads,omitzero"`
}

// CredentialsConfig locates the driver's own credentials at a store. The files are read again when they change.
type CredentialsConfig struct {
	// AccessKeyIDFile contains the access key ID.
	AccessKeyIDFile string `json:"accessKeyIDFile,omitempty"`
	// SecretAccessKeyFile contains the secret access key.
	SecretAccessKeyFile string `json:"secretAccessKeyFile,omitempty"`
	// SessionTokenFile contains the session token of temporary credentials. It must be updated before they expire.
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
	// Region is the region in signatures for an IAM API with its own endpoint. Default: the IAM region of the
	// partition, us-east-1 for aws.
	Region string `json:"region,omitempty"`
	// Partition is the second part of ARNs: aws, aws-cn, aws-eusc, aws-us-gov. Default: the partition of the region;
	// aws if an endpoint is set.
	Partition string `json:"partition,omitempty"`
	// Path is the path of the users, to which the driver's own permissions can be limited. Default: /cosi/<driver
	// name>/.
	Path string `json:"path,omitempty"`
	// PermissionsBoundary is the ARN of a policy that limits the permissions of every user.
	PermissionsBoundary string `json:"permissionsBoundary,omitempty"`
	// ServiceAccounts allows workloads to authenticate as their Kubernetes service accounts. If it is not set, the
	// driver supports only keys.
	ServiceAccounts ServiceAccountsConfig `json:"serviceAccounts,omitzero"`
}

// ServiceAccountsConfig configures how pods of a cluster get an IAM role: by EKS Pod Identity, by their token, or
// both.
type ServiceAccountsConfig struct {
	// EKSCluster is the name of the EKS cluster, which gives roles to its pods (Pod Identity).
	EKSCluster string `json:"eksCluster,omitempty"`
	// EKSEndpoint is the URL of the EKS API. Default: AWS, or the endpoint of the store.
	EKSEndpoint string `json:"eksEndpoint,omitempty"`
	// OIDCProvider is the ARN of the cluster's OpenID Connect provider in IAM. Pods exchange their tokens for a role.
	OIDCProvider string `json:"oidcProvider,omitempty"`
	// Audience is the audience of these tokens. Default: sts.amazonaws.com.
	Audience string `json:"audience,omitempty"`
	// RolePrefix is the prefix of role names, which are <prefix>.<namespace>.<service account>. The drivers and
	// clusters of one AWS account need different prefixes. Default: the value of cluster.
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
	case b.IAM.Partition == "aws-eusc":
		return "https://s3." + region + ".amazonaws.eu"
	default:
		return "https://s3." + region + ".amazonaws.com"
	}
}
