// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// subscription is a server with TLS, as the clients of the SDK reach its management calls.
type subscription struct {
	*azurefake.Server

	options azcore.ClientOptions
}

func startSubscription(t *testing.T, o azurefake.Options) subscription {
	t.Helper()
	config, ca, err := azurefake.SelfSigned()
	wantNoError(t, err)
	o.TLS = config
	s := start(t, o)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	options := noRetry()
	options.Transport = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	options.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: s.URL() + "/", Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
		cloud.ResourceManager: {Endpoint: s.URL(), Audience: "https://management.azure.com"},
	}}
	return subscription{s, options}
}

// caller is a principal that logs in with a secret.
type caller struct {
	subscription

	azurefake.Principal

	credential azcore.TokenCredential
}

// caller makes a principal with built-in roles in the resource group.
func (s subscription) caller(t *testing.T, roles ...string) caller {
	t.Helper()
	p, err := s.AddPrincipal(azurefake.Principal{Name: "caller-" + uuid.NewString()})
	wantNoError(t, err)
	for _, role := range roles {
		if _, err := s.Assign(p.ObjectID, role, s.GroupID()); err != nil {
			t.Fatal(err)
		}
	}
	credential, err := azidentity.NewClientSecretCredential(s.TenantID(), p.ClientID, p.Secret, &azidentity.ClientSecretCredentialOptions{
		ClientOptions: s.options, DisableInstanceDiscovery: true,
	})
	wantNoError(t, err)
	return caller{s, p, credential}
}

func (c caller) arm() *arm.ClientOptions { return &arm.ClientOptions{ClientOptions: c.options} }

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		wantNoError(t, err)
		return v
	}
}

func (c caller) identities(t *testing.T) *armmsi.UserAssignedIdentitiesClient {
	t.Helper()
	return must[*armmsi.UserAssignedIdentitiesClient](t)(armmsi.NewUserAssignedIdentitiesClient(c.SubscriptionID(), c.credential, c.arm()))
}

func (c caller) federated(t *testing.T) *armmsi.FederatedIdentityCredentialsClient {
	t.Helper()
	return must[*armmsi.FederatedIdentityCredentialsClient](t)(armmsi.NewFederatedIdentityCredentialsClient(c.SubscriptionID(), c.credential, c.arm()))
}

func (c caller) assignments(t *testing.T) *armauthorization.RoleAssignmentsClient {
	t.Helper()
	return must[*armauthorization.RoleAssignmentsClient](t)(armauthorization.NewRoleAssignmentsClient(c.SubscriptionID(), c.credential, c.arm()))
}

func (c caller) definitions(t *testing.T) *armauthorization.RoleDefinitionsClient {
	t.Helper()
	return must[*armauthorization.RoleDefinitionsClient](t)(armauthorization.NewRoleDefinitionsClient(c.credential, c.arm()))
}

func (c caller) accounts(t *testing.T) *armstorage.AccountsClient {
	t.Helper()
	return must[*armstorage.AccountsClient](t)(armstorage.NewAccountsClient(c.SubscriptionID(), c.credential, c.arm()))
}

// container is the container's client by the caller's roles.
func (c caller) container(t *testing.T, name string) *container.Client {
	t.Helper()
	client, err := container.NewClient(c.AccountURL(azurefake.DefaultAccount)+"/"+name, c.credential, &container.ClientOptions{ClientOptions: c.options})
	return must[*container.Client](t)(client, err)
}

const (
	readerRole      = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
	contributorRole = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
)

func (c caller) blobServices(t *testing.T) *armstorage.BlobServicesClient {
	t.Helper()
	return must[*armstorage.BlobServicesClient](t)(armstorage.NewBlobServicesClient(c.SubscriptionID(), c.credential, c.arm()))
}

// keepContainers is the setting for deleted containers.
func keepContainers(days int32) armstorage.BlobServiceProperties {
	return armstorage.BlobServiceProperties{BlobServiceProperties: &armstorage.BlobServicePropertiesProperties{
		ContainerDeleteRetentionPolicy: &armstorage.DeleteRetentionPolicy{Enabled: to.Ptr(days > 0), Days: &days},
	}}
}

