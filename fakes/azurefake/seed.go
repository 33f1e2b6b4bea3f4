// SPDX-License-Identifier: Apache-2.0

package azurefake

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/blobapi"
)

// seed is the initial contents of a server.
type seed struct {
	Containers []blobapi.Seed  `json:"containers"`
	Principals []seedPrincipal `json:"principals"`
}

// seedPrincipal is an application that logs in with a secret.
type seedPrincipal struct {
	Name     string `json:"name"`
	ClientID string `json:"clientID"`
	Secret   string `json:"secret"`
	Roles    []struct {
		Role string `json:"role"`
		// Account defaults to the first account; an empty Container means the whole account.
		Account   string `json:"account"`
		Container string `json:"container"`
	} `json:"roles"`
}

// Seed creates the containers, blobs and principals in a YAML or JSON document; see docs/howto/use-the-fakes.md for the
// format. Existing ones are not changed.
func (s *Server) Seed(raw []byte) error {
	var seed seed
	if err := yaml.UnmarshalStrict(raw, &seed); err != nil {
		return fmt.Errorf("read the seed: %w", err)
	}
	for _, c := range seed.Containers {
		c.Account = s.accountOr(c.Account)
		if key, _ := s.Keys(c.Account); key == "" {
			return fmt.Errorf("container %s of the seed: account %s does not exist", c.Name, c.Account)
		}
		if err := s.state().blobs.Seed(c); err != nil {
			return fmt.Errorf("container %s of the seed: %w", c.Name, err)
		}
	}
	for _, p := range seed.Principals {
		if err := s.seedPrincipal(p); err != nil {
			return fmt.Errorf("principal %s of the seed: %w", p.Name, err)
		}
	}
	return nil
}

// accountOr returns name, or the first account if name is empty.
func (s *Server) accountOr(name string) string { return cmp.Or(name, s.options.Accounts[0].Name) }

func (s *Server) seedPrincipal(p seedPrincipal) error {
	if p.ClientID == "" || p.Secret == "" {
		return errors.New("set clientID (a UUID) and secret")
	}
	if slices.ContainsFunc(s.state().directory.Principals(), func(known access.Principal) bool { return known.ClientID == p.ClientID }) {
		return nil
	}
	made, err := s.AddPrincipal(Principal{Name: p.Name, ClientID: p.ClientID, Secret: p.Secret})
	if err != nil {
		return err
	}
	for _, r := range p.Roles {
		scope := s.ResourceID(s.accountOr(r.Account))
		if r.Container != "" {
			scope += "/blobServices/default/containers/" + r.Container
		}
		if _, err := s.Assign(made.ObjectID, r.Role, scope); err != nil {
			return err
		}
	}
	return nil
}
