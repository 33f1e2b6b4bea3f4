// SPDX-License-Identifier: Apache-2.0

// Package deploy holds the manifests that install Cooper's API: the CRDs, which are generated from api/v1alpha2, the RBAC
// roles of controller, sidecar and users, and the admission policies. It only carries files; it must not import anything
// else of this module nor talk to a cluster.
package deploy

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed crds/*.yaml rbac/*.yaml policies/crds.yaml policies/drivers.yaml policies/protection.yaml drivers/s3/lease.yaml drivers/s3/credentials.yaml
var files embed.FS

// CRDs returns the manifests of the five CustomResourceDefinitions, by file
// name. Each holds one YAML document.
func CRDs() (map[string][]byte, error) { return manifests("crds") }

// RBAC returns the manifests of all roles, by file name: controller.yaml, with the
// Lease of the controller, metrics.yaml, secrets.yaml, which confines what sidecar.yaml allows,
// sidecar.yaml and users.yaml. Each holds several YAML documents separated by
// "---". There are no bindings of roles among them: who runs the components binds
// the ClusterRoles of the Role constants, and the Roles in SystemNamespace.
func RBAC() (map[string][]byte, error) { return manifests("rbac") }

// Policies returns the manifests of the admission policies that every installation has, by file name: crds.yaml, which
// refuses to delete CRDs, drivers.yaml, which limits a sidecar to the objects of the driver whose Lease in SystemNamespace
// it may hold, and ProtectionPolicies. Each holds policies and their bindings, in YAML documents separated by "---". RBAC
// returns one more policy, in secrets.yaml.
func Policies() (map[string][]byte, error) { return manifests("policies") }

// ProtectionPolicies is the file in Policies that reserves COSI's finalizer and annotations for COSI.
const ProtectionPolicies = "protection.yaml"

// sample and sampleNamespace are the driver whose manifests stand for those of every driver.
const (
	sample          = "s3.cooper.dev"
	sampleNamespace = "cosi-driver-s3"
)

// DriverLease returns the manifest of what the sidecar of a driver needs in
// SystemNamespace: the Lease of the driver's name, and the Role to hold that one,
// whose name is DriverLeaderRole. It holds two YAML documents.
func DriverLease(driverName string) ([]byte, error) {
	data, err := files.ReadFile("drivers/s3/lease.yaml")
	if err != nil {
		return nil, fmt.Errorf("read the embedded Lease of a driver: %w", err)
	}
	return bytes.ReplaceAll(data, []byte(sample), []byte(driverName)), nil
}

// DriverCredentialsRole is the Role by which a sidecar keeps the credential store of its driver.
const DriverCredentialsRole = "cosi-driver-credentials"

// DriverCredentials returns the manifest of DriverCredentialsRole in the namespace of a driver.
func DriverCredentials(namespace string) ([]byte, error) {
	data, err := files.ReadFile("drivers/s3/credentials.yaml")
	if err != nil {
		return nil, fmt.Errorf("read the embedded Role for credentials: %w", err)
	}
	return bytes.ReplaceAll(data, []byte(sampleNamespace), []byte(namespace)), nil
}

// SystemNamespace is the namespace of the Roles in RBAC: components hold their
// Leases there.
const SystemNamespace = "cosi-system"

// Names of the ClusterRoles in RBAC.
const (
	// ControllerRole is for the COSI Controller.
	ControllerRole = "cosi-controller"
	// SidecarRole is for the COSI Sidecar of a driver.
	SidecarRole = "cosi-sidecar"
	// SidecarBucketsRole is for the Buckets of a sidecar that has SidecarRole in some namespaces alone.
	SidecarBucketsRole = "cosi-sidecar-buckets"
	// SidecarEventsRole is for the Events on those Buckets, in the namespace "default".
	SidecarEventsRole = "cosi-sidecar-events"
	// SidecarWatchSecretsRole is, in addition, for a sidecar that watches Secrets.
	SidecarWatchSecretsRole = "cosi-sidecar-watch-secrets" //nolint:gosec // the name of a role
	// StorageAdminRole is for administrators of classes and Buckets.
	StorageAdminRole = "cosi-storage-admin"
	// OverrideRole is for accounts that may change COSI's finalizer and annotations.
	OverrideRole = "cosi-override"
)

// Names of the ClusterRoles in RBAC for metrics that are served to some alone.
const (
	// MetricsAuthRole is, in addition, for who serves them, and asks who somebody is and what they may.
	MetricsAuthRole = "cosi-metrics-auth"
	// MetricsReaderRole is for who reads them.
	MetricsReaderRole = "cosi-metrics-reader"
)

// ControllerLeaderRole is the Role in RBAC for the leader election of the controller.
const ControllerLeaderRole = "cosi-controller-leader"

// DriverLeaderRole is the Role for the leader election of the sidecars of a driver.
func DriverLeaderRole(driverName string) string { return "cosi-driver-" + driverName }

// manifests reads every file of one embedded directory.
func manifests(dir string) (map[string][]byte, error) {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil, fmt.Errorf("list embedded %s: %w", dir, err)
	}
	out := make(map[string][]byte, len(entries))
	for _, entry := range entries {
		data, err := fs.ReadFile(files, dir+"/"+entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read embedded %s/%s: %w", dir, entry.Name(), err)
		}
		out[entry.Name()] = data
	}
	return out, nil
}
