// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// TestServiceAccountsNeedTheRolesOfTheDocumentation takes each of the driver's roles away.
func TestServiceAccountsNeedTheRolesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	for _, lacking := range rolesOfDriver {
		t.Run(lacking, func(t *testing.T) {
			t.Parallel()
			f := startFederation(t, azurefake.Options{}, "https://issuer.example.com")
			w := f.process(t)
			bucket := w.NewBucket(t, nil)
			for _, one := range f.server.Inventory().Assignments {
				if (one.Role == "e40ec5ca-96e0-45a2-b4ff-59039f2c2b59") == (lacking == rolesOfDriver[0]) {
					wantNoError(t, f.server.Unassign(one.ID))
				}
			}
			_, err := w.DriverGrantBucketAccess(t.Context(), as(grantRequest(drivertest.NewAccount(), readWrite, bucket), "team", "app"))
			drivertest.WantCode(t, err, codes.PermissionDenied, "AuthorizationFailed")
		})
	}
}

// TestARoleThatTheDriverMayNotTakeAway has a role that the condition no longer includes. Revoking an access with it
// fails with an error and changes nothing.
func TestARoleThatTheDriverMayNotTakeAway(t *testing.T) {
	t.Parallel()
	const former = "b7e6dc6d-f1e8-4753-8033-0f276bb0955b"
	f := startFederation(t, azurefake.Options{}, "https://issuer.example.com", former)
	f.config.ServiceAccounts.Roles.ReadWrite = former
	w := f.process(t)
	request := as(grantRequest(drivertest.NewAccount(), readWrite, w.NewBucket(t, nil)), "team", "app")
	w.MustGrant(t, request)
	limit := func(roles ...string) {
		for _, one := range f.server.Inventory().Assignments {
			if one.Role == "f58310d9-a9f6-439a-9e8d-f62e7b41a168" {
				wantNoError(t, f.server.Unassign(one.ID))
			}
		}
		_, err := f.server.AssignWhen(f.driver.ObjectID, rolesOfDriver[1], f.server.ResourceID(mainAccount), roleCondition(t, roles...))
		wantNoError(t, err)
	}
	limit()
	granted := resources(f.server)
	drivertest.WantCode(t, w.revokeAs(t, request), codes.PermissionDenied, "AuthorizationFailed")
	if diff := cmp.Diff(granted, resources(f.server)); diff != "" {
		t.Errorf("a refused revoke removed something (-before +after):\n%s", diff)
	}
	limit(former)
	wantNoError(t, w.revokeAs(t, request))
}

