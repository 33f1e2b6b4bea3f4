// SPDX-License-Identifier: Apache-2.0

// Package identity implements the fake's directory. It stores projects with their allow policies, service accounts
// with their keys and HMAC keys, custom roles and workload identity pools. It issues and verifies tokens, and
// authorizes callers. It does not depend on buckets or HTTP.
package identity

import (
	"crypto/rand"
	"errors"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Tables of the journal.
const (
	tableProjects = "iam.project"
	tableAccounts = "iam.account"
	tableKeys     = "iam.key"
	tableHMAC     = "iam.hmac"
	tableRoles    = "iam.role"
	tableSecrets  = "iam.secret"
	tableDeleted  = "iam.deleted"
)

// The documented limits ("Quotas and limits" of IAM; "HMAC keys" of Cloud Storage).
const (
	MaxAccounts = 100
	MaxKeys     = 10
	MaxHMACKeys = 10
)

// Project is a project with its allow policy.
type Project struct {
	ID     string        `json:"id"`
	Number string        `json:"number"`
	Policy policy.Policy `json:"policy"`
}

// Account is a service account.
type Account struct {
	Project     string        `json:"project"`
	Email       string        `json:"email"`
	UniqueID    string        `json:"uniqueId"`
	DisplayName string        `json:"displayName,omitempty"`
	Description string        `json:"description,omitempty"`
	Disabled    bool          `json:"disabled,omitempty"`
	Policy      policy.Policy `json:"policy"`
}

// Options are the arguments of New.
type Options struct {
	Journal journal.Journal
	// Projects are created if they do not exist in the journal.
	Projects []Project
	Now      func() time.Time
}

// Directory contains projects, service accounts, keys, roles and pools. Its methods are safe for concurrent use.
type Directory struct {
	journal journal.Journal
	now     func() time.Time

	mu       sync.RWMutex
	projects map[string]*Project
	accounts map[string]*Account
	keys     map[string]*Key
	hmac     map[string]*HMACKey
	roles    map[string]*Role
	pools    map[string]Pool
	secrets  map[string][]byte
	// deleted are service accounts that can be undeleted, by unique ID.
	deleted map[string]*DeletedAccount

	// verified are tokens that were verified before.
	verified verifiedTokens
	// inventing is held while a secret is generated, so that it is generated only once.
	inventing sync.Mutex
}

// New returns a directory with the contents of the journal.
func New(o Options) (*Directory, error) {
	d := &Directory{
		journal: o.Journal, now: o.Now, projects: map[string]*Project{}, accounts: map[string]*Account{}, keys: map[string]*Key{},
		hmac: map[string]*HMACKey{}, roles: map[string]*Role{}, pools: map[string]Pool{}, secrets: map[string][]byte{},
		deleted: map[string]*DeletedAccount{},
	}
	err := errors.Join(
		journal.Load(d.journal, tableProjects, d.projects), journal.Load(d.journal, tableAccounts, d.accounts),
		journal.Load(d.journal, tableKeys, d.keys), journal.Load(d.journal, tableHMAC, d.hmac),
		journal.Load(d.journal, tableRoles, d.roles), journal.Load(d.journal, tableSecrets, d.secrets),
		journal.Load(d.journal, tableDeleted, d.deleted))
	if err != nil {
		return nil, err
	}
	for _, p := range o.Projects {
		if err := d.addProject(p); err != nil {
			return nil, err
		}
	}
	return d, d.openTokenSecret()
}

// keep writes the value of a key.
func (d *Directory) keep(table, key string, value any) error {
	return journal.Save(d.journal, table, key, value)
}

func (d *Directory) addProject(p Project) error {
	if d.projects[p.ID] != nil {
		return nil
	}
	if p.Number == "" {
		p.Number = digits(12)
	}
	if err := d.keep(tableProjects, p.ID, &p); err != nil {
		return err
	}
	d.projects[p.ID] = &p
	return nil
}

// AddProject adds a project unless it exists.
func (d *Directory) AddProject(p Project) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.addProject(p)
}

