// SPDX-License-Identifier: Apache-2.0

package azurefake

import (
	"slices"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

// Inventory is the contents of a server without secrets and bodies. Compare two inventories to detect leftovers.
type Inventory struct {
	Containers []ContainerInventory `json:"containers"`
	// Principals are the applications and identities of the directory.
	Principals  []PrincipalInventory  `json:"principals"`
	Assignments []AssignmentInventory `json:"assignments"`
	// Roles are the names of custom role definitions.
	Roles []string `json:"roles,omitempty"`
}

// ContainerInventory is one container.
type ContainerInventory struct {
	Account  string            `json:"account"`
	Name     string            `json:"name"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Policies are the stored access policies.
	Policies []PolicyInventory `json:"policies,omitempty"`
	Public   string            `json:"publicAccess,omitempty"`
	Leased   bool              `json:"leased,omitempty"`
	// Blobs are the names with a current blob, at most the first 1000; Count is the total number.
	Blobs []string `json:"blobs"`
	Count int      `json:"count"`
	// Versions is the number of earlier versions; Uncommitted is the number of names that have only uncommitted blocks.
	Versions  int `json:"versions"`
	Snapshots int `json:"snapshots"`
	// SoftDeleted is the number of deleted blobs and snapshots that are kept.
	SoftDeleted int `json:"softDeleted,omitempty"`
	Uncommitted int `json:"uncommitted"`
}

// PolicyInventory is one stored access policy. Times are in the service's format, or "" if they are not set.
type PolicyInventory struct {
	ID         string `json:"id"`
	Start      string `json:"start,omitempty"`
	Expiry     string `json:"expiry,omitempty"`
	Permission string `json:"permission,omitempty"`
}

// PrincipalInventory is one application or identity.
type PrincipalInventory struct {
	Name     string `json:"name"`
	ObjectID string `json:"objectId"`
	ClientID string `json:"clientId"`
	// Identity is the resource ID of a managed identity, or "" for an application; Tags are the tags of the resource.
	Identity string            `json:"identity,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	// Subjects are the subjects of the federated credentials, in order.
	Subjects []string `json:"subjects,omitempty"`
}

// AssignmentInventory is one role assignment.
type AssignmentInventory struct {
	ID          string `json:"id"`
	PrincipalID string `json:"principalId"`
	Role        string `json:"role"`
	Scope       string `json:"scope"`
}

// maxListed limits the names that an inventory lists per container.
const maxListed = 1000

// Inventory returns the contents of the server, ordered by name.
func (s *Server) Inventory() Inventory { return s.state().inventory() }

func (s *state) inventory() Inventory {
	inv := Inventory{}
	for _, account := range s.directory.Accounts() {
		for _, c := range s.store.Containers(account.Name) {
			if one, ok := s.containerInventory(c); ok {
				inv.Containers = append(inv.Containers, one)
			}
		}
	}
	for _, p := range s.directory.Principals() {
		one := PrincipalInventory{Name: p.Name, ObjectID: p.ObjectID, ClientID: p.ClientID}
		for _, f := range p.Federated {
			one.Subjects = append(one.Subjects, f.Subject)
		}
		slices.Sort(one.Subjects)
		if p.Identity != nil {
			one.Identity, one.Tags = p.Identity.ID, p.Identity.Tags
		}
		inv.Principals = append(inv.Principals, one)
	}
	for _, a := range s.directory.Assignments() {
		inv.Assignments = append(inv.Assignments, AssignmentInventory{a.ID, a.PrincipalID, a.Role, a.Scope})
	}
	for _, r := range s.directory.Roles() {
		if r.Custom() {
			inv.Roles = append(inv.Roles, r.Name)
		}
	}
	return inv
}

func (s *state) containerInventory(c store.Container) (ContainerInventory, bool) {
	counts, err := s.store.Count(c.Account, c.Name)
	if err != nil { // deleted in the meantime
		return ContainerInventory{}, false
	}
	out := ContainerInventory{
		Account: c.Account, Name: c.Name, Metadata: c.Metadata, Public: c.PublicAccess, Leased: c.Lease.Locked(s.now()),
		Blobs: s.store.Names(c.Account, c.Name, maxListed), Count: counts.Blobs, Versions: counts.Versions, Snapshots: counts.Snapshots, SoftDeleted: counts.Deleted, Uncommitted: counts.Uncommitted,
	}
	for _, p := range c.Policies {
		out.Policies = append(out.Policies, PolicyInventory{ID: p.ID, Start: store.StampOf(p.Start), Expiry: store.StampOf(p.Expiry), Permission: p.Permission})
	}
	return out, true
}
