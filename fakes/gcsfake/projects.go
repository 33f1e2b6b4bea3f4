// SPDX-License-Identifier: Apache-2.0

package gcsfake

import (
	"fmt"
	"regexp"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
)

// projectID matches the IDs of projects. Google requires 6 characters, but tests often use shorter names.
var projectID = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,28}[a-z0-9])?$`)

// openProject creates a project when the administrator of the first project first uses it, unless Options.Projects
// lists the projects. For other callers and invalid IDs, it does nothing.
func (s *state) openProject(caller, id string) error {
	if !s.options.openProjects || caller != s.options.adminEmail("") || !projectID.MatchString(id) {
		return nil
	}
	p := identity.Project{ID: id, Policy: policy.Policy{Sequence: 1}}
	for _, role := range adminRoles { // at once: another request of the administrator can follow immediately
		members := []string{"serviceAccount:" + caller, "serviceAccount:" + s.options.adminEmail(id)}
		p.Policy.Bindings = append(p.Policy.Bindings, policy.Binding{Role: role, Members: members})
	}
	if err := s.directory.AddProject(p); err != nil {
		return fmt.Errorf("create project %s: %w", id, err)
	}
	_, err := s.directory.CreateAccount(id, adminID, "Administrator of the fake", "")
	if err != nil && gcserr.From(err).Reason != "alreadyExists" {
		return fmt.Errorf("create the administrator of project %s: %w", id, err)
	}
	return nil
}
