// SPDX-License-Identifier: Apache-2.0

package store

import "slices"

// Groups that make an ACL public.
const (
	AllUsers           = "http://acs.amazonaws.com/groups/global/AllUsers"
	AuthenticatedUsers = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers"
)

// ACL is the access control list of a bucket or an object. Values are immutable. nil is the private ACL of the
// bucket's owner.
type ACL struct {
	// Owner is the canonical ID of the owner.
	Owner  string  `json:"owner,omitempty"`
	Grants []Grant `json:"grants,omitempty"`
}

// Grant is a permission for an account, by its canonical ID, or for a group, by its URI.
type Grant struct {
	ID         string `json:"id,omitempty"`
	URI        string `json:"uri,omitempty"`
	Permission string `json:"permission"`
}

// Public reports whether everyone, or everyone with an AWS account, has a permission.
func (a *ACL) Public() bool { return a != nil && slices.ContainsFunc(a.Grants, Grant.Public) }

// Public reports whether the grantee is everyone, or everyone with an AWS account.
func (g Grant) Public() bool { return g.URI == AllUsers || g.URI == AuthenticatedUsers }
