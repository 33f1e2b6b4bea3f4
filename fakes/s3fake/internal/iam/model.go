// SPDX-License-Identifier: Apache-2.0

// Package iam implements the state of the fake's account: users, groups, access keys, roles, managed policies,
// identity providers and sessions. Quotas, names and errors are those of AWS Identity and Access Management. The
// package resolves an access key to a principal with its policies. It does not depend on HTTP and does not evaluate
// policies.
package iam

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// Quotas of an account ("IAM and AWS STS quotas" in the IAM User Guide).
const (
	MaxUsers            = 5000
	MaxRoles            = 1000
	MaxPolicies         = 1500
	MaxKeysPerUser      = 2
	MaxVersions         = 5
	MaxAttached         = 10
	MaxTags             = 50
	MaxProviders        = 100
	MaxGroups           = 300
	MaxGroupsPerUser    = 10
	MaxClientIDs        = 100
	MaxThumbprints      = 5
	statusActive        = "Active"
	defaultSessionLimit = 3600
)

// Tag is one tag of a user, role, policy or provider.
type Tag struct {
	Key   string `json:"k"`
	Value string `json:"v"`
}

// Identity contains the common fields of users, roles and groups.
type Identity struct {
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	ID       string            `json:"id"`
	Created  time.Time         `json:"created"`
	Tags     []Tag             `json:"tags,omitempty"`
	Boundary string            `json:"boundary,omitempty"`
	Inline   map[string]string `json:"inline,omitempty"`
	// Attached contains the ARNs of managed policies in the order of attachment.
	Attached []string `json:"attached,omitempty"`
}

// User is an IAM user with its access keys.
type User struct {
	Identity
	Keys []AccessKey `json:"keys,omitempty"`
	// Groups are the IDs of the user's groups.
	Groups []string `json:"groups,omitempty"`
}

