// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// ReadableKeys manages the keys of one account at a backend that returns secrets again on request, such as Garage or
// Ceph RGW.
type ReadableKeys interface {
	// List returns all keys of the account. This includes keys without a mark, which show that the account has
	// another owner.
	List(ctx context.Context) ([]ReadableKey, error)
	// Create creates a key together with its mark, in one step. The client must not retry when a response is lost,
	// unless the backend answers a retry with the key that it has already created.
	Create(ctx context.Context, mark Mark) (Credential, error)
	// Remove ensures that the key does not exist.
	Remove(ctx context.Context, id string) error
}

// ReadableKey is a key with its secret and its mark.
type ReadableKey struct {
	Credential

	Mark Mark
}

// GrantReadable returns the credential of the account. Repeated calls return the same credential until the rotation
// changes. After a rotation, only the new credential and the one before it work.
//
// Credentials are stored only at the backend. GrantReadable creates each key with a mark that identifies its
// rotation, so if a response is lost, the next call finds and returns the key.
func GrantReadable(ctx context.Context, request MarkedRequest, keys ReadableKeys) (Credential, error) {
	live, err := keys.List(ctx)
	if err != nil {
		return Credential{}, err
	}
	byMark := map[Mark]Credential{}
	for _, key := range live {
		byMark[key.Mark] = key.Credential
	}
	plan, err := request.plan(marksOf(live))
	if err != nil {
		return Credential{}, err
	}
	for _, stale := range plan.Stale {
		if err := keys.Remove(ctx, byMark[stale].ID); err != nil {
			return Credential{}, err
		}
	}
	if plan.New {
		return keys.Create(ctx, plan.Current)
	}
	return byMark[plan.Current], nil
}

// RevokeReadable removes all keys of the account. It then calls rest, if it is not nil, to remove everything else
// that belongs to the account. It returns FailedPrecondition if the account has another owner.
func RevokeReadable(ctx context.Context, request MarkedRequest, keys ReadableKeys, rest func(context.Context) error) error {
	live, err := keys.List(ctx)
	if err != nil {
		return err
	}
	if err := request.checkMine(marksOf(live), driverkit.FailedPrecondition); err != nil {
		return err
	}
	remove := func(ctx context.Context, key ReadableKey) error { return keys.Remove(ctx, key.ID) }
	return removeAll(ctx, live, remove, rest)
}

func marksOf(keys []ReadableKey) []Mark {
	marks := make([]Mark, 0, len(keys))
	for _, key := range keys {
		marks = append(marks, key.Mark)
	}
	return marks
}
