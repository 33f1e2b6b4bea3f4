// SPDX-License-Identifier: Apache-2.0

// Package access authenticates callers and authorizes their requests. Callers authenticate with an account key, a
// shared access signature or a token of the directory. The package evaluates role assignments, and the permissions in
// signatures and stored access policies. It stores accounts, principals, roles and role assignments, but no
// containers or blobs. It reads requests but does not serve them.
package access

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Tables of the journal.
const (
	tableAccounts    = "accounts"
	tablePrincipals  = "principals"
	tableAssignments = "assignments"
	tableTenant      = "tenant"
	tableRoles       = "roles"
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

// Directory holds accounts, principals and role assignments.
type Directory struct {
	journal journal.Journal
	now     func() time.Time

	mu          sync.RWMutex
	tenant      tenant
	accounts    map[string]Account
	principals  map[string]Principal
	assignments map[string]Assignment
	// roles are the custom ones; the built-in ones are in builtIn.
	roles map[string]Role
}

// NewDirectory opens the directory with the contents of the journal.
func NewDirectory(j journal.Journal, now func() time.Time) (*Directory, error) {
	d := &Directory{journal: j, now: now, accounts: map[string]Account{}, principals: map[string]Principal{}, assignments: map[string]Assignment{}, roles: map[string]Role{}}
	err := journal.Load(j, tableAccounts, d.accounts)
	if err == nil {
		err = journal.Load(j, tableRoles, d.roles)
	}
	if err == nil {
		err = journal.Load(j, tablePrincipals, d.principals)
	}
	if err == nil {
		err = journal.Load(j, tableAssignments, d.assignments)
	}
	tenants := map[string]tenant{}
	if err == nil {
		err = journal.Load(j, tableTenant, tenants)
	}
	if err != nil {
		return nil, err
	}
	known, ok := tenants["tenant"]
	if !ok {
		known = tenant{ID: uuid.NewString(), Key: randomBytes(32)}
		err = d.put(tableTenant, "tenant", known)
	}
	d.tenant = known
	return d, err
}

func (d *Directory) put(table, key string, value any) error {
	if err := journal.Save(d.journal, table, key, value); err != nil {
		return fmt.Errorf("store %s: %w", table, err)
	}
	return nil
}

func (d *Directory) remove(table, key string) error {
	if err := d.journal.Append(journal.Delete(table, key)); err != nil {
		return fmt.Errorf("delete %s: %w", table, err)
	}
	return nil
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
func (d *Directory) Account(name string) (Account, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	a, ok := d.accounts[name]
	return a, ok
}

// Accounts returns all accounts, ordered by name.
func (d *Directory) Accounts() []Account {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.SortedFunc(maps.Values(d.accounts), func(a, b Account) int { return strings.Compare(a.Name, b.Name) })
}

// PutAccount adds or replaces an account.
func (d *Directory) PutAccount(a Account) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.putAccount(a)
}

func (d *Directory) putAccount(a Account) error {
	if err := d.put(tableAccounts, a.Name, a); err != nil {
		return err
	}
	d.accounts[a.Name] = a
	return nil
}

// ChangeAccount calls change to edit an account and stores the result.
func (d *Directory) ChangeAccount(name string, change func(*Account)) (Account, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok := d.accounts[name]
	if !ok {
		return a, fmt.Errorf("there is no storage account %q", name)
	}
	change(&a)
	return a, d.putAccount(a)
}

// PutPrincipal adds or replaces a principal.
func (d *Directory) PutPrincipal(p Principal) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.put(tablePrincipals, p.ObjectID, p); err != nil {
		return err
	}
	d.principals[p.ObjectID] = p
	return nil
}

// RemovePrincipal deletes a principal. Its role assignments remain, as in Azure.
func (d *Directory) RemovePrincipal(objectID string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.remove(tablePrincipals, objectID); err != nil {
		return err
	}
	delete(d.principals, objectID)
	return nil
}

// Principal returns a principal by object ID.
func (d *Directory) Principal(objectID string) (Principal, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, ok := d.principals[objectID]
	return p, ok
}

// Principals returns all principals, ordered by name.
func (d *Directory) Principals() []Principal {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.SortedFunc(maps.Values(d.principals), func(a, b Principal) int { return strings.Compare(a.Name, b.Name) })
}

func (d *Directory) principalOf(clientID string) (Principal, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, p := range d.principals {
		if strings.EqualFold(p.ClientID, clientID) {
			return p, true
		}
	}
	return Principal{}, false
}

// PutAssignment adds or replaces a role assignment.
func (d *Directory) PutAssignment(a Assignment) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.put(tableAssignments, a.ID, a); err != nil {
		return err
	}
	d.assignments[a.ID] = a
	return nil
}

// RemoveAssignment deletes a role assignment.
func (d *Directory) RemoveAssignment(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.remove(tableAssignments, id); err != nil {
		return err
	}
	delete(d.assignments, id)
	return nil
}

// Assignments returns all role assignments, ordered by ID.
func (d *Directory) Assignments() []Assignment {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.SortedFunc(maps.Values(d.assignments), func(a, b Assignment) int { return strings.Compare(a.ID, b.ID) })
}
