// SPDX-License-Identifier: Apache-2.0

package azuritetest_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/fakes/azurefake/azuritetest"
	"github.com/cooper-cosi/cooper/internal/testing/exampletest"
)

// A test holds its expectations against Azurite, too, where that is installed.
func ExampleStart() {
	exampletest.Run(func(t testing.TB) { // in a test: TestOnAzurite
		endpoint := azuritetest.Start(t) + "/" + azuritetest.Account
		key, err := service.NewSharedKeyCredential(azuritetest.Account, azuritetest.Key)
		if err != nil {
			t.Fatal(err)
		}
		client, err := service.NewClientWithSharedKeyCredential(endpoint, key, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.CreateContainer(t.Context(), "photos", nil); err != nil {
			t.Error(err)
		}
	})
	// Output:
}
