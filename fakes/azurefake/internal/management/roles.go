// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	authfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2/fake"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
)

// maxAssignments is how many role assignments a subscription may have.
const maxAssignments = 4000

// conditionVersion is the only existing version of conditions.
const conditionVersion = "2.0"

func (c *Call) assignmentServer() *authfake.RoleAssignmentsServer {
	type (
		put = armauthorization.RoleAssignmentsClientCreateResponse
		get = armauthorization.RoleAssignmentsClientGetResponse
		del = armauthorization.RoleAssignmentsClientDeleteResponse
		all = armauthorization.RoleAssignmentsClientListForScopeResponse
	)
	directory := c.api.options.Directory
	return &authfake.RoleAssignmentsServer{
		Create: func(_ context.Context, _, name string, asked armauthorization.RoleAssignmentCreateParameters, _ *armauthorization.RoleAssignmentsClientCreateOptions) (
			fake.Responder[put], fake.ErrorResponder,
		) {
			made, status, err := c.api.putAssignment(c.route.scope, name, asked)
			return respond(status, put{RoleAssignment: c.api.assignmentResponse(made)}, err)
		},
		Get: func(_ context.Context, _, name string, _ *armauthorization.RoleAssignmentsClientGetOptions) (fake.Responder[get], fake.ErrorResponder) {
			found, err := c.assignment(name)
			return respond(http.StatusOK, get{RoleAssignment: c.api.assignmentResponse(found)}, err)
		},
		Delete: func(_ context.Context, _, name string, _ *armauthorization.RoleAssignmentsClientDeleteOptions) (fake.Responder[del], fake.ErrorResponder) {
			found, err := c.assignment(name)
			if err != nil {
				return respond(http.StatusNoContent, del{}, nil)
			}
			return respond(http.StatusOK, del{RoleAssignment: c.api.assignmentResponse(found)}, directory.RemoveAssignment(found.ID))
		},
		NewListForScopePager: func(string, *armauthorization.RoleAssignmentsClientListForScopeOptions) (pages fake.PagerResponder[all]) {
			wanted, err := selection(c.filter(), c.route.scope)
			if err != nil {
				pages.AddError(err)
				return pages
			}
			page := all{RoleAssignmentListResult: armauthorization.RoleAssignmentListResult{Value: []*armauthorization.RoleAssignment{}}}
			for _, one := range directory.Assignments() {
				if wanted(one) {
					page.Value = append(page.Value, to.Ptr(c.api.assignmentResponse(one)))
				}
			}
			pages.AddPage(http.StatusOK, page, nil)
			return pages
		},
	}
}

// filter returns the filter of a list request.
func (c *Call) filter() string { return c.query.Get("$filter") }

// ofPrincipal matches a filter on the principal of assignments. There are no groups, which assignedTo would also
// search.
var ofPrincipal = regexp.MustCompile(`^(?:principalId eq '([0-9A-Fa-f-]{36})'|assignedTo\('([0-9A-Fa-f-]{36})'\))$`)

// selection parses the filter of a list. By default it selects assignments at, above and below the scope.
func selection(filter, scope string) (func(access.Assignment) bool, error) {
	wanted := func(a access.Assignment) bool { return access.Under(a.Scope, scope) || access.Under(scope, a.Scope) }
	if filter == "" {
		return wanted, nil
	}
	for clause := range strings.SplitSeq(filter, " and ") {
		before, groups := wanted, ofPrincipal.FindStringSubmatch(clause)
		switch {
		case clause == "atScope()":
			wanted = func(a access.Assignment) bool { return before(a) && access.Under(scope, a.Scope) }
		case groups != nil:
			wanted = func(a access.Assignment) bool {
				return before(a) && strings.EqualFold(a.PrincipalID, groups[1]+groups[2])
			}
		default:
			return nil, bad("UnsupportedQuery", "The filter '"+clause+"' is not supported. Supported filters are atScope(), principalId eq '{value}' and assignedTo('{value}').")
		}
	}
	return wanted, nil
}

