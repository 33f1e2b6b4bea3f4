// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// TestRolesInAnyCase assigns roles by IDs in upper case, which Azure compares without case.
func TestRolesInAnyCase(t *testing.T) {
	t.Parallel()
	d, err := access.NewDirectory(journal.Discard{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	const custom, reader = "0c867c2a-1d8c-454a-a3db-ab2ea1bdc8bb", "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	const scope = "/subscriptions/one"
	if err := d.PutRole(access.Role{ID: custom, Name: "custom", Actions: []string{"*/read"}, Scopes: []string{scope}}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{custom, reader} {
		err := d.PutAssignment(access.Assignment{ID: id, PrincipalID: id, Role: strings.ToUpper(id), Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		if !d.Allowed(id, "Microsoft.Storage/storageAccounts/read", scope+"/resourceGroups/two", nil) {
			t.Errorf("the role %s in upper case allows nothing", id)
		}
	}
}
