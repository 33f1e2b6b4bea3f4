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
	type (
		get = armstorage.BlobServicesClientGetServicePropertiesResponse
		set = armstorage.BlobServicesClientSetServicePropertiesResponse
	)
	directory := c.api.options.Directory
	return &storagefake.BlobServicesServer{
		GetServiceProperties: func(_ context.Context, _, name string, _ *armstorage.BlobServicesClientGetServicePropertiesOptions) (fake.Responder[get], fake.ErrorResponder) {
			a, found := directory.Account(name)
			if !found {
				return respond(0, get{}, missing("ResourceNotFound", c.route.scope))
			}
			return respond(http.StatusOK, get{BlobServiceProperties: c.blobProperties(a)}, nil)
		},
		SetServiceProperties: func(_ context.Context, _, name string, asked armstorage.BlobServiceProperties, _ *armstorage.BlobServicesClientSetServicePropertiesOptions) (
			fake.Responder[set], fake.ErrorResponder,
		) {
			a, found := directory.Account(name)
			if !found {
				return respond(0, set{}, missing("ResourceNotFound", c.route.scope))
			}
			days, err := retention(a.KeepsContainers, asked.BlobServiceProperties)
			if err == nil {
				a, err = directory.ChangeAccount(name, func(a *access.Account) { a.KeepsContainers = days })
			}
			return respond(http.StatusOK, set{BlobServiceProperties: c.blobProperties(a)}, err)
		},
	}
}

// retention returns the days for which deleted containers are kept after a change of the properties.
func retention(days int, asked *armstorage.BlobServicePropertiesProperties) (int, error) {
	switch {
	case asked == nil || asked.ContainerDeleteRetentionPolicy == nil:
		return days, nil
	case asked.ContainerDeleteRetentionPolicy.Enabled == nil || !*asked.ContainerDeleteRetentionPolicy.Enabled:
		return 0, nil
	}
	next := asked.ContainerDeleteRetentionPolicy.Days
	if next == nil || *next < 1 || *next > access.MaxRetention {
		return 0, bad("InvalidValuesForRequestParameters", "The days of containerDeleteRetentionPolicy must be from 1 to 365.")
	}
	return int(*next), nil
}

// blobProperties are the properties of the Blob service that the fake has.
func (c *Call) blobProperties(a access.Account) armstorage.BlobServiceProperties {
	policy := &armstorage.DeleteRetentionPolicy{Enabled: to.Ptr(a.KeepsContainers > 0)}
	if a.KeepsContainers > 0 {
		policy.Days = to.Ptr(int32(a.KeepsContainers)) //nolint:gosec // at most 365
	}
	return armstorage.BlobServiceProperties{
		ID: to.Ptr(c.Resource), Name: to.Ptr("default"), Type: to.Ptr("Microsoft.Storage/storageAccounts/blobServices"),
		BlobServiceProperties: &armstorage.BlobServicePropertiesProperties{ContainerDeleteRetentionPolicy: policy},
	}
}

func keys(a access.Account) armstorage.AccountListKeysResult {
	var out armstorage.AccountListKeysResult
	for i, name := range []string{"key1", "key2"} {
		out.Keys = append(out.Keys, &armstorage.AccountKey{KeyName: to.Ptr(name), Value: to.Ptr(a.Keys[i]), Permissions: to.Ptr(armstorage.KeyPermissionFull)})
	}
	return out
}