// ofRole is a filter for role definitions. A quote in a name is written twice.
var ofRole = regexp.MustCompile(`^(roleName|type) eq '((?:[^']|'')*)'$`)

// roleSelection reads the filter of a list of role definitions.
func roleSelection(filter string) (func(access.Role) bool, error) {
	if filter == "" {
		return func(access.Role) bool { return true }, nil
	}
	groups := ofRole.FindStringSubmatch(filter)
	if groups == nil {
		return nil, bad("UnsupportedQuery", "The filter '"+filter+"' is not supported. Supported filters are roleName eq '{value}' and type eq '{value}'.")
	}
	value := strings.ReplaceAll(groups[2], "''", "'")
	if groups[1] == "type" {
		return func(r access.Role) bool { return kindOfRole(r) == value }, nil
	}
	return func(r access.Role) bool { return r.Name == value }, nil
}

// assignment finds a role assignment at the scope of the call by its name.
func (c *Call) assignment(name string) (access.Assignment, error) {
	for _, one := range c.api.options.Directory.Assignments() {
		if strings.EqualFold(one.ID, name) && strings.EqualFold(one.Scope, c.route.scope) {
			return one, nil
		}
	}
	return access.Assignment{}, missing("RoleAssignmentNotFound", c.Resource)
}

// putAssignment creates a role assignment. Repeating an identical assignment succeeds. A different assignment with an
// existing name is rejected, and so is an identical one with another name.
func (a *API) putAssignment(scope, name string, asked armauthorization.RoleAssignmentCreateParameters) (access.Assignment, int, error) {
	if asked.Properties == nil {
		return access.Assignment{}, 0, bad("InvalidRequestContent", "The properties of the role assignment are missing.")
	}
	next := access.Assignment{
		ID: strings.ToLower(name), PrincipalID: text(asked.Properties.PrincipalID), Role: path.Base(text(asked.Properties.RoleDefinitionID)),
		Scope: scope, Condition: text(asked.Properties.Condition),
	}
	if version := text(asked.Properties.ConditionVersion); version != "" && version != conditionVersion {
		return next, 0, bad("InvalidRoleAssignmentCondition", "The version of the condition must be "+conditionVersion+".")
	}
	principal, exists := a.options.Directory.Principal(next.PrincipalID)
	if !exists {
		return next, 0, bad("PrincipalNotFound", "Principal "+next.PrincipalID+" does not exist in the directory.")
	}
	next.User = principal.User
	if said := asked.Properties.PrincipalType; said != nil && *said != *kindOf(next.User) {
		return next, 0, bad("UnmatchedPrincipalType", "The PrincipalId '"+next.PrincipalID+"' has type '"+string(*kindOf(next.User))+
			"', which is different from specified PrincipalType '"+string(*said)+"'.")
	}
	if err := a.checkAssignment(next); err != nil {
		return next, 0, err
	}
	assignments := a.options.Directory.Assignments()
	for _, one := range assignments {
		same := one.PrincipalID == next.PrincipalID && strings.EqualFold(one.Role, next.Role) && strings.EqualFold(one.Scope, scope)
		switch {
		case one.ID == next.ID && same:
			return one, http.StatusOK, nil
		case one.ID == next.ID:
			return next, 0, bad("RoleAssignmentUpdateNotPermitted", "Tenant ID, application ID, principal ID, and scope are not allowed to be updated.")
		case same:
			return next, 0, conflict("RoleAssignmentExists", "The role assignment already exists. The ID of the existing role assignment is "+one.ID+".")
		}
	}
	if len(assignments) >= maxAssignments {
		return next, 0, bad("RoleAssignmentLimitExceeded", "The number of role assignments for this subscription has been exceeded.")
	}
	return next, http.StatusCreated, a.options.Directory.PutAssignment(next)
}

