// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	reading = cosi.AccessMode_READ_ONLY
	writing = cosi.AccessMode_WRITE_ONLY
	both    = cosi.AccessMode_READ_WRITE
)

// modeList are modes that a class disallows.
type modeList = []cosi.AccessMode_Mode

// TestDisallowedModes tries operations of a signature in categories that its access left unset, with a class that
// disallows modes.
func TestDisallowedModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	for name, limited := range map[string]drivertest.Limited{
		"reading shows the metadata of blobs": {
			Asked: readOnly, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{reading, both}}, Refused: true,
		},
		"writing writes the metadata of blobs": {
			Asked: writeOnly, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{writing, both}}, Refused: true,
		},
		"either reading or writing is left, and not both": {
			Asked: readWrite, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{both}}, Refused: true,
		},
		"metadata of blobs may be read": {
			Asked: readOnly, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{writing, both}},
		},
		"nothing of the container itself": {
			Asked: readWrite, Disallowed: &cosi.DisallowedAccessModes{BucketMetadata: modeList{reading, writing, both}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := w.NewBucket(t, nil)
			wantNoError(t, upload(t.Context(), w.root(t, bucket), "there"))
			w.WantLimited(t, limited, grantRequest(drivertest.NewAccount(), limited.Asked, bucket), func(granted *cosi.DriverGrantBucketAccessResponse) []drivertest.Try {
				return limitedTries(workload(t, granted))
			})
		})
	}
}

func limitedTries(client *container.Client) []drivertest.Try {
	there := client.NewBlobClient("there")
	value := map[string]*string{"a": to.Ptr("b")}
	return []drivertest.Try{
		{Name: "get a blob", Category: drivertest.ObjectData, Mode: reading, Do: func(t *testing.T) error { t.Helper(); return download(t.Context(), client, "there") }},
		{Name: "put a blob", Category: drivertest.ObjectData, Mode: writing, Do: func(t *testing.T) error { t.Helper(); return upload(t.Context(), client, "new") }},
		{Name: "read the metadata of a blob", Category: drivertest.ObjectMetadata, Mode: reading, Do: func(t *testing.T) error {
			t.Helper()
			return second(there.GetProperties(t.Context(), nil))
		}},
		{Name: "write the metadata of a blob", Category: drivertest.ObjectMetadata, Mode: writing, Do: func(t *testing.T) error {
			t.Helper()
			return second(there.SetMetadata(t.Context(), value, &blob.SetMetadataOptions{}))
		}},
		{Name: "read the container", Category: drivertest.BucketMetadata, Mode: reading, Do: func(t *testing.T) error {
			t.Helper()
			return second(client.GetProperties(t.Context(), nil))
		}},
		{Name: "write the container's metadata", Category: drivertest.BucketMetadata, Mode: writing, Do: func(t *testing.T) error {
			t.Helper()
			return second(client.SetMetadata(t.Context(), &container.SetMetadataOptions{Metadata: value}))
		}},
	}
}

