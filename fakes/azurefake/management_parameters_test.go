// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage/v2"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/management"
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
)

// managed is an HTTP call to Azure Resource Manager. asked is its body in the SDK's type.
type managed struct {
	method, path string
	asked        any
}

// managedCalls are all calls by their names.
func (c caller) managedCalls() map[string]managed {
	const providers = "/providers/"
	identities := c.GroupID() + providers + "Microsoft.ManagedIdentity/userAssignedIdentities"
	federated := identities + "/app/federatedIdentityCredentials"
	assignments := c.GroupID() + providers + "Microsoft.Authorization/roleAssignments"
	definitions := c.GroupID() + providers + "Microsoft.Authorization/roleDefinitions"
	account := c.ResourceID(azurefake.DefaultAccount)
	role, assigned := "/"+uuid.NewString(), "/"+uuid.NewString()
	return map[string]managed{
		"UserAssignedIdentities.CreateOrUpdate":              {"PUT", identities + "/app", anIdentity()},
		"UserAssignedIdentities.Get":                         {"GET", identities + "/app", nil},
		"UserAssignedIdentities.Delete":                      {"DELETE", identities + "/app", nil},
		"UserAssignedIdentities.NewListByResourceGroupPager": {"GET", identities, nil},
		"FederatedIdentityCredentials.CreateOrUpdate":        {"PUT", federated + "/fed", aFederation("https://issuer", "me", "aud")},
		"FederatedIdentityCredentials.Get":                   {"GET", federated + "/fed", nil},
		"FederatedIdentityCredentials.Delete":                {"DELETE", federated + "/fed", nil},
		"FederatedIdentityCredentials.NewListPager":          {"GET", federated, nil},
		"RoleAssignments.Create":                             {"PUT", assignments + assigned, c.assignment(c.ObjectID, readerRole)},
		"RoleAssignments.Get":                                {"GET", assignments + assigned, nil},
		"RoleAssignments.Delete":                             {"DELETE", assignments + assigned, nil},
		"RoleAssignments.NewListForScopePager":               {"GET", assignments, nil},
		"RoleDefinitions.CreateOrUpdate": {"PUT", definitions + role, armauthorization.RoleDefinition{Properties: &armauthorization.RoleDefinitionProperties{
			RoleName: to.Ptr("made" + role), AssignableScopes: to.SliceOfPtrs(c.GroupID()), Permissions: []*armauthorization.Permission{{Actions: to.SliceOfPtrs("*/read")}},
		}}},
		"RoleDefinitions.Get":               {"GET", definitions + role, nil},
		"RoleDefinitions.Delete":            {"DELETE", definitions + role, nil},
		"RoleDefinitions.NewListPager":      {"GET", definitions, nil},
		"Accounts.ListKeys":                 {"POST", account + "/listKeys", nil},
		"Accounts.RegenerateKey":            {"POST", account + "/regenerateKey", armstorage.AccountRegenerateKeyParameters{KeyName: to.Ptr("key2")}},
		"BlobServices.GetServiceProperties": {"GET", account + "/blobServices/default", nil},
		"BlobServices.SetServiceProperties": {"PUT", account + "/blobServices/default", keepContainers(7)},
	}
}

// manage sends a call and returns the status and the response.
func (c caller) manage(t *testing.T, method, path, query string, body any) (int, string) {
	t.Helper()
	raw, err := json.Marshal(body)
	wantNoError(t, err)
	if body == nil {
		raw = nil
	}
	token, err := c.credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://management.azure.com/.default"}})
	wantNoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), method, c.URL()+path+"?api-version=2024-01-01"+query, strings.NewReader(string(raw)))
	wantNoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.options.Transport.Do(request)
	wantNoError(t, err)
	defer func() { _ = response.Body.Close() }() // it is read
	said, err := io.ReadAll(response.Body)
	wantNoError(t, err)
	return response.StatusCode, string(said)
}

