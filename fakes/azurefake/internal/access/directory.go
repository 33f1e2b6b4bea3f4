// SPDX-License-Identifier: Apache-2.0

// Package access authenticates callers and authorizes their requests. Callers authenticate with an account key, a
// shared access signature or a token of the directory. The package evaluates role assignments, and the permissions in
// signatures and stored access policies. It stores accounts, principals, roles and role assignments, but no
// containers or blobs. It reads requests but does not serve them.
package access

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// MaxRetention is the maximum number of days for which deleted containers can be restored.
const MaxRetention = 365

// Account is a storage account.
type Account struct {
	Name string `json:"name"`
	// Keys are key1 and key2 in base64.
	Keys [2]string `json:"keys"`
	// SharedKeyOff rejects all requests and signatures signed with an account key.
	SharedKeyOff bool `json:"sharedKeyOff,omitempty"`
	// KeepsContainers is the number of days for which deleted containers can be restored; 0 disables this.
	KeepsContainers int `json:"keepsContainers,omitzero"`
	// DelegationEpoch is the number of times that user delegation keys were revoked. New keys depend on it.
	DelegationEpoch int `json:"delegationEpoch,omitzero"`
	// Service is the document with the properties of the Blob service, or "" for those of a new account. Version is its
	// default service version, or "" for none.
	Service string `json:"service,omitempty"`
	Version string `json:"version,omitempty"`
}

// Principal is an application, a managed identity or a user of the directory.
type Principal struct {
	// ObjectID is used in role assignments, and ClientID for logins. Both are UUIDs.
	ObjectID string `json:"objectId"`
	ClientID string `json:"clientId"`
	Name     string `json:"name"`
	// Secret is the client secret, or "" if the principal cannot log in with a secret.
	Secret string `json:"secret,omitempty"`
	// User marks a user, as opposed to an application or identity.
	User bool `json:"user,omitempty"`
	// Identity is set for a user-assigned managed identity and nil for an application.
	Identity *Identity `json:"identity,omitempty"`
	// Federated maps the names of federated credentials to the tokens with which the principal can log in.
	Federated map[string]Federation `json:"federated,omitempty"`
}

// Identity contains the management properties of a user-assigned managed identity.
type Identity struct {
	// ID is the resource ID.
	ID       string            `json:"id"`
	Location string            `json:"location"`
	Tags     map[string]string `json:"tags,omitempty"`
}

// Federation defines which tokens of another issuer a principal can log in with.
type Federation struct {
	Issuer    string   `json:"issuer"`
	Subject   string   `json:"subject"`
	Audiences []string `json:"audiences"`
}

// Assignment gives a principal a role.
type Assignment struct {
	// ID is the name of the assignment, a UUID.
	ID          string `json:"id"`
	PrincipalID string `json:"principalId"`
	// Role is the ID of the role definition, without a path.
	Role string `json:"role"`
	// Scope is a resource ID. The role applies to this resource and everything below it.
	Scope string `json:"scope"`
	// User reports whether the principal was a user when the role was assigned.
	User bool `json:"user,omitempty"`
	// Condition restricts the permissions of the role; "" means no condition.
	Condition string `json:"condition,omitempty"`
}

// tenant identifies the directory.
type tenant struct {
	ID string `json:"id"`
	// Key signs the directory's tokens.
	Key []byte `json:"key"`
}

// Directory holds accounts, principals, roles and role assignments.
type Directory struct {
	now    func() time.Time
	tenant tenant

	accounts    table[Account]
	principals  table[Principal]
	assignments table[Assignment]
	// roles are the custom ones; the built-in ones are in builtIn.
	roles table[Role]
}

// NewDirectory opens the directory with the contents of the journal.
func NewDirectory(j journal.Journal, now func() time.Time) (*Directory, error) {
	d := &Directory{
		now:         now,
		accounts:    table[Account]{journal: j, name: "accounts"},
		principals:  table[Principal]{journal: j, name: "principals"},
		assignments: table[Assignment]{journal: j, name: "assignments"},
		roles:       table[Role]{journal: j, name: "roles"},
	}
	tenants := table[tenant]{journal: j, name: "tenant"}
	if err := errors.Join(d.accounts.load(), d.principals.load(), d.assignments.load(), d.roles.load(), tenants.load()); err != nil {
		return nil, err
	}
	known, ok := tenants.get("tenant")
	if ok {
		d.tenant = known
		return d, nil
	}
	d.tenant = tenant{ID: uuid.NewString(), Key: randomBytes(32)}
	return d, tenants.put("tenant", d.tenant)
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return b
}

// NewKey returns a random account key in base64.
func NewKey() string { return base64.StdEncoding.EncodeToString(randomBytes(64)) }

// TenantID returns the directory's UUID.
func (d *Directory) TenantID() string { return d.tenant.ID }

// Account returns an account by name.
func (d *Directory) Account(name string) (Account, bool) { return d.accounts.get(name) }

// Accounts returns all accounts, ordered by name.
func (d *Directory) Accounts() []Account {
	return d.accounts.sorted(func(a Account) string { return a.Name })
}

// PutAccount adds or replaces an account.
func (d *Directory) PutAccount(a Account) error { return d.accounts.put(a.Name, a) }

// ChangeAccount calls change to edit an account and stores the result.
func (d *Directory) ChangeAccount(name string, change func(*Account)) (Account, error) {
	a, exists, err := d.accounts.change(name, change)
	if !exists {
		return a, fmt.Errorf("there is no storage account %q", name)
	}
	return a, err
}

// PutPrincipal adds or replaces a principal.
func (d *Directory) PutPrincipal(p Principal) error { return d.principals.put(p.ObjectID, p) }

// RemovePrincipal deletes a principal. Its role assignments remain, as in Azure.
func (d *Directory) RemovePrincipal(objectID string) error { return d.principals.remove(objectID) }

// Principal returns a principal by object ID.
func (d *Directory) Principal(objectID string) (Principal, bool) { return d.principals.get(objectID) }

// Principals returns all principals, ordered by name.
func (d *Directory) Principals() []Principal {
	return d.principals.sorted(func(p Principal) string { return p.Name })
}

func (d *Directory) principalOf(clientID string) (Principal, bool) {
	return d.principals.find(func(p Principal) bool { return strings.EqualFold(p.ClientID, clientID) })
}

// PutAssignment adds or replaces a role assignment.
func (d *Directory) PutAssignment(a Assignment) error { return d.assignments.put(a.ID, a) }

// RemoveAssignment deletes a role assignment.
func (d *Directory) RemoveAssignment(id string) error { return d.assignments.remove(id) }

// Assignments returns all role assignments, ordered by ID.
func (d *Directory) Assignments() []Assignment {
	return d.assignments.sorted(func(a Assignment) string { return a.ID })
}
