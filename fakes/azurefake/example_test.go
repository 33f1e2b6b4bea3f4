// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// The account's key makes a container, and signs a token that may read blobs and nothing else.
func Example() {
	ctx := context.Background()
	server, err := azurefake.New(azurefake.Options{})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		panic(err)
	}
	defer server.Close()

	key, _ := server.Keys(azurefake.DefaultAccount)
	owner, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	if err != nil {
		panic(err)
	}
	url := server.AccountURL(azurefake.DefaultAccount) + "/photos"
	photos, err := container.NewClientWithSharedKeyCredential(url, owner, nil)
	if err != nil {
		panic(err)
	}
	if _, err := photos.Create(ctx, nil); err != nil {
		panic(err)
	}

	token, err := sas.BlobSignatureValues{
		ContainerName: "photos", Permissions: "r", ExpiryTime: time.Now().Add(time.Hour),
	}.SignWithSharedKey(owner)
	if err != nil {
		panic(err)
	}
	reader, err := container.NewClientWithNoCredential(url+"?"+token.Encode(), nil)
	if err != nil {
		panic(err)
	}
	err = upload(ctx, reader, "cat.jpg", "meow")
	fmt.Println("the reader may not write:", bloberror.HasCode(err, bloberror.AuthorizationPermissionMismatch))
	fmt.Println("the owner may:", upload(ctx, photos, "cat.jpg", "meow"))
	// Output:
	// the reader may not write: true
	// the owner may: <nil>
}