func (s subscription) roleID(id string) *string {
	return to.Ptr("/subscriptions/" + s.SubscriptionID() + "/providers/Microsoft.Authorization/roleDefinitions/" + id)
}

func (s subscription) containerID(name string) string {
	return s.ResourceID(azurefake.DefaultAccount) + "/blobServices/default/containers/" + name
}

func (s subscription) assignment(principal, role string) armauthorization.RoleAssignmentCreateParameters {
	return armauthorization.RoleAssignmentCreateParameters{Properties: &armauthorization.RoleAssignmentProperties{
		PrincipalID: to.Ptr(principal), RoleDefinitionID: s.roleID(role), PrincipalType: to.Ptr(armauthorization.PrincipalTypeServicePrincipal),
	}}
}

func anIdentity(tags ...string) armmsi.Identity {
	made := armmsi.Identity{Location: to.Ptr("westeurope"), Tags: map[string]*string{}}
	for _, tag := range tags {
		made.Tags[tag] = to.Ptr("1")
	}
	return made
}

func aFederation(issuer, subject string, audiences ...string) armmsi.FederatedIdentityCredential {
	return armmsi.FederatedIdentityCredential{Properties: &armmsi.FederatedIdentityCredentialProperties{
		Issuer: to.Ptr(issuer), Subject: to.Ptr(subject), Audiences: to.SliceOfPtrs(audiences...),
	}}
}

// TestIdentitiesAndFederatedCredentials uses all functions of the SDK's client.
func TestIdentitiesAndFederatedCredentials(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	c := s.caller(t, "Managed Identity Contributor")
	before, group := s.Inventory(), s.ResourceGroup()
	identities, federated := c.identities(t), c.federated(t)
	_, err := identities.Get(t.Context(), group, "app", nil)
	wantCode(t, "an identity that is not there", err, "ResourceNotFound")
	made, err := identities.CreateOrUpdate(t.Context(), group, "app", anIdentity("a"), nil)
	wantCode(t, "create", err, "")
	again, err := identities.CreateOrUpdate(t.Context(), group, "app", anIdentity("b"), nil)
	wantCode(t, "create again", err, "")
	if *again.Properties.PrincipalID != *made.Properties.PrincipalID || *again.Properties.ClientID != *made.Properties.ClientID {
		t.Error("the same identity has another principal")
	}
	read, err := identities.Get(t.Context(), group, "app", nil)
	wantCode(t, "get", err, "")
	if diff := cmp.Diff(again.Identity, read.Identity); diff != "" {
		t.Errorf("get returns something else than create (-create +get):\n%s", diff)
	}
	_, err = identities.CreateOrUpdate(t.Context(), group, "app", armmsi.Identity{Location: to.Ptr("eastus")}, nil)
	wantCode(t, "another location", err, "InvalidResourceLocation")
	_, err = identities.CreateOrUpdate(t.Context(), group, "other", armmsi.Identity{}, nil)
	wantCode(t, "no location", err, "LocationRequired")
	_, err = identities.CreateOrUpdate(t.Context(), "nowhere", "app", anIdentity(), nil)
	wantCode(t, "another resource group", err, "AuthorizationFailed")
	wide := must[string](t)(s.Assign(c.ObjectID, "Managed Identity Contributor", "/subscriptions/"+s.SubscriptionID()))
	_, err = identities.CreateOrUpdate(t.Context(), "nowhere", "app", anIdentity(), nil)
	wantCode(t, "one that is not there", err, "ResourceGroupNotFound")
	wantCode(t, "clean up", s.Unassign(wide), "")

	for what, test := range map[string]struct {
		name  string
		asked armmsi.FederatedIdentityCredential
		code  string
	}{
		"no https":      {"one", aFederation("http://issuer", "me", "aud"), "InvalidFederatedIdentityCredential"},
		"no subject":    {"one", aFederation("https://issuer", "", "aud"), "InvalidFederatedIdentityCredential"},
		"two audiences": {"one", aFederation("https://issuer", "me", "aud", "other"), "InvalidFederatedIdentityCredential"},
		"no properties": {"one", armmsi.FederatedIdentityCredential{}, "InvalidRequestContent"},
		"a bad name":    {"o", aFederation("https://issuer", "me", "aud"), "InvalidResourceName"},
	} {
		_, err := federated.CreateOrUpdate(t.Context(), group, "app", test.name, test.asked, nil)
		wantCode(t, what, err, test.code)
	}
	for i := range 20 {
		_, err := federated.CreateOrUpdate(t.Context(), group, "app", fmt.Sprintf("fed-%d", i), aFederation("https://issuer", fmt.Sprint(i), "aud"), nil)
		wantCode(t, "create a federated credential", err, "")
	}
	_, err = federated.CreateOrUpdate(t.Context(), group, "app", "more", aFederation("https://issuer", "more", "aud"), nil)
	wantCode(t, "a 21st", err, "FederatedIdentityCredentialLimitExceeded")
	_, err = federated.CreateOrUpdate(t.Context(), group, "app", "more", aFederation("https://issuer", "7", "aud"), nil)
	wantCode(t, "the same under another name", err, "FederatedIdentityCredentialConflict")
	_, err = federated.CreateOrUpdate(t.Context(), group, "nobody", "one", aFederation("https://issuer", "7", "aud"), nil)
	wantCode(t, "without an identity", err, "ParentResourceNotFound")
	for range 2 {
		_, err = federated.Delete(t.Context(), group, "app", "fed-7", nil)
		wantCode(t, "delete", err, "")
	}
	_, err = federated.Get(t.Context(), group, "app", "fed-7", nil)
	wantCode(t, "get after delete", err, "ResourceNotFound")
	page, err := federated.NewListPager(group, "app", nil).NextPage(t.Context())
	if err != nil || len(page.Value) != 19 {
		t.Errorf("%d are listed, %v", len(page.Value), err)
	}
	for range 2 {
		_, err = identities.Delete(t.Context(), group, "app", nil)
		wantCode(t, "delete", err, "")
	}
	if diff := cmp.Diff(before, s.Inventory()); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
}

