// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Describe compares an existing container, which may have another owner, with the requested parameters. It changes
// nothing.
func (s *Store) Describe(ctx context.Context, name string, want params.Bucket) error {
	found, err := s.properties(ctx, name)
	if err != nil {
		return err
	}
	var differences []string
	if want.EncryptionScope != "" && want.EncryptionScope != found.scope {
		differences = append(differences, fmt.Sprintf("its default encryption scope is %q", found.scope))
	}
	if want.ScopeOnly && !found.scopeOnly {
		differences = append(differences, "it allows other encryption scopes")
	}
	for _, key := range slices.Sorted(maps.Keys(want.Metadata)) {
		if found.metadata[key] != want.Metadata[key] {
			differences = append(differences, fmt.Sprintf("its metadata key %s has another value", key))
		}
	}
	if len(differences) > 0 {
		return driverkit.AlreadyExists("container %s does not match the parameters: %s", name, strings.Join(differences, "; "))
	}
	return nil
}
