// SPDX-License-Identifier: Apache-2.0

package gcsfake

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// Inventory is the contents of a server. It does not include secrets, bodies, or deleted resources that can be
// restored. Compare two inventories to detect leftovers.
type Inventory struct {
	Buckets  []BucketInventory  `json:"buckets"`
	Accounts []AccountInventory `json:"accounts"`
	// Roles are the custom roles with their permissions.
	Roles map[string][]string `json:"roles,omitempty"`
	// Policies are the bindings of every project, as "role member" or "role member if condition".
	Policies map[string][]string `json:"policies"`
}

// BucketInventory is one bucket.
type BucketInventory struct {
	Name    string `json:"name"`
	Project string `json:"project"`
	// Config holds the fields of the bucket resource that clients set.
	Config map[string]json.RawMessage `json:"config,omitempty"`
	// Bindings are the bindings of the bucket's policy, as "role member" or "role member if condition".
	Bindings []string `json:"bindings"`
	// Objects are the names with a live generation, at most the first 1000; Live is the total number.
	Objects    []string `json:"objects"`
	Live       int      `json:"live"`
	Noncurrent int      `json:"noncurrent"`
	Uploads    int      `json:"uploads"`
}

// AccountInventory is one service account.
type AccountInventory struct {
	Email       string `json:"email"`
	UniqueID    string `json:"uniqueId"`
	Description string `json:"description,omitempty"`
	Disabled    bool   `json:"disabled,omitempty"`
	// Keys are the IDs of its keys; HMAC maps its HMAC keys, except deleted ones, to their states.
	Keys     []string          `json:"keys,omitempty"`
	HMAC     map[string]string `json:"hmac,omitempty"`
	Bindings []string          `json:"bindings,omitempty"`
}

// maxListed limits the names that an inventory lists per bucket.
const maxListed = 1000

// Inventory returns the contents of the server, ordered by name. It does not include the administrators.
func (s *Server) Inventory() Inventory { return s.state().inventory() }

func (s *state) inventory() Inventory {
	inv := Inventory{Policies: map[string][]string{}, Roles: map[string][]string{}}
	for _, b := range s.store.Buckets("") {
		inv.Buckets = append(inv.Buckets, s.bucketInventory(b))
	}
	for _, a := range s.directory.Accounts("") {
		if a.Email == s.options.adminEmail(a.Project) {
			continue
		}
		one := AccountInventory{Email: a.Email, UniqueID: a.UniqueID, Description: a.Description, Disabled: a.Disabled, HMAC: map[string]string{}, Bindings: s.bindings(a.Policy)}
		for _, k := range s.directory.Keys(a.Email) {
			one.Keys = append(one.Keys, k.ID)
		}
		for _, k := range s.directory.HMACKeys("", a.Email, false) {
			one.HMAC[k.AccessID] = k.State
		}
		inv.Accounts = append(inv.Accounts, one)
	}
	for _, r := range s.directory.Roles("") {
		inv.Roles[r.Name] = r.Permissions
	}
	for _, id := range s.directory.Projects() {
		p, _ := s.directory.Project(id) // projects are never removed
		inv.Policies[id] = s.bindings(p.Policy)
	}
	return inv
}

func (s *state) bucketInventory(b store.Bucket) BucketInventory {
	out := BucketInventory{Name: b.Name, Project: b.Project, Config: b.Config, Bindings: s.bindings(b.Policy), Objects: []string{}}
	page, err := s.store.List(store.Query{Bucket: b.Name, Max: maxListed})
	if err != nil { // the bucket was deleted in the meantime
		return out
	}
	for _, o := range page.Objects {
		out.Objects = append(out.Objects, o.Name)
	}
	counts, _ := s.store.Count(b.Name) // as above
	out.Live, out.Noncurrent, out.Uploads = counts.Live, counts.Noncurrent, counts.Uploads
	return out
}

// bindings lists the members of a policy; deleted members have the form that clients see.
func (s *state) bindings(p policy.Policy) []string {
	gone := s.directory.Gone(p)
	var out []string
	for _, b := range p.Bindings {
		for _, m := range b.Members {
			if now := gone[m]; now != "" {
				m = now
			}
			line := b.Role + " " + m
			if b.Condition != nil {
				line = fmt.Sprintf("%s if %s (%s)", line, b.Condition.Expression, b.Condition.Title)
			}
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}