// TestAssignmentsOfManagementHoldForBlobs assigns roles by the SDK's client and reads and writes blobs with them.
func TestAssignmentsOfManagementHoldForBlobs(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	admin := s.caller(t, "Owner", "Storage Blob Data Owner")
	for _, name := range []string{"one", "two"} {
		_, err := admin.container(t, name).Create(t.Context(), nil)
		wantCode(t, "create "+name, err, "")
	}
	app, assignments := s.caller(t), admin.assignments(t)
	before := s.Inventory()
	name, scope := uuid.NewString(), s.containerID("one")
	wantCode(t, "before", upload(t.Context(), app.container(t, "one"), "x", "text"), "AuthorizationPermissionMismatch")
	for range 2 {
		made, err := assignments.Create(t.Context(), scope, name, s.assignment(app.ObjectID, contributorRole), nil)
		wantCode(t, "assign", err, "")
		read, err := assignments.Get(t.Context(), scope, name, nil)
		wantCode(t, "get", err, "")
		if diff := cmp.Diff(made.RoleAssignment, read.RoleAssignment); diff != "" {
			t.Errorf("get returns something else than create (-create +get):\n%s", diff)
		}
	}
	wantCode(t, "write", upload(t.Context(), app.container(t, "one"), "x", "text"), "")
	wantCode(t, "write elsewhere", upload(t.Context(), app.container(t, "two"), "x", "text"), "AuthorizationPermissionMismatch")

	other := s.caller(t)
	person, limited := s.assignment(other.ObjectID, readerRole), s.assignment(other.ObjectID, readerRole)
	person.Properties.PrincipalType, limited.Properties.Condition = to.Ptr(armauthorization.PrincipalTypeUser), to.Ptr("ActionMatches")
	for what, test := range map[string]struct {
		scope, name string
		asked       armauthorization.RoleAssignmentCreateParameters
		code        string
	}{
		"another principal":           {scope, name, s.assignment(other.ObjectID, contributorRole), "RoleAssignmentUpdateNotPermitted"},
		"another role":                {scope, name, s.assignment(app.ObjectID, readerRole), "RoleAssignmentUpdateNotPermitted"},
		"another scope":               {s.containerID("two"), name, s.assignment(app.ObjectID, contributorRole), "RoleAssignmentUpdateNotPermitted"},
		"the same under another name": {scope, uuid.NewString(), s.assignment(app.ObjectID, contributorRole), "RoleAssignmentExists"},
		"nobody":                      {scope, uuid.NewString(), s.assignment(uuid.NewString(), contributorRole), "PrincipalNotFound"},
		"a role that is not there":    {scope, uuid.NewString(), s.assignment(app.ObjectID, uuid.NewString()), "RoleDefinitionDoesNotExist"},
		"a name that is no UUID":      {scope, "mine", s.assignment(app.ObjectID, readerRole), "InvalidRoleAssignmentId"},
		"an application as a person":  {scope, uuid.NewString(), person, "UnmatchedPrincipalType"},
		"a condition that is none":    {scope, uuid.NewString(), limited, "InvalidRoleAssignmentCondition"},
		"no properties":               {scope, uuid.NewString(), armauthorization.RoleAssignmentCreateParameters{}, "InvalidRequestContent"},
	} {
		_, err := assignments.Create(t.Context(), test.scope, test.name, test.asked, nil)
		wantCode(t, what, err, test.code)
	}
	// The SDK sends filters as they are given.
	for filter, want := range map[string]int{"principalId eq '" + app.ObjectID + "'": 1, "principalId eq '" + other.ObjectID + "'": 0, "atScope()": 2, "assignedTo('" + app.ObjectID + "')": 1, "atScope() and assignedTo('" + app.ObjectID + "')": 0} {
		page, err := assignments.NewListForScopePager(s.ResourceID(azurefake.DefaultAccount), &armauthorization.RoleAssignmentsClientListForScopeOptions{Filter: to.Ptr(url.PathEscape(filter))}).NextPage(t.Context())
		if err != nil || len(page.Value) != want {
			t.Errorf("%s: %d are listed, %v; want %d", filter, len(page.Value), err, want)
		}
	}
	versioned := s.assignment(other.ObjectID, readerRole)
	versioned.Properties.ConditionVersion = to.Ptr("1.0")
	_, err := assignments.Create(t.Context(), scope, uuid.NewString(), versioned, nil)
	wantCode(t, "another version of conditions", err, "InvalidRoleAssignmentCondition")
	_, err = assignments.NewListForScopePager(scope, &armauthorization.RoleAssignmentsClientListForScopeOptions{Filter: to.Ptr("roleName%20eq%20'x'")}).NextPage(t.Context())
	wantCode(t, "another filter", err, "UnsupportedQuery")
	for range 2 {
		_, err = assignments.Delete(t.Context(), scope, name, nil)
		wantCode(t, "delete", err, "")
	}
	wantCode(t, "after", upload(t.Context(), app.container(t, "one"), "x", "text"), "AuthorizationPermissionMismatch")
	_, err = admin.container(t, "one").NewBlobClient("x").Delete(t.Context(), nil)
	wantCode(t, "clean up", err, "")
	after := s.Inventory()
	after.Principals = slices.DeleteFunc(after.Principals, func(p azurefake.PrincipalInventory) bool { return p.ObjectID == other.ObjectID })
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
}

