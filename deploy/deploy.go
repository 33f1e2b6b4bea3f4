// SPDX-License-Identifier: Apache-2.0

// Package deploy embeds the manifests that install Cooper's API: the CRDs, which are generated from
// api/v1alpha2, the RBAC roles of controller, sidecar and users, and the admission policies. It does not
// import other packages of this module, and does not contact a cluster.
package deploy

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
)

//go:generate go -C ../tools/charts run . -root ../..

//go:embed crds/*.yaml rbac/*.yaml policies/crds.yaml policies/drivers.yaml policies/protection.yaml drivers/s3/lease.yaml drivers/s3/credentials.yaml
var files embed.FS

// CRDs returns the manifests of the five CustomResourceDefinitions by file name. Each contains one YAML
// document.
func CRDs() (map[string][]byte, error) { return manifests("crds") }

// RBAC returns the manifests of all roles by file name: controller.yaml (with the Lease of the controller),
// metrics.yaml, secrets.yaml (which restricts what sidecar.yaml allows), sidecar.yaml and users.yaml. Each
// contains several YAML documents separated by "---". They contain no role bindings: callers bind the
// ClusterRoles of the Role constants, and the Roles in SystemNamespace.
func RBAC() (map[string][]byte, error) { return manifests("rbac") }

// Policies returns the manifests of the admission policies of every installation by file name: crds.yaml,
// drivers.yaml and ProtectionPolicies. crds.yaml denies the deletion of CRDs. drivers.yaml restricts a
// sidecar to the objects of one driver, the one whose Lease in SystemNamespace the sidecar may hold. Each
// file contains policies and their bindings, in YAML documents separated by "---". RBAC returns one more
// policy, in secrets.yaml.
func Policies() (map[string][]byte, error) { return manifests("policies") }

// ProtectionPolicies is the file in Policies that reserves COSI's finalizer and annotations for COSI.
const ProtectionPolicies = "protection.yaml"

// sample and sampleNamespace identify the driver whose manifests serve as the template for all drivers.
const (
	sample          = "s3.cooper.dev"
	sampleNamespace = "cosi-driver-s3"
)

// DriverLease returns the manifest of the objects that a driver's sidecar needs in SystemNamespace: the Lease
// with the driver's name, and DriverLeaderRole, the Role that allows holding the Lease. It contains two YAML
// documents.
func DriverLease(driverName string) ([]byte, error) {
	data, err := files.ReadFile("drivers/s3/lease.yaml")
	if err != nil {
		return nil, fmt.Errorf("read the embedded Lease of a driver: %w", err)
	}
	return bytes.ReplaceAll(data, []byte(sample), []byte(driverName)), nil
}

// DriverCredentialsRole is the Role with which a sidecar maintains the credential store of its driver.
const DriverCredentialsRole = "cosi-driver-credentials"

// DriverCredentials returns the manifest of DriverCredentialsRole in the namespace of a driver.
func DriverCredentials(namespace string) ([]byte, error) {
	data, err := files.ReadFile("drivers/s3/credentials.yaml")
	if err != nil {
		return nil, fmt.Errorf("read the embedded Role for credentials: %w", err)
	}
	return bytes.ReplaceAll(data, []byte(sampleNamespace), []byte(namespace)), nil
}

// SystemNamespace is the namespace of the Roles in RBAC and of the components' Leases.
const SystemNamespace = "cosi-system"

// Names of the ClusterRoles in RBAC.
const (
	// ControllerRole is for the COSI Controller.
	ControllerRole = "cosi-controller"
	// SidecarRole is for the COSI Sidecar of a driver.
	SidecarRole = "cosi-sidecar"
	// SidecarBucketsRole is for the Buckets of a sidecar that has SidecarRole only in some namespaces.
	SidecarBucketsRole = "cosi-sidecar-buckets"
	// SidecarEventsRole is for the Events on those Buckets, in the namespace "default".
	SidecarEventsRole = "cosi-sidecar-events"
	// SidecarWatchSecretsRole is an additional role for a sidecar that watches Secrets.
	SidecarWatchSecretsRole = "cosi-sidecar-watch-secrets" //nolint:gosec // the name of a role
	// StorageAdminRole is for administrators of classes and Buckets.
	StorageAdminRole = "cosi-storage-admin"
	// OverrideRole is for accounts that may change COSI's finalizer and annotations.
	OverrideRole = "cosi-override"
)

// Names of the ClusterRoles in RBAC for protected metrics.
const (
	// MetricsAuthRole is an additional role for components that serve protected metrics. It allows
	// TokenReviews and SubjectAccessReviews.
	MetricsAuthRole = "cosi-metrics-auth"
	// MetricsReaderRole is for clients that read metrics.
	MetricsReaderRole = "cosi-metrics-reader"
)

// ControllerLeaderRole is the Role in RBAC for the controller's leader election.
const ControllerLeaderRole = "cosi-controller-leader"

// DriverLeaderRole returns the name of the Role for the leader election of a driver's sidecars.
func DriverLeaderRole(driverName string) string { return "cosi-driver-" + driverName }

// manifests reads all files in an embedded directory.
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
