// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage/v2"
	storagefake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage/v2/fake"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
)

func (c *Call) accountServer() *storagefake.AccountsServer {
	type (
		list = armstorage.AccountsClientListKeysResponse
		next = armstorage.AccountsClientRegenerateKeyResponse
	)
	directory := c.api.options.Directory
	return &storagefake.AccountsServer{
		ListKeys: func(_ context.Context, _, name string, _ *armstorage.AccountsClientListKeysOptions) (fake.Responder[list], fake.ErrorResponder) {
			a, found := directory.Account(name)
			if !found {
				return respond(0, list{}, missing("ResourceNotFound", c.route.scope))
			}
			return respond(http.StatusOK, list{AccountListKeysResult: keys(a)}, nil)
		},
		RegenerateKey: func(_ context.Context, _, name string, asked armstorage.AccountRegenerateKeyParameters, _ *armstorage.AccountsClientRegenerateKeyOptions) (
			fake.Responder[next], fake.ErrorResponder,
		) {
			if _, found := directory.Account(name); !found {
				return respond(0, next{}, missing("ResourceNotFound", c.route.scope))
			}
			which, ok := map[string]int{"key1": 0, "key2": 1}[text(asked.KeyName)]
			if !ok {
				return respond(0, next{}, bad("InvalidKeyName", "The name of the key must be key1 or key2."))
			}
			a, err := directory.ChangeAccount(name, func(a *access.Account) { a.Keys[which] = access.NewKey() })
			return respond(http.StatusOK, next{AccountListKeysResult: keys(a)}, err)
		},
	}
}

func (c *Call) blobServer() *storagefake.BlobServicesServer {
	type get = armstorage.BlobServicesClientGetServicePropertiesResponse
	return &storagefake.BlobServicesServer{
		GetServiceProperties: func(_ context.Context, _, name string, _ *armstorage.BlobServicesClientGetServicePropertiesOptions) (fake.Responder[get], fake.ErrorResponder) {
			a, found := c.api.options.Directory.Account(name)
			if !found {
				return respond(0, get{}, missing("ResourceNotFound", c.route.scope))
			}
			policy := &armstorage.DeleteRetentionPolicy{Enabled: to.Ptr(a.KeepsContainers > 0)}
			if a.KeepsContainers > 0 {
				policy.Days = to.Ptr(int32(a.KeepsContainers)) //nolint:gosec // days of a test
			}
			return respond(http.StatusOK, get{BlobServiceProperties: armstorage.BlobServiceProperties{
				ID: to.Ptr(c.Resource), Name: to.Ptr("default"), Type: to.Ptr("Microsoft.Storage/storageAccounts/blobServices"),
				BlobServiceProperties: &armstorage.BlobServicePropertiesProperties{ContainerDeleteRetentionPolicy: policy},
			}}, nil)
		},
	}
}

func keys(a access.Account) armstorage.AccountListKeysResult {
	var out armstorage.AccountListKeysResult
	for i, name := range []string{"key1", "key2"} {
		out.Keys = append(out.Keys, &armstorage.AccountKey{KeyName: to.Ptr(name), Value: to.Ptr(a.Keys[i]), Permissions: to.Ptr(armstorage.KeyPermissionFull)})
	}
	return out
}
