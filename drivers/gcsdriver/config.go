// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import (
	"strings"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/settings"
)

// DefaultName is the default driver name.
const DefaultName = "gcs.cooper.dev"

// Config is the configuration of the driver, in the format of its YAML file.
type Config struct {
	// DriverName is the name that classes use. Default: gcs.cooper.dev.
	DriverName string `json:"driverName,omitempty"`
	// DefaultBackend is the backend for classes that set none, and for IDs without the name of a backend. Required with
	// more than one backend.
	DefaultBackend string `json:"defaultBackend,omitempty"`
	// Cluster, if set, is the mark of the cluster on everything that the driver creates. It prevents a clone of
	// the cluster, in which all objects have the same UIDs, from treating these as its own. It has at most 63 lower-case
	// letters, digits, '-' and '_'.
	Cluster string `json:"cluster,omitempty"`
	// Backends are the projects, by a name of lower-case letters, digits and '-'. The names are part of the IDs of
	// buckets and accounts, and must not change while these exist.
	Backends map[string]BackendConfig `json:"backends"`
}

// BackendConfig configures one project.
type BackendConfig struct {
	// Project is the ID of the project in which the driver creates buckets and service accounts.
	Project string `json:"project"`
	// Location of buckets, unless the class sets one. Default: US.
	Location string `json:"location,omitempty"`
	// CredentialsFile is a JSON file from Google with the driver's own credentials: a service account key or a
	// configuration of workload identity federation. The driver reads it again when it changes. Default: application
	// default credentials, such as those of the Pod on GKE.
	CredentialsFile string `json:"credentialsFile,omitempty"`
	// Endpoint is the URL of Cloud Storage. Default: Google's public endpoint.
	Endpoint string `json:"endpoint,omitempty"`
	// IAMEndpoint is the URL of the IAM API. Default: the endpoint if it is set, otherwise Google's public endpoint.
	IAMEndpoint string `json:"iamEndpoint,omitempty"`
	// CAFile is a PEM file with the CA certificates for the endpoints. Workloads receive them, too. Default: the
	// system's CA certificates.
	CAFile string `json:"caFile,omitempty"`
	// Insecure allows endpoints without TLS, where keys and objects can be read and changed on the network. Addresses
	// of this host do not need it.
	Insecure bool `json:"insecure,omitempty"`
	// ReadLag is the maximum time until reads return a completed write, at most 10s. During this time, the driver
	// repeats reads that find nothing. Default: 1.5s for Google's public endpoint, none if an endpoint is set, since
	// emulators have no lag. Set it with an endpoint of Google.
	ReadLag settings.ReadLag `json:"readLag,omitempty"`
	// WithoutAccounts is for an emulator without accounts and labels, such as fake-gcs-server: the driver sends no
	// credentials, treats a bucket without labels as its own, and rejects accesses. It requires an endpoint. Do not set
	// it for a store with other users.
	WithoutAccounts bool `json:"withoutAccounts,omitempty"`
	// WorkloadIdentity configures how Google identifies the cluster's service accounts. Required for authentication
	// type ServiceAccount.
	WorkloadIdentity WorkloadIdentityConfig `json:"workloadIdentity,omitzero"`
	// Roles replace Google's roles for access modes.
	Roles RolesConfig `json:"roles,omitzero"`
}

// WorkloadIdentityConfig configures the cluster's workload identity pool.
type WorkloadIdentityConfig struct {
	// Pool is the full name of the pool, with the number of its project:
	// projects/123456/locations/global/workloadIdentityPools/example.svc.id.goog for GKE.
	Pool string `json:"pool,omitempty"`
	// Subject is the name of a service account in the pool, with {namespace} and {name}. Default:
	// ns/{namespace}/sa/{name} for pools of GKE, system:serviceaccount:{namespace}:{name} for others.
	Subject string `json:"subject,omitempty"`
}

// RolesConfig configures the role for each access mode of each category. A role is predefined by Google, such as
// roles/storage.objectUser, or custom, such as projects/example/roles/writer.
type RolesConfig struct {
	// ObjectData contains the roles for the contents of objects. Defaults: roles/storage.objectViewer, objectCreator
	// and objectUser.
	ObjectData ModesConfig `json:"objectData,omitzero"`
	// ObjectMetadata contains the roles for metadata of objects that the role for object data does not include.
	// Default: none, which rejects such accesses.
	ObjectMetadata ModesConfig `json:"objectMetadata,omitzero"`
	// BucketMetadata contains the roles for the configuration of the bucket. Default: roles/storage.bucketViewer for
	// reading; none for writing, which rejects such accesses.
	BucketMetadata ModesConfig `json:"bucketMetadata,omitzero"`
}

// ModesConfig configures the role for each access mode.
type ModesConfig struct {
	// ReadOnly is the role for reading.
	ReadOnly string `json:"readOnly,omitempty"`
	// WriteOnly is the role for writing.
	WriteOnly string `json:"writeOnly,omitempty"`
	// ReadWrite is the role for both.
	ReadWrite string `json:"readWrite,omitempty"`
}

func (r RolesConfig) table() policy.Roles {
	return policy.Roles{
		ObjectData: policy.ByMode(r.ObjectData), ObjectMetadata: policy.ByMode(r.ObjectMetadata), BucketMetadata: policy.ByMode(r.BucketMetadata),
	}
}

// principal returns the policy member for a Kubernetes service account.
func (w WorkloadIdentityConfig) principal(namespace, name string) string {
	subject := strings.NewReplacer("{namespace}", namespace, "{name}", name).Replace(w.Subject)
	return "principal://iam.googleapis.com/" + w.Pool + "/subject/" + subject
}
