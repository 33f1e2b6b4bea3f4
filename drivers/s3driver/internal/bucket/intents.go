// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"errors"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// Intents remembers which buckets are about to be made, for stores that do not create a bucket and
// its mark as one. A bucket without a mark is ours if we were about to make it. A nil *Intents
// remembers nothing.
type Intents struct {
	// Store keeps the intents beside the credentials.
	Store credstore.Store
	// Backend keeps those of several stores apart.
	Backend string
}

const noteState = "state"

// name has a '/', which no account ID of this driver has.
func (i *Intents) name(bucket string) string { return "bucket/" + i.Backend + "/" + bucket }

// begin notes that the bucket is about to be made.
func (i *Intents) begin(ctx context.Context, bucket string) error {
	if i == nil {
		return nil
	}
	noted, err := i.has(ctx, bucket)
	if err != nil || noted {
		return err
	}
	_, err = i.Store.Put(ctx, credstore.Entry{Account: i.name(bucket), Notes: map[string]string{noteState: "creating"}})
	return unusable(err)
}

// has reports whether the bucket was about to be made.
func (i *Intents) has(ctx context.Context, bucket string) (bool, error) {
	if i == nil {
		return false, nil
	}
	_, err := i.Store.Get(ctx, i.name(bucket))
	if errors.Is(err, credstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, unusable(err)
}

// end forgets the intent, when the bucket has its mark or is gone.
func (i *Intents) end(ctx context.Context, bucket string) error {
	if i == nil {
		return nil
	}
	return unusable(i.Store.Delete(ctx, i.name(bucket)))
}

func unusable(err error) error {
	if err == nil {
		return nil
	}
	return driverkit.Unavailable("the credential store cannot be used").WithDetail(err)
}
