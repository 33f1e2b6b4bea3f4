// SPDX-License-Identifier: Apache-2.0

package management

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// listed are the query parameters beside api-version and, with a dot before them, the fields of the body that each call takes.
// What is not listed is refused by name: to ignore it would be to do something else than what was asked for. A "-" behind a
// field says that it is the service's to say: it is taken and ignored, so that clients can send back what they have read. A field
// stands for all below it.
const listed = `
	UserAssignedIdentities.CreateOrUpdate       .location .tags .properties.clientId- .properties.principalId- .properties.tenantId- .id- .name- .systemData- .type-
	FederatedIdentityCredentials.CreateOrUpdate .properties.audiences .properties.issuer .properties.subject .id- .name- .systemData- .type-
	RoleAssignments.Create                      .properties.condition .properties.conditionVersion .properties.principalId .properties.principalType .properties.roleDefinitionId
		.properties.createdBy- .properties.createdOn- .properties.scope- .properties.updatedBy- .properties.updatedOn-
	RoleAssignments.NewListForScopePager        $filter
	RoleDefinitions.CreateOrUpdate              .properties.assignableScopes .properties.permissions.actions .properties.permissions.dataActions .properties.permissions.notActions
		.properties.permissions.notDataActions .properties.roleName .properties.type .id- .name- .type-
	RoleDefinitions.NewListPager                $filter
	Accounts.RegenerateKey                      .keyName
`

// Parameters returns what each call takes of listed, by its name; true is what does something.
func Parameters() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, name := range Operations() {
		out[name] = map[string]bool{}
	}
	var takes map[string]bool
	for line := range strings.Lines(strings.TrimSpace(listed)) {
		words := strings.Fields(line)
		if !strings.HasPrefix(line, "\t\t") {
			takes, words = out[words[0]], words[1:]
		}
		for _, w := range words {
			takes[strings.TrimSuffix(w, "-")] = !strings.HasSuffix(w, "-")
		}
	}
	return out
}

// checkParameters refuses query parameters and fields of the body that the call does not take.
func (c *Call) checkParameters() *azerr.Error {
	takes := c.api.parameters[c.Operation]
	for name := range c.query {
		if _, ok := takes[name]; !ok && name != "api-version" {
			return c.unserved("UnsupportedQueryParameter", "parameter", name)
		}
	}
	if c.r.Method != http.MethodPut && c.r.Method != http.MethodPost {
		return nil
	}
	var body any
	if json.Unmarshal(c.body(), &body) != nil {
		return nil // the SDK's server says so
	}
	if field := untaken(takes, "", body); field != "" {
		return c.unserved("UnsupportedField", "field", field[1:])
	}
	return nil
}

// untaken is a field that is not taken, "" for none. null is no value.
func untaken(takes map[string]bool, path string, value any) string {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			if field := untaken(takes, path, element); field != "" {
				return field
			}
		}
	case map[string]any:
		for name, below := range value {
			field := path + "." + name
			if _, ok := takes[field]; ok || below == nil {
				continue
			}
			if !holds(takes, field) {
				return field
			}
			if deeper := untaken(takes, field, below); deeper != "" {
				return deeper
			}
		}
	}
	return ""
}

// holds reports whether fields below this one are taken.
func holds(takes map[string]bool, field string) bool {
	for taken := range takes {
		if strings.HasPrefix(taken, field+".") {
			return true
		}
	}
	return false
}

func (c *Call) unserved(code, kind, name string) *azerr.Error {
	return bad(code, "This fake of Azure Resource Manager does not serve the "+kind+" "+name+" of "+c.Operation+".")
}