// TestDisallowedModesOfAServiceAccount tries the operations on the container itself that Azure's roles allow, and
// those of a custom role that replaces them.
//
//nolint:paralleltest,tparallel // its rows share a cluster
func TestDisallowedModesOfAServiceAccount(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	app := c.pod(t, "", "app")
	nothing, reads := modeList{reading, writing, both}, modeList{writing, both}
	c.makeRoleForBlobs(t)
	custom := func(config *azuredriver.Config) { config.ServiceAccounts.Roles.ReadWrite = blobsOnly }
	for name, test := range map[string]struct {
		limited drivertest.Limited
		change  func(*azuredriver.Config)
	}{
		"the role for reading shows the container's metadata": {
			limited: drivertest.Limited{Asked: readOnly, Disallowed: &cosi.DisallowedAccessModes{BucketMetadata: nothing}, Refused: true},
		},
		"the role for writing changes the container's metadata": {
			limited: drivertest.Limited{Asked: readWrite, Disallowed: &cosi.DisallowedAccessModes{BucketMetadata: reads}, Refused: true},
		},
		"the container's metadata may be read": {
			limited: drivertest.Limited{Asked: readOnly, Disallowed: &cosi.DisallowedAccessModes{BucketMetadata: reads}},
		},
		"Azure's role for owners": {
			limited: drivertest.Limited{Asked: readWrite, Disallowed: &cosi.DisallowedAccessModes{BucketMetadata: reads}, Refused: true},
			change:  func(config *azuredriver.Config) { config.ServiceAccounts.Roles.ReadWrite = roleOwner },
		},
		"a role without the container": {
			limited: drivertest.Limited{Asked: readWrite, Disallowed: &cosi.DisallowedAccessModes{BucketMetadata: nothing}}, change: custom,
		},
		"the metadata of blobs": {
			limited: drivertest.Limited{Asked: readWrite, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: reads}, Refused: true}, change: custom,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.process(t)
			if test.change != nil {
				w = c.process(t, test.change)
			}
			bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
			wantNoError(t, upload(t.Context(), c.administrator(t, bucket), "there"))
			request := as(grantRequest(account, test.limited.Asked, bucket), app.namespace, app.account)
			w.WantLimited(t, test.limited, request, func(*cosi.DriverGrantBucketAccessResponse) []drivertest.Try {
				return limitedTries(app.container(t, account, bucket, entraAudience))
			})
		})
	}
}

// roleOwner is Storage Blob Data Owner.
const roleOwner = "b7e6dc6d-f1e8-4753-8033-0f276bb0955b"

// options are those of the SDK's clients of the fake.
func (f *federation) options() azcore.ClientOptions {
	options := clientOptions().ClientOptions
	options.Transport = f.trusted
	options.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: f.server.URL() + "/", Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
		cloud.ResourceManager: {Endpoint: f.server.URL(), Audience: azuredriver.DefaultManagement},
	}}
	return options
}

// administrator is a container client with the storage account's key.
func (f *federation) administrator(t *testing.T, name string) *container.Client {
	t.Helper()
	key, _ := f.server.Keys(mainAccount)
	credential, err := container.NewSharedKeyCredential(mainAccount, key)
	wantNoError(t, err)
	client, err := container.NewClientWithSharedKeyCredential(f.server.AccountURL(mainAccount)+"/"+name, credential, &container.ClientOptions{ClientOptions: f.options()})
	wantNoError(t, err)
	return client
}

// blobsOnly is the ID of the role that makeRoleForBlobs makes.
const blobsOnly = "0d1f6a4e-5c0b-4e0e-9a53-7a1f5e6b2c10"

// makeRoleForBlobs makes a custom role for reading and writing blobs alone, as an administrator does.
func (f *federation) makeRoleForBlobs(t *testing.T) {
	t.Helper()
	owner, err := f.server.AddPrincipal(azurefake.Principal{Name: "administrator"})
	wantNoError(t, err)
	_, err = f.server.Assign(owner.ObjectID, "Owner", f.server.GroupID())
	wantNoError(t, err)
	credential, err := azidentity.NewClientSecretCredential(f.server.TenantID(), owner.ClientID, owner.Secret, &azidentity.ClientSecretCredentialOptions{
		ClientOptions: f.options(), DisableInstanceDiscovery: true,
	})
	wantNoError(t, err)
	definitions, err := armauthorization.NewRoleDefinitionsClient(credential, &arm.ClientOptions{ClientOptions: f.options()})
	wantNoError(t, err)
	const blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/"
	_, err = definitions.CreateOrUpdate(t.Context(), f.server.GroupID(), blobsOnly, armauthorization.RoleDefinition{Properties: &armauthorization.RoleDefinitionProperties{
		RoleName: to.Ptr("blobs only"), RoleType: to.Ptr("CustomRole"), AssignableScopes: []*string{to.Ptr(f.server.GroupID())},
		Permissions: []*armauthorization.Permission{{DataActions: []*string{to.Ptr(blobs + "read"), to.Ptr(blobs + "write"), to.Ptr(blobs + "add/action"), to.Ptr(blobs + "delete")}}},
	}}, nil)
	wantNoError(t, err)
}
