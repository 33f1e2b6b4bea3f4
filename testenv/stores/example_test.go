// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"fmt"
	"os"

	"github.com/cooper-cosi/cooper/testenv/stores"
)

// Find the server that hack/stores has built. In this example, the environment variable names another
// program, which Find returns.
func ExampleStore_Find() {
	store := stores.MinIO()
	former := os.Getenv(store.Variable)
	defer os.Setenv(store.Variable, former)
	if err := os.Setenv(store.Variable, "/bin/sh"); err != nil {
		panic(err)
	}
	path, err := store.Find()
	fmt.Println(path, err)
	// Output: /bin/sh <nil>
}