// full is a value of a type of the SDK with everything in it.
func full(of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(full(of.Elem()))
	case reflect.Slice:
		v.Set(reflect.Append(v, full(of.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(reflect.ValueOf("key"), full(of.Elem()))
	case reflect.Struct:
		for i := range of.NumField() {
			if of.Field(i).IsExported() {
				v.Field(i).Set(full(of.Field(i).Type))
			}
		}
	case reflect.String:
		v.SetString("x")
	default: // numbers and truths are as good as they are
	}
	return v
}

// fieldsOf returns the fields of the SDK's type, in the granularity of the list.
func fieldsOf(t *testing.T, asked any, listed accept.List) []string {
	t.Helper()
	raw, err := json.Marshal(full(reflect.TypeOf(asked)).Interface())
	wantNoError(t, err)
	var document any
	wantNoError(t, json.Unmarshal(raw, &document))
	var out []string
	var walk func(path string, v any)
	walk = func(path string, v any) {
		below, isObject := v.(map[string]any)
		if list, ok := v.([]any); ok && len(list) == 1 {
			below, isObject = list[0].(map[string]any)
		}
		if listed.Has(path) || !isObject || path != "" && !listed.HasBelow(path) {
			out = append(out, path)
			return
		}
		for name, one := range below {
			walk(strings.TrimPrefix(path+"."+name, "."), one)
		}
	}
	walk("", document)
	slices.Sort(out)
	return out
}

// withField returns a body with a field more.
func withField(t *testing.T, asked any, field string) map[string]any {
	t.Helper()
	raw, err := json.Marshal(asked)
	wantNoError(t, err)
	body := map[string]any{}
	wantNoError(t, json.Unmarshal(raw, &body))
	at, names := body, strings.Split(field, ".")
	for _, name := range names[:len(names)-1] {
		switch below := at[name].(type) {
		case map[string]any:
			at = below
		case []any:
			at = below[0].(map[string]any)
		default:
			next := map[string]any{}
			at[name], at = next, next
		}
	}
	at[names[len(names)-1]] = "2020-01-01T00:00:00Z"
	if strings.HasSuffix(field, "systemData") {
		at[names[len(names)-1]] = map[string]any{"createdBy": "me"}
	}
	return body
}

// managedQueries are the parameters that any call of the SDK's clients has, and one that none has.
var managedQueries = []string{"$expand", "$filter", "$skipToken", "$skiptoken", "$top", "tenantId", "colour"}

// TestManagementParameters sends every call with every query parameter, and with every field of the SDK's type for
// its body. The fake must reject by name what it does not implement. The page lists the results.
func TestManagementParameters(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	c := s.caller(t, "Owner")
	_, err := c.identities(t).CreateOrUpdate(t.Context(), s.ResourceGroup(), "app", anIdentity(), nil)
	wantCode(t, "make an identity", err, "")
	all, listed := c.managedCalls(), management.Inputs
	var page strings.Builder
	page.WriteString("| call of Azure Resource Manager | query | fields of the body | rejected fields |\n|---|---|---|---|\n")
	for _, name := range management.Operations() {
		call, known := all[name]
		if !known {
			t.Errorf("nothing calls %s", name)
			continue
		}
		var queries, fields, refused []string
		for _, p := range managedQueries {
			code := "UnsupportedQueryParameter"
			if listed[name].Query.Has(p) {
				queries, code = append(queries, p), "UnsupportedQuery\""
			}
			if status, said := c.manage(t, call.method, call.path, "&"+p+"=x", call.asked); status != http.StatusBadRequest || !strings.Contains(said, code) {
				t.Errorf("%s with %s: %d %s", name, p, status, said)
			}
		}
		if call.asked != nil {
			for _, field := range fieldsOf(t, call.asked, listed[name].Fields) {
				use := listed[name].Fields.Use(field)
				unknown := use == accept.Unknown
				switch use {
				case accept.Served:
					fields = append(fields, field)
					continue
				case accept.Unknown:
					refused = append(refused, field)
				}
				status, said := c.manage(t, call.method, call.path, "", withField(t, call.asked, field))
				if !unknown && status >= http.StatusMultipleChoices || unknown && (status != http.StatusBadRequest || !strings.Contains(said, "the field "+field+" of")) {
					t.Errorf("%s with %s: %d %s", name, field, status, said)
				}
			}
			if status, said := c.manage(t, call.method, call.path, "", withField(t, call.asked, "properties.colour")); status != http.StatusBadRequest || !strings.Contains(said, "properties") {
				t.Errorf("%s with what nobody knows: %d %s", name, status, said)
			}
		}
		row := func(names []string) string { return cmp.Or(strings.Join(names, ", "), "–") }
		fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", name, row(queries), row(fields), row(refused))
	}
	for name := range all {
		if !slices.Contains(management.Operations(), name) {
			t.Errorf("%s is not in the list", name)
		}
	}
	comparePage(t, page.String())
}

// TestManagementNotServed has calls that the cloud has and the fake has not, and queries that mean several things or cannot be read.
func TestManagementNotServed(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	c := s.caller(t, "Owner")
	calls := c.managedCalls()
	for what, test := range map[string]struct{ method, path, query, says string }{
		"an update":                   {"PATCH", calls["UserAssignedIdentities.Get"].path, "", "does not support PATCH /subscriptions"},
		"resource groups":             {"GET", "/subscriptions/" + s.SubscriptionID() + "/resourceGroups", "", "does not support GET /subscriptions"},
		"a storage account":           {"GET", s.ResourceID(azurefake.DefaultAccount), "", "does not support GET /subscriptions"},
		"a filter that is unreadable": {"GET", calls["RoleDefinitions.NewListPager"].path, "&$filter=%zz", "cannot be read"},
		"two filters":                 {"GET", calls["RoleDefinitions.NewListPager"].path, "&$filter=a&$filter=b", "$filter is given more than once"},
	} {
		if status, said := c.manage(t, test.method, test.path, test.query, nil); status != http.StatusBadRequest || !strings.Contains(said, test.says) {
			t.Errorf("%s: %d %s", what, status, said)
		}
	}
}

// TestRoleFilters lists role definitions as clients look for one by its name ("Role Definitions - List").
func TestRoleFilters(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	c := s.caller(t, "Owner")
	permissions := []*armauthorization.Permission{{Actions: to.SliceOfPtrs("*/read")}}
	_, err := c.definitions(t).CreateOrUpdate(t.Context(), s.GroupID(), uuid.NewString(), armauthorization.RoleDefinition{Properties: &armauthorization.RoleDefinitionProperties{
		RoleName: to.Ptr("Team's 100% readers"), RoleType: to.Ptr("CustomRole"), AssignableScopes: to.SliceOfPtrs(s.GroupID()), Permissions: permissions,
	}}, nil)
	wantCode(t, "define a role", err, "")
	_, err = c.definitions(t).CreateOrUpdate(t.Context(), s.GroupID(), uuid.NewString(), armauthorization.RoleDefinition{Properties: &armauthorization.RoleDefinitionProperties{
		RoleName: to.Ptr("ours"), RoleType: to.Ptr("BuiltInRole"), AssignableScopes: to.SliceOfPtrs(s.GroupID()), Permissions: permissions,
	}}, nil)
	wantCode(t, "a built-in role", err, "InvalidRoleDefinition")
	list := func(filter *string) ([]*armauthorization.RoleDefinition, error) {
		page, err := c.definitions(t).NewListPager(s.GroupID(), &armauthorization.RoleDefinitionsClientListOptions{Filter: filter}).NextPage(t.Context())
		return page.Value, err
	}
	every, err := list(nil)
	wantCode(t, "all", err, "")
	for filter, want := range map[string]int{
		"roleName eq 'Storage Blob Data Reader'": 1, "roleName eq 'Team''s 100% readers'": 1, "roleName eq 'nobody'": 0,
		"type eq 'CustomRole'": 1, "type eq 'BuiltInRole'": len(every) - 1,
	} {
		if found, err := list(&filter); err != nil || len(found) != want {
			t.Errorf("%s: %d are listed, %v; want %d", filter, len(found), err, want)
		}
	}
	_, err = list(to.Ptr("description eq 'x'"))
	wantCode(t, "another filter", err, "UnsupportedQuery")
}
