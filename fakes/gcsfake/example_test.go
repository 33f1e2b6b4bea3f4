// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// The administrator of the project creates a bucket with the official client; a caller without a credential is
// rejected.
func Example() {
	ctx := context.Background()
	server, err := gcsfake.New(gcsfake.Options{})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		panic(err)
	}
	defer server.Close()

	key, err := server.AdminKey("")
	if err != nil {
		panic(err)
	}
	endpoint := option.WithEndpoint(server.URL() + "/storage/v1/")
	admin, err := storage.NewClient(ctx, endpoint, option.WithAuthCredentialsJSON(option.ServiceAccount, key))
	if err != nil {
		panic(err)
	}
	defer admin.Close()
	if err := admin.Bucket("photos").Create(ctx, server.ProjectID(), nil); err != nil {
		panic(err)
	}

	stranger, err := storage.NewClient(ctx, endpoint, option.WithoutAuthentication())
	if err != nil {
		panic(err)
	}
	defer stranger.Close()
	_, err = stranger.Bucket("photos").Attrs(ctx)
	var refusal *googleapi.Error
	fmt.Println("a stranger is refused:", errors.As(err, &refusal) && refusal.Code == http.StatusUnauthorized)
	for _, bucket := range server.Inventory().Buckets {
		fmt.Println("the fake holds:", bucket.Name)
	}
	// Output:
	// a stranger is refused: true
	// the fake holds: photos
}