// call is a management call and the action that its reference names for it.
type call struct {
	action string
	do     func(context.Context, *testing.T, caller) error
}

// managementCalls are all calls, each on something that is there and can be called again.
func managementCalls(s subscription, target string) map[string]call {
	group, scope, name, role := s.ResourceGroup(), s.containerID("one"), uuid.NewString(), uuid.NewString()
	definition := armauthorization.RoleDefinition{Properties: &armauthorization.RoleDefinitionProperties{
		RoleName: to.Ptr("made-" + role), AssignableScopes: to.SliceOfPtrs(s.GroupID()),
		Permissions: []*armauthorization.Permission{{DataActions: to.SliceOfPtrs("Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write")}},
	}}
	const identities, federated = "Microsoft.ManagedIdentity/userAssignedIdentities/", "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials/"
	const assignments, definitions = "Microsoft.Authorization/roleAssignments/", "Microsoft.Authorization/roleDefinitions/"
	return map[string]call{
		"make an identity": {identities + "write", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.identities(t).CreateOrUpdate(ctx, group, "new", anIdentity(), nil)
			return err
		}},
		"read an identity": {identities + "read", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.identities(t).Get(ctx, group, "app", nil)
			return err
		}},
		"list identities": {identities + "read", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.identities(t).NewListByResourceGroupPager(group, nil).NextPage(ctx)
			return err
		}},
		"delete an identity": {identities + "delete", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.identities(t).Delete(ctx, group, "new", nil)
			return err
		}},
		"federate": {federated + "write", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.federated(t).CreateOrUpdate(ctx, group, "app", "fed", aFederation("https://issuer", "me", "aud"), nil)
			return err
		}},
		"list federated credentials": {federated + "read", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.federated(t).NewListPager(group, "app", nil).NextPage(ctx)
			return err
		}},
		"delete a federated credential": {federated + "delete", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.federated(t).Delete(ctx, group, "app", "other", nil)
			return err
		}},
		"assign": {assignments + "write", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.assignments(t).Create(ctx, scope, name, s.assignment(target, readerRole), nil)
			return err
		}},
		"list assignments": {assignments + "read", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.assignments(t).NewListForScopePager(scope, nil).NextPage(ctx)
			return err
		}},
		"delete an assignment": {assignments + "delete", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.assignments(t).Delete(ctx, scope, uuid.NewString(), nil)
			return err
		}},
		"define a role": {definitions + "write", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.definitions(t).CreateOrUpdate(ctx, s.GroupID(), role, definition, nil)
			return err
		}},
		"read a role": {definitions + "read", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.definitions(t).Get(ctx, s.GroupID(), readerRole, nil)
			return err
		}},
		"list roles": {definitions + "read", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.definitions(t).NewListPager(s.GroupID(), nil).NextPage(ctx)
			return err
		}},
		"delete a role": {definitions + "delete", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.definitions(t).Delete(ctx, s.GroupID(), uuid.NewString(), nil)
			return err
		}},
		"read what the Blob service does": {"Microsoft.Storage/storageAccounts/blobServices/read", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.blobServices(t).GetServiceProperties(ctx, group, azurefake.DefaultAccount, nil)
			return err
		}},
		"set what the Blob service does": {"Microsoft.Storage/storageAccounts/blobServices/write", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.blobServices(t).SetServiceProperties(ctx, group, azurefake.DefaultAccount, keepContainers(7), nil)
			return err
		}},
		"list the keys of an account": {"Microsoft.Storage/storageAccounts/listKeys/action", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.accounts(t).ListKeys(ctx, group, azurefake.DefaultAccount, nil)
			return err
		}},
		"make a new key of an account": {"Microsoft.Storage/storageAccounts/regenerateKey/action", func(ctx context.Context, t *testing.T, c caller) error {
			_, err := c.accounts(t).RegenerateKey(ctx, group, azurefake.DefaultAccount, armstorage.AccountRegenerateKeyParameters{KeyName: to.Ptr("key2")}, nil)
			return err
		}},
	}
}