// AccessKey is a long-term credential. Its secret is never listed.
type AccessKey struct {
	ID       string    `json:"id"`
	Secret   Secret    `json:"secret"`
	User     string    `json:"user"`
	Status   string    `json:"status"`
	Created  time.Time `json:"created"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	// LastService and LastRegion are the service and region of the last use.
	LastService string `json:"lastService,omitempty"`
	LastRegion  string `json:"lastRegion,omitempty"`
}

// Secret is a secret access key or token. It is printed as [redacted].
type Secret string

// String implements fmt.Stringer.
func (Secret) String() string { return "[redacted]" }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return "[redacted]" }

// Role is an IAM role.
type Role struct {
	Identity
	Trust string `json:"trust"`
	// Principals are the users and roles in the principals of the trust policy.
	Principals  iampolicy.Pins `json:"principals,omitempty"`
	Description string         `json:"description,omitempty"`
	MaxSession  int            `json:"maxSession"`
	LastUsed    time.Time      `json:"lastUsed,omitzero"`
}

// Policy is a managed policy.
type Policy struct {
	Name        string          `json:"name"`
	Path        string          `json:"path"`
	ID          string          `json:"id"`
	ARN         string          `json:"arn"`
	Created     time.Time       `json:"created"`
	Updated     time.Time       `json:"updated"`
	Description string          `json:"description,omitempty"`
	Tags        []Tag           `json:"tags,omitempty"`
	Versions    []PolicyVersion `json:"versions"`
	Default     string          `json:"default"`
	// Next is the number of the next version.
	Next int `json:"next"`
}

// PolicyVersion is one version of a managed policy.
type PolicyVersion struct {
	ID       string    `json:"id"`
	Document string    `json:"document"`
	Created  time.Time `json:"created"`
}

// Session contains temporary credentials of a role or user.
type Session struct {
	KeyID  string `json:"keyId"`
	Secret Secret `json:"secret"`
	Token  Secret `json:"token"`
	Role   string `json:"role"`
	RoleID string `json:"roleId"`
	Name   string `json:"name"`
	// UserID is set for a session of a user, which has no role.
	UserID  string    `json:"userId,omitempty"`
	Issued  time.Time `json:"issued,omitzero"`
	Expires time.Time `json:"expires"`
	// Policies are session policies. Each of them must allow a request.
	Policies []string `json:"policies,omitempty"`
	Tags     []Tag    `json:"tags,omitempty"`
	// Transitive are the keys of the tags that are inherited by the sessions that this session requests.
	Transitive []string `json:"transitive,omitempty"`
	// Provider is the identity provider of a web identity, and Subject is the subject of its token.
	Provider string `json:"provider,omitempty"`
	Subject  string `json:"subject,omitempty"`
}

// Provider is an OpenID Connect identity provider.
type Provider struct {
	ARN         string    `json:"arn"`
	URL         string    `json:"url"`
	ClientIDs   []string  `json:"clientIds,omitempty"`
	Thumbprints []string  `json:"thumbprints,omitempty"`
	Tags        []Tag     `json:"tags,omitempty"`
	Created     time.Time `json:"created"`
}

// Options describe an account.
type Options struct {
	// ID is the 12-digit account number.
	ID string
	// Partition is the second part of ARNs. Default: aws.
	Partition string
	// RootKey and RootSecret are the root user's credentials.
	RootKey    string
	RootSecret string
	// ForgetsTags discards the tags of users and roles.
	ForgetsTags bool
	Journal     journal.Journal
	Now         func() time.Time
}

// Account contains users, groups, roles, policies, providers and sessions. Its methods are safe for concurrent use.
type Account struct {
	Options

	mu        sync.RWMutex
	users     map[string]*User
	roles     map[string]*Role
	groups    map[string]*Group
	policies  map[string]*Policy
	providers map[string]*Provider
	keys      map[string]string
	sessions  map[string]*Session
	guests    map[string]*Guest
	parsed    parsedCache
}

// Tables of the journal.
const (
	tableUsers     = "iam.user"
	tableRoles     = "iam.role"
	tablePolicies  = "iam.policy"
	tableProviders = "iam.provider"
	tableSessions  = "sts.session"
)

// New returns an account with the contents of the journal.
func New(o Options) (*Account, error) {
	a := &Account{
		Options: o, users: map[string]*User{}, roles: map[string]*Role{}, groups: map[string]*Group{}, policies: map[string]*Policy{},
		providers: map[string]*Provider{}, keys: map[string]string{}, sessions: map[string]*Session{}, guests: map[string]*Guest{},
	}
	a.users[RootUser] = &User{Identity: Identity{Name: RootUser, ID: a.ID}}
	return a, errors.Join(
		journal.Each(a.Journal, tableUsers, func(_ string, u *User) {
			a.users[fold(u.Name)] = u
			for _, k := range u.Keys {
				a.keys[k.ID] = fold(u.Name)
			}
		}),
		journal.Each(a.Journal, tableRoles, func(_ string, r *Role) { a.roles[fold(r.Name)] = r }),
		journal.Each(a.Journal, tableGroups, func(_ string, g *Group) { a.groups[fold(g.Name)] = g }),
		journal.Each(a.Journal, tablePolicies, func(_ string, p *Policy) { a.policies[p.ARN] = p }),
		journal.Each(a.Journal, tableProviders, func(_ string, p *Provider) { a.providers[p.ARN] = p }),
		journal.Each(a.Journal, tableSessions, func(_ string, s *Session) { a.sessions[s.KeyID] = s }),
		journal.Each(a.Journal, tableGuests, func(_ string, g *Guest) { a.guests[g.KeyID] = g }),
	)
}

// save journals the new value of an entity.
func (a *Account) save(table, key string, value any) error {
	if err := journal.Save(a.Journal, table, key, value); err != nil {
		return fmt.Errorf("save the account: %w", err)
	}
	return nil
}

func (a *Account) forget(table, key string) error {
	if err := a.Journal.Append(journal.Delete(table, key)); err != nil {
		return fmt.Errorf("save the account: %w", err)
	}
	return nil
}

// RootUser is the name under which additional access keys of the root user are stored. It is not a valid user name.
// Its path has no prefix, so it does not appear in lists.
const RootUser = "<root_account>"

// fold makes names comparable: IAM names are unique regardless of case.
func fold(name string) string { return strings.ToLower(name) }

// ARN returns the ARN of an entity of the account, for example ARN("user", "/a/", "b").
func (a *Account) ARN(kind, path, name string) string {
	return "arn:" + a.Partition + ":iam::" + a.ID + ":" + kind + path + name
}

// RootARN returns the ARN of the account's root user.
func (a *Account) RootARN() string { return a.ARN("root", "", "") }

// UserARN returns the ARN of u.
func (a *Account) UserARN(u *User) string { return a.ARN("user", u.Path, u.Name) }

// RoleARN returns the ARN of r.
func (a *Account) RoleARN(r *Role) string { return a.ARN("role", r.Path, r.Name) }

const idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// newID returns prefix and 17 random characters, as IAM's unique identifiers are made.
func newID(prefix string, n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	for i := range b {
		b[i] = idAlphabet[b[i]&31]
	}
	return prefix + string(b)
}

// newSecret returns 40 characters of base64.
func newSecret() Secret {
	var b [30]byte
	_, _ = rand.Read(b[:])
	return Secret(base64.StdEncoding.EncodeToString(b[:]))
}

func noSuchEntity(format string, args ...any) *awserr.Error {
	return awserr.Newf(http.StatusNotFound, "NoSuchEntity", format, args...)
}

func exists(format string, args ...any) *awserr.Error {
	return awserr.Newf(http.StatusConflict, "EntityAlreadyExists", format, args...)
}

func limitExceeded(format string, args ...any) *awserr.Error {
	return awserr.Newf(http.StatusConflict, "LimitExceeded", format, args...)
}

func deleteConflict(format string, args ...any) *awserr.Error {
	return awserr.Newf(http.StatusConflict, "DeleteConflict", format, args...)
}

// NewRoot returns random root credentials.
func NewRoot() (accessKeyID, secret string) { return newID("AKIA", 16), string(newSecret()) }