// Projects returns the IDs of all projects, in order.
func (d *Directory) Projects() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Sorted(maps.Keys(d.projects))
}

// digits returns a random decimal number of n digits that does not begin with 0.
func digits(n int64) string {
	ten := big.NewInt(10)
	low := new(big.Int).Exp(ten, big.NewInt(n-1), nil)
	v, _ := rand.Int(rand.Reader, new(big.Int).Mul(low, big.NewInt(9))) // never fails: crypto/rand ends the process instead
	return v.Add(v, low).String()
}

// Project returns a project by ID or number.
func (d *Directory) Project(name string) (Project, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p := d.project(name)
	if p == nil {
		return Project{}, noProject(name)
	}
	return *p, nil
}

func noProject(name string) error {
	return gcserr.New(http.StatusNotFound, "notFound", "UserProjectMissing", "Unknown project id: "+name)
}

func (d *Directory) project(name string) *Project {
	if p := d.projects[name]; p != nil {
		return p
	}
	for _, p := range d.projects {
		if p.Number == name {
			return p
		}
	}
	return nil
}

// SetProjectPolicy calls change with the current policy of a project and stores the returned policy, unless change
// returns an error.
func (d *Directory) SetProjectPolicy(name string, change func(policy.Policy) (policy.Policy, error)) (policy.Policy, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.project(name)
	if p == nil {
		return policy.Policy{}, noProject(name)
	}
	next := *p
	var err error
	if next.Policy, err = change(p.Policy); err != nil {
		return policy.Policy{}, err
	}
	if err := d.keep(tableProjects, p.ID, &next); err != nil {
		return policy.Policy{}, err
	}
	d.projects[p.ID] = &next
	return next.Policy, nil
}

// SetAccountPolicy changes the policy of a service account.
func (d *Directory) SetAccountPolicy(email string, change func(policy.Policy) (policy.Policy, error)) (policy.Policy, error) {
	var out policy.Policy
	_, err := d.UpdateAccount(email, func(a *Account) error {
		var err error
		a.Policy, err = change(a.Policy)
		out = a.Policy
		return err
	})
	return out, err
}

// UIDs returns the unique IDs of the service accounts among the members of bindings. If a service account does not
// exist, missing is its email. Do not call UIDs from a function that changes a policy of the directory.
func (d *Directory) UIDs(bindings []policy.Binding) (uids map[string]string, missing string) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.uids(bindings)
}

func (d *Directory) uids(bindings []policy.Binding) (uids map[string]string, missing string) {
	uids = map[string]string{}
	for _, b := range bindings {
		for _, m := range b.Members {
			email, ok := strings.CutPrefix(m, "serviceAccount:")
			if !ok || !strings.HasSuffix(email, accountDomain) {
				continue
			}
			a := d.accounts[email]
			if a == nil && d.isServiceAgent(email) {
				continue
			}
			if a == nil {
				return nil, email
			}
			uids[m] = a.UniqueID
		}
	}
	return uids, ""
}

// ServiceAgent returns the email of the service account with which Cloud Storage acts in a project. It is not in the list of
// the project's accounts, but policies can name it.
func ServiceAgent(p Project) string {
	return "service-" + p.Number + "@gs-project-accounts" + accountDomain
}

func (d *Directory) isServiceAgent(email string) bool {
	for _, p := range d.projects {
		if ServiceAgent(*p) == email {
			return true
		}
	}
	return false
}

// Gone returns the members of a policy that have been deleted since the policy was set. The value of a member is the
// name that the policy then shows: deleted:serviceAccount:NAME?uid=NUMBER.
func (d *Directory) Gone(p policy.Policy) map[string]string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	gone := map[string]string{}
	for member, uid := range p.UIDs {
		email := strings.TrimPrefix(member, "serviceAccount:")
		if a := d.accounts[email]; a == nil || a.UniqueID != uid {
			gone[member] = "deleted:" + member + "?uid=" + uid
		}
	}
	return gone
}
