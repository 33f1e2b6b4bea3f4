// SPDX-License-Identifier: Apache-2.0

package faketest_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/testing/exampletest"
)

// A test has a store of its own until it ends.
func ExampleStart() {
	exampletest.Run(func(t testing.TB) { // in a test: TestUpload
		store := faketest.Start(t, s3fake.New, s3fake.Options{})
		response, err := http.Get(store.URL() + "/photos")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("without a key:", response.Status)
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	})
	// Output: without a key: 404 Not Found
}