// TestEachManagementActionIsNeeded makes every call with every action but its own, and with nothing but its own.
func TestEachManagementActionIsNeeded(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	admin, target := s.caller(t, "Owner"), s.caller(t)
	_, err := admin.identities(t).CreateOrUpdate(t.Context(), s.ResourceGroup(), "app", anIdentity(), nil)
	wantCode(t, "make an identity", err, "")
	as := func(t *testing.T, permission armauthorization.Permission) caller {
		t.Helper()
		c, id := s.caller(t), uuid.NewString()
		_, err := admin.definitions(t).CreateOrUpdate(t.Context(), s.GroupID(), id, armauthorization.RoleDefinition{Properties: &armauthorization.RoleDefinitionProperties{
			RoleName: to.Ptr("role-" + id), AssignableScopes: to.SliceOfPtrs(s.GroupID()), Permissions: []*armauthorization.Permission{&permission},
		}}, nil)
		wantCode(t, "define a role", err, "")
		_, err = admin.assignments(t).Create(t.Context(), s.GroupID(), uuid.NewString(), s.assignment(c.ObjectID, id), nil)
		wantCode(t, "assign a role", err, "")
		return c
	}
	for what, one := range managementCalls(s, target.ObjectID) {
		without := as(t, armauthorization.Permission{Actions: to.SliceOfPtrs("*"), NotActions: to.SliceOfPtrs(one.action), DataActions: to.SliceOfPtrs("*")})
		wantCode(t, what+" without "+one.action, one.do(t.Context(), t, without), "AuthorizationFailed")
		only := as(t, armauthorization.Permission{Actions: to.SliceOfPtrs(one.action)})
		wantCode(t, what+" with "+one.action, one.do(t.Context(), t, only), "")
	}
}

