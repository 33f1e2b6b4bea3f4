// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"errors"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// Inventory is the contents of a server without secrets and bodies. Compare two inventories to detect leftovers.
type Inventory struct {
	Buckets  []BucketInventory `json:"buckets"`
	Users    []UserInventory   `json:"users"`
	Groups   []GroupInventory  `json:"groups"`
	Roles    []RoleInventory   `json:"roles"`
	Policies []string          `json:"policies"`
	// Providers are the ARNs of the identity providers.
	Providers []string `json:"providers"`
	// Associations are the EKS Pod Identity associations as "cluster/namespace/serviceAccount".
	Associations []string `json:"associations"`
	// Queues are the names of the queues.
	Queues []string `json:"queues"`
}

// BucketInventory is one bucket.
type BucketInventory struct {
	Name       string `json:"name"`
	Region     string `json:"region"`
	Versioning string `json:"versioning,omitempty"`
	ObjectLock bool   `json:"objectLock,omitempty"`
	// Config maps sub-resources, for example policy or tagging, to configuration documents.
	Config map[string]string `json:"config,omitempty"`
	// ACL has the permission and the grantee of each grant: a canonical ID or the URI of a group. It is empty for the
	// private ACL.
	ACL []string `json:"acl,omitempty"`
	// Objects are the keys with a current version, at most the first 1000; Count is the total number.
	Objects []string `json:"objects"`
	Count   int      `json:"count"`
	// Versions is the number of versions and delete markers, Uploads the number of unfinished multipart uploads.
	Versions int `json:"versions"`
	Uploads  int `json:"uploads"`
}

// UserInventory is one IAM user.
type UserInventory struct {
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	Tags     map[string]string `json:"tags,omitempty"`
	Boundary string            `json:"boundary,omitempty"`
	Inline   map[string]string `json:"inline,omitempty"`
	Attached []string          `json:"attached,omitempty"`
	// Keys maps access key IDs to their status.
	Keys map[string]string `json:"keys,omitempty"`
	// Groups are the names of the user's groups.
	Groups []string `json:"groups,omitempty"`
}

// GroupInventory is one IAM group.
type GroupInventory struct {
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	Inline   map[string]string `json:"inline,omitempty"`
	Attached []string          `json:"attached,omitempty"`
}

// RoleInventory is one IAM role.
type RoleInventory struct {
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	Trust    string            `json:"trust"`
	Tags     map[string]string `json:"tags,omitempty"`
	Boundary string            `json:"boundary,omitempty"`
	Inline   map[string]string `json:"inline,omitempty"`
	Attached []string          `json:"attached,omitempty"`
}

// maxListed limits the keys that an inventory lists per bucket.
const maxListed = 1000

// Inventory returns the contents of the server, ordered by name.
func (s *Server) Inventory() Inventory { return s.state().inventory() }

func (s *state) inventory() Inventory {
	inv := Inventory{}
	for _, b := range s.store.Buckets() {
		one, err := s.bucketInventory(b)
		if errors.Is(err, store.ErrNoBucket) {
			continue
		}
		inv.Buckets = append(inv.Buckets, one)
	}
	for _, u := range s.account.Users("/") {
		keys := map[string]string{}
		for _, k := range u.Keys {
			keys[k.ID] = k.Status
		}
		inv.Users = append(inv.Users, UserInventory{u.Name, u.Path, tagMap(u.Tags), u.Boundary, u.Inline, u.Attached, keys, s.groupsOf(u.Name)})
	}
	for _, g := range s.account.Groups("/") {
		inv.Groups = append(inv.Groups, GroupInventory{g.Name, g.Path, g.Inline, g.Attached})
	}
	for _, r := range s.account.Roles("/") {
		inv.Roles = append(inv.Roles, RoleInventory{r.Name, r.Path, r.Trust, tagMap(r.Tags), r.Boundary, r.Inline, r.Attached})
	}
	for _, p := range s.account.Policies("/") {
		inv.Policies = append(inv.Policies, p.ARN)
	}
	for _, p := range s.account.Providers() {
		inv.Providers = append(inv.Providers, p.ARN)
	}
	inv.Associations = s.eks.Inventory()
	inv.Queues = s.sqs.Names()
	return inv
}

func (s *state) bucketInventory(b store.Bucket) (BucketInventory, error) {
	out := BucketInventory{Name: b.Name, Region: s.s3.RegionOf(b), Versioning: b.Versioning, ObjectLock: b.ObjectLock, Config: map[string]string{}, Objects: []string{}}
	for name, raw := range b.Config {
		out.Config[name] = string(raw)
	}
	if b.ACL != nil {
		for _, g := range b.ACL.Grants {
			out.ACL = append(out.ACL, g.Permission+" "+g.ID+g.URI)
		}
	}
	page, err := s.store.List(store.Query{Bucket: b.Name, Max: maxListed})
	if err != nil {
		return out, err
	}
	for _, v := range page.Versions {
		out.Objects = append(out.Objects, v.Key)
	}
	slices.Sort(out.Objects)
	counts, err := s.store.Count(b.Name)
	out.Count, out.Versions, out.Uploads = counts.Objects, counts.Versions, counts.Uploads
	return out, err
}

// groupsOf returns the names of a user's groups, or none if the user was deleted in the meantime.
func (s *state) groupsOf(user string) []string {
	groups, _ := s.account.GroupsOf(user)
	var names []string
	for _, g := range groups {
		names = append(names, g.Name)
	}
	return names
}

func tagMap(tags []iam.Tag) map[string]string {
	m := map[string]string{}
	for _, t := range tags {
		m[t.Key] = t.Value
	}
	return m
}
