// SPDX-License-Identifier: Apache-2.0

package management

import (
	"encoding/json"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
)

// Inputs are the inputs of the calls that have any, without the query parameter api-version.
var Inputs = map[string]accept.Inputs{
	"Accounts.RegenerateKey": {Fields: accept.Names("keyName")},
	"BlobServices.SetServiceProperties": {
		Fields: accept.Names("properties.containerDeleteRetentionPolicy.days", "properties.containerDeleteRetentionPolicy.enabled").Ignored("id", "name", "type"),
	},
	"FederatedIdentityCredentials.CreateOrUpdate": {
		Fields: accept.Names("properties.audiences", "properties.issuer", "properties.subject").Ignored("id", "name", "systemData", "type"),
	},
	"RoleAssignments.Create": {
		Fields: accept.Names("condition", "conditionVersion", "principalId", "principalType", "roleDefinitionId").
			Ignored("createdBy", "createdOn", "scope", "updatedBy", "updatedOn").Below("properties"),
	},
	"RoleAssignments.NewListForScopePager": {Query: accept.Names("$filter")},
	"RoleDefinitions.CreateOrUpdate": {
		Fields: accept.Names("assignableScopes", "permissions.actions", "permissions.dataActions", "permissions.notActions", "permissions.notDataActions", "roleName", "type").
			Below("properties").Ignored("id", "name", "type"),
	},
	"RoleDefinitions.NewListPager": {Query: accept.Names("$filter")},
	"UserAssignedIdentities.CreateOrUpdate": {
		Fields: accept.Names("location", "tags").Ignored("properties.clientId", "properties.principalId", "properties.tenantId", "id", "name", "systemData", "type"),
	},
}

// checkParameters rejects query parameters and body fields that the call does not support.
func (c *Call) checkParameters() *azerr.Error {
	inputs := Inputs[c.Operation]
	for name := range c.query {
		if name != "api-version" && !inputs.Query.Has(name) {
			return c.unserved("UnsupportedQueryParameter", "parameter", name)
		}
	}
	if c.r.Method != http.MethodPut && c.r.Method != http.MethodPost {
		return nil
	}
	var body any
	if json.Unmarshal(c.body(), &body) != nil {
		return nil // the SDK's server reports it
	}
	if field, unknown := inputs.Fields.UnknownField(body, func(v any) bool { return v == nil }); unknown {
		return c.unserved("UnsupportedField", "field", field)
	}
	return nil
}

func (c *Call) unserved(code, kind, name string) *azerr.Error {
	return bad(code, "This fake of Azure Resource Manager does not support the "+kind+" "+name+" of "+c.Operation+".")
}
