// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// ReadableKeys are the keys of one account at a backend that returns a secret again when it is asked,
// such as Garage or Ceph RGW.
type ReadableKeys interface {
	// List returns all keys of the account, those without a mark as well: they show that it is somebody else's.
	List(ctx context.Context) ([]ReadableKey, error)
	// Create makes a key with the mark, in one step. Its client must not try again by itself when a
	// response is lost, unless the backend then returns the key that it has made.
	Create(ctx context.Context, mark Mark) (Credential, error)
	// Remove makes sure that the key does not exist.
	Remove(ctx context.Context, id string) error
}

// ReadableKey is a key with its secret and its mark.
type ReadableKey struct {
	Credential

	Mark Mark
}

// GrantReadable returns the credential of the account: the same one on every repeat, another one when
// the rotation changes. After a rotation exactly the previous credential keeps working.
//
// The backend is the only place where credentials are: what it has, is the truth. Which key belongs to
// which rotation stands in the mark that the key was made with, so that a key whose response was lost
// is found and returned by the next call.
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

// RevokeReadable removes all keys of the account, then what else belongs to it (rest, which may be
// nil). The account of somebody else is FailedPrecondition.
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
