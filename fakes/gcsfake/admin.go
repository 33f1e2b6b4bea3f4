// SPDX-License-Identifier: Apache-2.0

package gcsfake

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/rest"
)

// adminID is the account ID of the administrator of every project.
const adminID = "cooper-admin"

// adminRoles let the administrator perform every operation of the fake.
var adminRoles = []string{
	"roles/owner", "roles/storage.admin", "roles/storage.hmacKeyAdmin", "roles/iam.serviceAccountAdmin", "roles/iam.serviceAccountKeyAdmin",
	"roles/iam.serviceAccountTokenCreator", "roles/iam.roleAdmin", "roles/resourcemanager.projectIamAdmin",
}

// openAdmin creates the administrator of a project, once. The administrator of the first project, whose key AdminKey
// returns, has access to all projects.
func (s *state) openAdmin(project string) error {
	_, err := s.directory.CreateAccount(project, adminID, "Administrator of the fake", "")
	switch e := gcserr.From(err); {
	case err == nil:
	case e.Reason == "alreadyExists":
		return nil
	default:
		return fmt.Errorf("create the administrator of project %s: %w", project, err)
	}
	for _, email := range slices.Compact([]string{s.options.adminEmail(""), s.options.adminEmail(project)}) {
		if err := s.grant(project, "serviceAccount:"+email, adminRoles...); err != nil {
			return err
		}
	}
	return nil
}

// AdminEmail returns the email of the service account with all permissions in a project. "" means the first project,
// whose administrator has all permissions in all projects.
func (s *Server) AdminEmail(project string) string { return s.options.adminEmail(project) }

func (o Options) adminEmail(project string) string {
	return adminID + "@" + o.projectOr(project) + ".iam.gserviceaccount.com"
}

func (o Options) projectOr(project string) string {
	if project == "" || o.OneProject {
		return o.Projects[0].ID
	}
	return project
}

// IsAdmin reports whether an access token belongs to an administrator.
func (s *Server) IsAdmin(token string) bool {
	c, err := s.state().directory.Authenticate(token, func(string) bool { return false })
	return err == nil && slices.ContainsFunc(s.options.Projects, func(p Project) bool { return c.Name == s.AdminEmail(p.ID) })
}

// ProjectID returns the ID of the first project.
func (s *Server) ProjectID() string { return s.options.Projects[0].ID }

// ProjectNumber returns the number of a project, or "" if the project does not exist.
func (s *Server) ProjectNumber(project string) string {
	p, err := s.state().directory.Project(s.options.projectOr(project))
	if err != nil {
		return ""
	}
	return p.Number
}

// AdminKey returns a JSON key file of the administrator of the first project. Its token_uri is below base, the URL
// with which clients reach the server; if base is "", the server's URL is used. The first call creates the key, and
// later calls return the same key.
func (s *Server) AdminKey(base string) ([]byte, error) {
	base = cmp.Or(base, s.URL())
	if base == "" {
		return nil, errors.New("create a key file: the server's address is not known; start the server first, or pass the address")
	}
	directory := s.state().directory
	a, err := directory.Account("-", s.AdminEmail(""))
	if err != nil {
		return nil, err
	}
	raw, err := directory.Secret("admin-key", func() ([]byte, error) {
		k, private, err := directory.CreateKey(a.Email)
		if err != nil {
			return nil, err
		}
		return json.Marshal(adminKey{k.ID, private})
	})
	if err != nil {
		return nil, fmt.Errorf("create the administrator's key: %w", err)
	}
	var k adminKey
	if err := json.Unmarshal(raw, &k); err != nil {
		return nil, fmt.Errorf("read the administrator's key: %w", err)
	}
	return rest.CredentialsFile(a, k.ID, k.Private, base)
}

type adminKey struct {
	ID      string `json:"id"`
	Private []byte `json:"private"`
}

// HMAC is an HMAC key.
type HMAC struct{ AccessID, Secret string }

// String implements fmt.Stringer without the secret.
func (h HMAC) String() string { return h.AccessID + ":[redacted]" }

// GoString implements fmt.GoStringer without the secret.
func (h HMAC) GoString() string { return h.String() }

// NewHMAC creates an HMAC key for the service account with this email.
func (s *Server) NewHMAC(email string) (HMAC, error) {
	directory := s.state().directory
	a, err := directory.Account("-", email)
	if err != nil {
		return HMAC{}, err
	}
	k, err := directory.CreateHMAC(a.Project, email)
	return HMAC{k.AccessID, k.Secret}, err
}

// NewAccount creates a service account in a project ("" is the first) and returns its email.
func (s *Server) NewAccount(project, id string) (string, error) {
	a, err := s.state().directory.CreateAccount(s.options.projectOr(project), id, "", "")
	return a.Email, err
}

// Token creates an access token for a service account, like the metadata server of a virtual machine. Without scopes,
// the token has the scope cloud-platform.
func (s *Server) Token(email string, scopes ...string) (string, error) {
	return s.state().token(email, identity.Lifetime, scopes...)
}

// TokenFor is Token with a custom lifetime.
func (s *Server) TokenFor(email string, life time.Duration, scopes ...string) (string, error) {
	return s.state().token(email, life, scopes...)
}

func (s *state) token(email string, life time.Duration, scopes ...string) (string, error) {
	if len(scopes) == 0 {
		scopes = []string{"https://www.googleapis.com/auth/cloud-platform"}
	}
	return s.directory.IssueToken(email, life, scopes...)
}

// Grant gives a member, such as serviceAccount:EMAIL, roles on a project ("" is the first).
func (s *Server) Grant(project, member string, roles ...string) error {
	return s.state().grant(project, member, roles...)
}

func (s *state) grant(project, member string, roles ...string) error {
	_, err := s.directory.SetProjectPolicy(s.options.projectOr(project), func(p policy.Policy) (policy.Policy, error) {
		next := policy.Policy{Sequence: p.Sequence + 1, Bindings: append([]policy.Binding(nil), p.Bindings...), UIDs: p.UIDs}
		for _, role := range roles {
			next.Bindings = append(next.Bindings, policy.Binding{Role: role, Members: []string{member}})
		}
		return next, nil
	})
	if err != nil {
		return fmt.Errorf("grant %v to %s: %w", roles, member, err)
	}
	return nil
}

// NewRole creates a custom role in a project ("" is the first) and returns its name.
func (s *Server) NewRole(project, id string, permissions ...string) (string, error) {
	r, err := s.state().directory.PutRole(s.options.projectOr(project), id, identity.Role{Title: id, Permissions: permissions}, true)
	return r.Name, err
}