// TestRightsEndAtTheRolesOfAccesses simulates an attacker with the driver's identity, who must not gain access beyond
// the data of the storage account and identities of the resource group.
func TestRightsEndAtTheRolesOfAccesses(t *testing.T) {
	t.Parallel()
	f := startFederation(t, azurefake.Options{}, "https://issuer.example.com")
	own := f.server.Inventory().Assignments
	credential, err := azidentity.NewClientSecretCredential(f.server.TenantID(), f.driver.ClientID, f.driver.Secret, &azidentity.ClientSecretCredentialOptions{
		ClientOptions: f.options(), DisableInstanceDiscovery: true,
	})
	wantNoError(t, err)
	options := &arm.ClientOptions{ClientOptions: f.options()}
	assignments, err := armauthorization.NewRoleAssignmentsClient(f.server.SubscriptionID(), credential, options)
	wantNoError(t, err)
	definitions, err := armauthorization.NewRoleDefinitionsClient(credential, options)
	wantNoError(t, err)
	accounts, err := armstorage.NewAccountsClient(f.server.SubscriptionID(), credential, options)
	wantNoError(t, err)
	identities, err := armmsi.NewUserAssignedIdentitiesClient(f.server.SubscriptionID(), credential, options)
	wantNoError(t, err)
	federated, err := armmsi.NewFederatedIdentityCredentialsClient(f.server.SubscriptionID(), credential, options)
	wantNoError(t, err)

	const application, person, team = armauthorization.PrincipalTypeServicePrincipal, armauthorization.PrincipalTypeUser, armauthorization.PrincipalTypeGroup
	const (
		owner, contributor   = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635", "b24988ac-6180-42a0-ab88-20f7382dd24c"
		userAdmin, roleAdmin = "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9", "f58310d9-a9f6-439a-9e8d-f62e7b41a168"
		keyOperator, reader  = "81a9662b-bebf-436f-a333-f67b29880f12", "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
	)
	me, account, group := f.driver.ObjectID, f.server.ResourceID(mainAccount), f.server.GroupID()
	boss, err := f.server.AddPrincipal(azurefake.Principal{Name: "boss", User: true})
	wantNoError(t, err)
	bosses, err := f.server.Assign(boss.ObjectID, "Owner", account)
	wantNoError(t, err)
	readers, err := f.server.Assign(boss.ObjectID, "Storage Blob Data Reader", account)
	wantNoError(t, err)
	assign := func(scope, name, role, principal string, kind armauthorization.PrincipalType) func() error {
		return func() error {
			_, err := assignments.Create(t.Context(), scope, name, armauthorization.RoleAssignmentCreateParameters{Properties: &armauthorization.RoleAssignmentProperties{
				PrincipalID: &principal, PrincipalType: &kind, RoleDefinitionID: to.Ptr("/subscriptions/" + f.server.SubscriptionID() + "/providers/Microsoft.Authorization/roleDefinitions/" + role),
			}}, nil)
			return err
		}
	}
	unassign := func(name string) func() error {
		return func() error {
			_, err := assignments.Delete(t.Context(), account, name, nil)
			return err
		}
	}
	ownName := ""
	for _, one := range own {
		if one.Role == roleAdmin {
			ownName = one.ID
		}
	}
	all := armauthorization.RoleDefinition{Properties: &armauthorization.RoleDefinitionProperties{
		RoleName: to.Ptr("all"), AssignableScopes: []*string{&account}, Permissions: []*armauthorization.Permission{{Actions: []*string{to.Ptr("*")}}},
	}}
	tries := map[string]func() error{
		"to be Owner":                             assign(account, uuid.NewString(), owner, me, application),
		"to be Owner of a container":              assign(account+"/blobServices/default/containers/c", uuid.NewString(), owner, me, application),
		"to be Contributor":                       assign(account, uuid.NewString(), contributor, me, application),
		"to be User Access Administrator":         assign(account, uuid.NewString(), userAdmin, me, application),
		"to administer roles without a condition": assign(account, uuid.NewString(), roleAdmin, me, application),
		"to be rid of its condition":              assign(account, ownName, roleAdmin, me, application),
		"to be rid of its role":                   unassign(ownName),
		"a role that has the keys of the account": assign(account, uuid.NewString(), keyOperator, me, application),
		"a role for a person":                     assign(account, uuid.NewString(), reader, boss.ObjectID, person),
		"a role for a group":                      assign(account, uuid.NewString(), reader, boss.ObjectID, team),
		"a role in the resource group":            assign(group, uuid.NewString(), reader, me, application),
		"a role in the subscription":              assign("/subscriptions/"+f.server.SubscriptionID(), uuid.NewString(), reader, me, application),
		"an Owner's role away":                    unassign(bosses),
		"a person's role away":                    unassign(readers),
		"a new role": func() error {
			_, err := definitions.CreateOrUpdate(t.Context(), account, uuid.NewString(), all, nil)
			return err
		},
		"its role with another meaning": func() error {
			_, err := definitions.CreateOrUpdate(t.Context(), account, reader, all, nil)
			return err
		},
		"a role definition away": func() error {
			_, err := definitions.Delete(t.Context(), account, reader, nil)
			return err
		},
		"the keys of the account": func() error {
			_, err := accounts.ListKeys(t.Context(), f.server.ResourceGroup(), mainAccount, nil)
			return err
		},
		"another key of the account": func() error {
			_, err := accounts.RegenerateKey(t.Context(), f.server.ResourceGroup(), mainAccount, armstorage.AccountRegenerateKeyParameters{KeyName: to.Ptr("key1")}, nil)
			return err
		},
		"delete the identity of another owner": func() error {
			_, err := identities.Delete(t.Context(), "company", "payroll", nil)
			return err
		},
		"impersonate the identity of another owner": func() error {
			_, err := federated.CreateOrUpdate(t.Context(), "company", "payroll", "mine", armmsi.FederatedIdentityCredential{Properties: &armmsi.FederatedIdentityCredentialProperties{
				Issuer: to.Ptr("https://issuer.example.com"), Subject: to.Ptr("me"), Audiences: to.SliceOfPtrs(entraAudience),
			}}, nil)
			return err
		},
	}
	for name, try := range tries {
		wantRefused(t, name, try(), "AuthorizationFailed")
	}
	wantRefused(t, "a role for a person with the type of an application", assign(account, uuid.NewString(), reader, boss.ObjectID, application)(), "UnmatchedPrincipalType")
	wantRefused(t, "another role for a principal that has one", assign(account, bosses, reader, me, application)(), "RoleAssignmentUpdateNotPermitted")
}