// TestManagementRefusals are requests that get no further than the door.
func TestManagementRefusals(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	c := s.caller(t, "Owner")
	bad, err := azidentity.NewClientSecretCredential(s.TenantID(), c.ClientID, "not the secret", &azidentity.ClientSecretCredentialOptions{ClientOptions: s.options, DisableInstanceDiscovery: true})
	wantNoError(t, err)
	wantLogin(t, "a wrong secret", token(t.Context(), bad), "AADSTS7000215")
	stranger, err := azidentity.NewClientSecretCredential(s.TenantID(), uuid.NewString(), "secret", &azidentity.ClientSecretCredentialOptions{ClientOptions: s.options, DisableInstanceDiscovery: true})
	wantNoError(t, err)
	wantLogin(t, "an unknown client", token(t.Context(), stranger), "AADSTS700016")
	builtIn := armauthorization.RoleDefinition{Properties: &armauthorization.RoleDefinitionProperties{
		RoleName: to.Ptr("mine"), AssignableScopes: to.SliceOfPtrs(s.GroupID()), Permissions: []*armauthorization.Permission{{}},
	}}
	_, err = c.definitions(t).CreateOrUpdate(t.Context(), s.GroupID(), readerRole, builtIn, nil)
	wantCode(t, "change a built-in role", err, "RoleDefinitionIsBuiltIn")
	_, err = c.definitions(t).Delete(t.Context(), s.GroupID(), readerRole, nil)
	wantCode(t, "delete a built-in role", err, "RoleDefinitionIsBuiltIn")
	_, err = c.accounts(t).ListKeys(t.Context(), s.ResourceGroup(), "nowhere", nil)
	wantCode(t, "the keys of no account", err, "ResourceNotFound")
	_, err = c.accounts(t).RegenerateKey(t.Context(), s.ResourceGroup(), azurefake.DefaultAccount, armstorage.AccountRegenerateKeyParameters{KeyName: to.Ptr("key3")}, nil)
	wantCode(t, "a third key", err, "InvalidKeyName")
	for what, change := range map[string]struct {
		path, header string
		status       int
	}{
		"no token":             {s.GroupID() + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities?api-version=1", "", 401},
		"a forged token":       {s.GroupID() + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities?api-version=1", "Bearer abc", 401},
		"another subscription": {"/subscriptions/" + uuid.NewString() + "/resourceGroups/x/providers/Microsoft.ManagedIdentity/userAssignedIdentities?api-version=1", "", 401},
	} {
		request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+change.path, http.NoBody))
		if change.header != "" {
			request.Header.Set("Authorization", change.header)
		}
		response, err := s.options.Transport.Do(request)
		wantNoError(t, err)
		_ = response.Body.Close()
		if response.StatusCode != change.status {
			t.Errorf("%s: status %d, want %d", what, response.StatusCode, change.status)
		}
	}
	forBlobs := s.caller(t, "Storage Blob Data Owner")
	_, err = forBlobs.identities(t).Get(t.Context(), s.ResourceGroup(), "app", nil)
	wantCode(t, "management with a role for blobs", err, "AuthorizationFailed")
	onlyManagement := s.caller(t, "Owner")
	wantCode(t, "blobs with a role for management", upload(t.Context(), onlyManagement.container(t, "x"), "x", "text"), "AuthorizationPermissionMismatch")
	wantNoError(t, s.RemovePrincipal(c.ObjectID))
	_, err = c.accounts(t).ListKeys(t.Context(), s.ResourceGroup(), azurefake.DefaultAccount, nil)
	wantCode(t, "after the caller is removed", err, "InvalidAuthenticationToken")
}
