// SPDX-License-Identifier: Apache-2.0

// Package deploy holds the manifests that install Cooper's API: the CRDs, which
// are generated from api/v1alpha2, and the RBAC roles of controller, sidecar
// and users. It only carries files; it must not import anything else of this
// module nor talk to a cluster.
package deploy

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed crds/*.yaml rbac/*.yaml
var files embed.FS

// CRDs returns the manifests of the five CustomResourceDefinitions, by file
// name. Each holds one YAML document.
func CRDs() (map[string][]byte, error) { return manifests("crds") }

// RBAC returns the manifests of all roles, by file name: controller.yaml,
// sidecar.yaml and users.yaml. Each holds several YAML documents separated by
// "---". There are no bindings among them: who runs the components binds the
// ClusterRoles of the Role constants, and the Roles in SystemNamespace.
func RBAC() (map[string][]byte, error) { return manifests("rbac") }

// SystemNamespace is the namespace of the Roles in RBAC: components hold their
// Leases there.
const SystemNamespace = "cosi-system"

// Names of the ClusterRoles in RBAC.
const (
	// ControllerRole is for the COSI Controller.
	ControllerRole = "cosi-controller"
	// SidecarRole is for the COSI Sidecar of a driver.
	SidecarRole = "cosi-sidecar"
	// SidecarWatchSecretsRole is, in addition, for a sidecar that watches Secrets.
	SidecarWatchSecretsRole = "cosi-sidecar-watch-secrets" //nolint:gosec // the name of a role
	// StorageAdminRole is for administrators of classes and Buckets.
	StorageAdminRole = "cosi-storage-admin"
)

// Names of the Roles in RBAC, in SystemNamespace.
const (
	// ControllerLeaderRole is for the leader election of the controller.
	ControllerLeaderRole = "cosi-controller-leader"
	// SidecarLeaderRole is for the leader election of a sidecar.
	SidecarLeaderRole = "cosi-sidecar-leader"
)

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
