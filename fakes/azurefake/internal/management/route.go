// SPDX-License-Identifier: Apache-2.0

package management

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	authfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2/fake"
	msifake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi/fake"
	storagefake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage/v2/fake"
)

// transporter is a generated fake server of the SDK.
type transporter interface {
	Do(request *http.Request) (*http.Response, error)
}

// route is the call that a request is.
type route struct {
	// name is the SDK's name of the call, by which its servers dispatch.
	name string
	// action at scope is the permission that the caller needs.
	action, scope string
	transport     func(*Call) transporter
}

// kind is a family of resources.
type kind struct {
	path *regexp.Regexp
	// calls maps methods to the SDK's names and the actions; the last group of a path matches if it names a resource.
	calls map[string][2]string
	// scope returns the scope from the path's groups; by default the path itself.
	scope     func(groups []string, path string) string
	transport func(*Call) transporter
}

const (
	group      = `/subscriptions/[^/]+/resourceGroups/[^/]+`
	identities = "Microsoft.ManagedIdentity/userAssignedIdentities/"
	federated  = identities + "federatedIdentityCredentials/"
	roles      = "Microsoft.Authorization/"
	accounts   = "Microsoft.Storage/storageAccounts/"
)

// Paths are matched in the case of the specification, in which the SDK and azure-cli write them.
var (
	identityPath   = regexp.MustCompile(`^` + group + `/providers/Microsoft\.ManagedIdentity/userAssignedIdentities/[^/]+$`)
	identitiesPath = regexp.MustCompile(`^` + group + `/providers/Microsoft\.ManagedIdentity/userAssignedIdentities$`)
	federatedPath  = regexp.MustCompile(`^` + group + `/providers/Microsoft\.ManagedIdentity/userAssignedIdentities/[^/]+/federatedIdentityCredentials/[^/]+$`)
	federatedsPath = regexp.MustCompile(`^` + group + `/providers/Microsoft\.ManagedIdentity/userAssignedIdentities/[^/]+/federatedIdentityCredentials$`)
	assignPath     = regexp.MustCompile(`^(/subscriptions/.+)/providers/Microsoft\.Authorization/roleAssignments/[^/]+$`)
	assignsPath    = regexp.MustCompile(`^(/subscriptions/.+)/providers/Microsoft\.Authorization/roleAssignments$`)
	definitionPath = regexp.MustCompile(`^(/subscriptions/.+)/providers/Microsoft\.Authorization/roleDefinitions/[^/]+$`)
	definesPath    = regexp.MustCompile(`^(/subscriptions/.+)/providers/Microsoft\.Authorization/roleDefinitions$`)
	listKeysPath   = regexp.MustCompile(`^(` + group + `/providers/Microsoft\.Storage/storageAccounts/[^/]+)/listKeys$`)
	blobsPath      = regexp.MustCompile(`^` + group + `/providers/Microsoft\.Storage/storageAccounts/[^/]+/blobServices/default$`)
	newKeyPath     = regexp.MustCompile(`^(` + group + `/providers/Microsoft\.Storage/storageAccounts/[^/]+)/regenerateKey$`)
)

func whole(_ []string, path string) string { return path }

func above(groups []string, _ string) string { return groups[1] }

// kinds are all resources, each with its calls.
func kinds() []kind {
	identity := func(c *Call) transporter {
		return msifake.NewUserAssignedIdentitiesServerTransport(c.identityServer())
	}
	federation := func(c *Call) transporter {
		return msifake.NewFederatedIdentityCredentialsServerTransport(c.federationServer())
	}
	assignment := func(c *Call) transporter { return authfake.NewRoleAssignmentsServerTransport(c.assignmentServer()) }
	definition := func(c *Call) transporter { return authfake.NewRoleDefinitionsServerTransport(c.definitionServer()) }
	blobs := func(c *Call) transporter { return storagefake.NewBlobServicesServerTransport(c.blobServer()) }
	account := func(c *Call) transporter { return storagefake.NewAccountsServerTransport(c.accountServer()) }
	const i, f, a, d = "UserAssignedIdentitiesClient.", "FederatedIdentityCredentialsClient.", "RoleAssignmentsClient.", "RoleDefinitionsClient."
	one := func(client, create, actions string) map[string][2]string {
		return map[string][2]string{"PUT": {client + create, actions + "write"}, "GET": {client + "Get", actions + "read"}, "DELETE": {client + "Delete", actions + "delete"}}
	}
	list := func(name, actions string) map[string][2]string {
		return map[string][2]string{"GET": {name, actions + "read"}}
	}
	return []kind{
		{identityPath, one(i, "CreateOrUpdate", identities), whole, identity},
		{identitiesPath, list(i+"NewListByResourceGroupPager", identities), whole, identity},
		{federatedPath, one(f, "CreateOrUpdate", federated), whole, federation},
		{federatedsPath, list(f+"NewListPager", federated), whole, federation},
		{assignPath, one(a, "Create", roles+"roleAssignments/"), above, assignment},
		{assignsPath, list(a+"NewListForScopePager", roles+"roleAssignments/"), above, assignment},
		{definitionPath, one(d, "CreateOrUpdate", roles+"roleDefinitions/"), above, definition},
		{definesPath, list(d+"NewListPager", roles+"roleDefinitions/"), above, definition},
		{listKeysPath, map[string][2]string{"POST": {"AccountsClient.ListKeys", accounts + "listkeys/action"}}, above, account},
		{newKeyPath, map[string][2]string{"POST": {"AccountsClient.RegenerateKey", accounts + "regeneratekey/action"}}, above, account},
		{blobsPath, map[string][2]string{
			"GET": {"BlobServicesClient.GetServiceProperties", accounts + "blobServices/read"},
			"PUT": {"BlobServicesClient.SetServiceProperties", accounts + "blobServices/write"},
		}, whole, blobs},
	}
}

// find returns the route of a request, or nil if there is none.
func (a *API) find(r *http.Request) *route {
	for part := range strings.SplitSeq(strings.TrimPrefix(r.URL.Path, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return nil // names no resource
		}
	}
	for _, k := range kinds() {
		groups := k.path.FindStringSubmatch(r.URL.Path)
		if groups == nil {
			continue
		}
		if call, ok := k.calls[r.Method]; ok {
			return &route{name: call[0], action: call[1], scope: k.scope(groups, r.URL.Path), transport: k.transport}
		}
	}
	return nil
}

// exists reports whether the subscription and the resource group of a path exist.
func (a *API) exists(path string) bool {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) < 2 || !strings.EqualFold(parts[1], a.options.Subscription) {
		return false
	}
	inGroup := len(parts) >= 4 && strings.EqualFold(parts[2], "resourceGroups")
	return !inGroup || strings.EqualFold(parts[3], a.options.Group)
}

// Operations returns the names of all operations as in Call.Operation, in order.
func Operations() []string {
	var out []string
	for _, k := range kinds() {
		for _, call := range k.calls {
			out = append(out, operation(call[0]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// operation is the name of a call of the SDK without the word Client.
func operation(name string) string { return strings.Replace(name, "Client.", ".", 1) }