func (a *API) checkAssignment(next access.Assignment) error {
	if _, err := access.Holds(next.Condition, "", nil); next.Condition != "" && err != nil {
		return bad("InvalidRoleAssignmentCondition", "The condition of the role assignment is not valid: "+err.Error()+".")
	}
	role, known := a.options.Directory.Role(next.Role)
	switch {
	case uuid.Validate(next.ID) != nil || len(next.ID) != 36:
		return bad("InvalidRoleAssignmentId", "The role assignment ID '"+next.ID+"' is not valid. The role assignment ID must be a GUID.")
	case !known:
		return missing("RoleDefinitionDoesNotExist", next.Role)
	case role.Custom() && !slices.ContainsFunc(role.Scopes, func(scope string) bool { return access.Under(next.Scope, scope) }):
		return bad("RoleDefinitionScopeNotValid", "The role "+role.Name+" is not assignable at scope '"+next.Scope+"'.")
	}
	return nil
}

func (a *API) assignmentResponse(one access.Assignment) armauthorization.RoleAssignment {
	var condition, version *string
	if one.Condition != "" {
		condition, version = &one.Condition, to.Ptr(conditionVersion)
	}
	return armauthorization.RoleAssignment{
		ID: to.Ptr(one.Scope + "/providers/Microsoft.Authorization/roleAssignments/" + one.ID), Name: to.Ptr(one.ID),
		Type: to.Ptr("Microsoft.Authorization/roleAssignments"),
		Properties: &armauthorization.RoleAssignmentProperties{
			PrincipalID: to.Ptr(one.PrincipalID), Scope: to.Ptr(one.Scope), RoleDefinitionID: to.Ptr(a.roleID(one.Role)),
			PrincipalType: kindOf(one.User), Condition: condition, ConditionVersion: version,
		},
	}
}

func kindOf(user bool) *armauthorization.PrincipalType {
	if user {
		return to.Ptr(armauthorization.PrincipalTypeUser)
	}
	return to.Ptr(armauthorization.PrincipalTypeServicePrincipal)
}

func (a *API) roleID(id string) string {
	return "/subscriptions/" + a.options.Subscription + "/providers/Microsoft.Authorization/roleDefinitions/" + id
}

func (c *Call) definitionServer() *authfake.RoleDefinitionsServer {
	type (
		put = armauthorization.RoleDefinitionsClientCreateOrUpdateResponse
		get = armauthorization.RoleDefinitionsClientGetResponse
		del = armauthorization.RoleDefinitionsClientDeleteResponse
		all = armauthorization.RoleDefinitionsClientListResponse
	)
	directory := c.api.options.Directory
	return &authfake.RoleDefinitionsServer{
		CreateOrUpdate: func(_ context.Context, _, id string, asked armauthorization.RoleDefinition, _ *armauthorization.RoleDefinitionsClientCreateOrUpdateOptions) (
			fake.Responder[put], fake.ErrorResponder,
		) {
			made, err := c.api.putRole(id, asked)
			return respond(http.StatusCreated, put{RoleDefinition: c.api.roleResponse(made)}, err)
		},
		Get: func(_ context.Context, _, id string, _ *armauthorization.RoleDefinitionsClientGetOptions) (fake.Responder[get], fake.ErrorResponder) {
			found, ok := directory.Role(id)
			if !ok {
				return respond(0, get{}, missing("RoleDefinitionDoesNotExist", c.Resource))
			}
			return respond(http.StatusOK, get{RoleDefinition: c.api.roleResponse(found)}, nil)
		},
		Delete: func(_ context.Context, _, id string, _ *armauthorization.RoleDefinitionsClientDeleteOptions) (fake.Responder[del], fake.ErrorResponder) {
			found, ok := directory.Role(id)
			if !ok {
				return respond(http.StatusNoContent, del{}, nil)
			}
			return respond(http.StatusOK, del{RoleDefinition: c.api.roleResponse(found)}, c.api.removeRole(found))
		},
		NewListPager: func(string, *armauthorization.RoleDefinitionsClientListOptions) (pages fake.PagerResponder[all]) {
			wanted, err := roleSelection(c.filter())
			if err != nil {
				pages.AddError(err)
				return pages
			}
			page := all{RoleDefinitionListResult: armauthorization.RoleDefinitionListResult{Value: []*armauthorization.RoleDefinition{}}}
			for _, one := range directory.Roles() {
				if wanted(one) {
					page.Value = append(page.Value, to.Ptr(c.api.roleResponse(one)))
				}
			}
			pages.AddPage(http.StatusOK, page, nil)
			return pages
		},
	}
}

