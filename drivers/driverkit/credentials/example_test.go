// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"
	"fmt"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
)

// doorKeys are the keys of one account at a backend that takes the secret from its caller.
type doorKeys struct {
	made  int
	known map[string]bool
}

func (d *doorKeys) Make() credentials.Credential {
	d.made++
	return credentials.Credential{ID: fmt.Sprintf("key-%d", d.made), Secret: credentials.NewSecret()}
}

func (d *doorKeys) Ensure(_ context.Context, key credentials.Credential) error {
	d.known[key.ID] = true
	return nil
}

func (d *doorKeys) Remove(_ context.Context, id string) error {
	delete(d.known, id)
	return nil
}

// GrantAccess returns the same credential on every repeat, and another one when the rotation changes. The one before
// keeps working until the next rotation.
func ExampleGrantSupplied() {
	ctx, store, keys := context.Background(), credentials.NewMemory(), &doorKeys{known: map[string]bool{}}
	for _, rotation := range []string{"", "", "spring", "summer"} {
		request := credentials.SuppliedRequest{Request: credentials.Request{Account: "ba-1", Rotation: rotation}}
		credential, err := credentials.GrantSupplied(ctx, store, request, keys)
		if err != nil {
			panic(err)
		}
		fmt.Println(credential.ID, keys.known)
	}
	// Output:
	// key-1 map[key-1:true]
	// key-1 map[key-1:true]
	// key-2 map[key-1:true key-2:true]
	// key-3 map[key-2:true key-3:true]
}
