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

// BackendConfig configures one project.
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
	// Insecure accepts endpoints without TLS, at which keys and objects can be read and changed on the way. Addresses
	// of this host need no such word.
	Insecure bool `json:"insecure,omitempty"`
	// ReadLag is how long what was written may be missing from reads, at most 10s: what is missing is read again within
	// that time before it counts as missing. Default: 1.5s at Google, none with an endpoint, since emulators read what
	// they wrote: set it with an endpoint of Google.
	ReadLag settings.ReadLag `json:"readLag,omitempty"`
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

// WorkloadIdentityConfig configures the cluster's workload identity pool.
type WorkloadIdentityConfig struct {
	// Pool is the full name of the pool, with the number of its project:
	// projects/123456/locations/global/workloadIdentityPools/example.svc.id.goog for GKE.
	Pool string `json:"pool,omitempty"`
	// Subject is what a service account is called in the pool, with {namespace} and {name} in it.
	// Default: ns/{namespace}/sa/{name} for pools of GKE, system:serviceaccount:{namespace}:{name}
	// for others.
	Subject string `json:"subject,omitempty"`
}

// RolesConfig configures the role for each access mode of each category. A role is predefined by Google, such as
// roles/storage.objectUser, or custom, such as projects/example/roles/writer.
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