func (a *API) putRole(id string, asked armauthorization.RoleDefinition) (access.Role, error) {
	if asked.Properties == nil || len(asked.Properties.Permissions) != 1 || asked.Properties.Permissions[0] == nil {
		return access.Role{}, bad("InvalidRoleDefinition", "A role definition must have exactly one set of permissions.")
	}
	allowed := asked.Properties.Permissions[0]
	next := access.Role{
		ID: strings.ToLower(id), Name: text(asked.Properties.RoleName), Scopes: texts(asked.Properties.AssignableScopes),
		Actions: texts(allowed.Actions), NotActions: texts(allowed.NotActions),
		DataActions: texts(allowed.DataActions), NotDataActions: texts(allowed.NotDataActions),
	}
	known, exists := a.options.Directory.Role(next.ID)
	switch {
	case uuid.Validate(id) != nil:
		return next, bad("InvalidRoleDefinitionId", "The role definition ID '"+id+"' is not valid. The role definition ID must be a GUID.")
	case next.Name == "" || len(next.Scopes) == 0:
		return next, bad("InvalidRoleDefinition", "A custom role must have a name and assignable scopes.")
	case asked.Properties.RoleType != nil && *asked.Properties.RoleType != customRole:
		return next, bad("InvalidRoleDefinition", "A role of the type "+*asked.Properties.RoleType+" cannot be created.")
	case exists && !known.Custom():
		return next, bad("RoleDefinitionIsBuiltIn", "The built-in role "+known.Name+" cannot be changed.")
	}
	for _, other := range a.options.Directory.Roles() {
		if other.Name == next.Name && other.ID != next.ID {
			return next, conflict("RoleDefinitionWithSameNameExists", "Another role has the name "+next.Name+".")
		}
	}
	return next, a.options.Directory.PutRole(next)
}

func (a *API) removeRole(r access.Role) error {
	if !r.Custom() {
		return bad("RoleDefinitionIsBuiltIn", "The built-in role "+r.Name+" cannot be deleted.")
	}
	for _, one := range a.options.Directory.Assignments() {
		if strings.EqualFold(one.Role, r.ID) {
			return bad("RoleDefinitionHasAssignments", "There are existing role assignments referencing role (code: RoleDefinitionHasAssignments).")
		}
	}
	return a.options.Directory.RemoveRole(r.ID)
}

const customRole = "CustomRole"

func kindOfRole(r access.Role) string {
	if r.Custom() {
		return customRole
	}
	return "BuiltInRole"
}

func (a *API) roleResponse(r access.Role) armauthorization.RoleDefinition {
	scopes := []string{"/"}
	if r.Custom() {
		scopes = r.Scopes
	}
	return armauthorization.RoleDefinition{
		ID: to.Ptr(a.roleID(r.ID)), Name: to.Ptr(r.ID), Type: to.Ptr("Microsoft.Authorization/roleDefinitions"),
		Properties: &armauthorization.RoleDefinitionProperties{
			RoleName: to.Ptr(r.Name), RoleType: to.Ptr(kindOfRole(r)), AssignableScopes: to.SliceOfPtrs(scopes...),
			Permissions: []*armauthorization.Permission{{
				Actions: to.SliceOfPtrs(r.Actions...), NotActions: to.SliceOfPtrs(r.NotActions...),
				DataActions: to.SliceOfPtrs(r.DataActions...), NotDataActions: to.SliceOfPtrs(r.NotDataActions...),
			}},
		},
	}
}
