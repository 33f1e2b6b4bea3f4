// SPDX-License-Identifier: Apache-2.0

package credentials

import "context"

// ReadableKeys are the keys of one account at a backend that returns a secret again when it is asked,
// such as Garage or Ceph RGW.
type ReadableKeys interface {
	// List returns the keys of the account that carry a mark. Others are somebody else's.
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
func GrantReadable(ctx context.Context, request Request, keys ReadableKeys) (Credential, error) {
	live, err := keys.List(ctx)
	if err != nil {
		return Credential{}, err
	}
	byMark := map[Mark]Credential{}
	marks := make([]Mark, 0, len(live))
	for _, key := range live {
		byMark[key.Mark] = key.Credential
		marks = append(marks, key.Mark)
	}
	plan := PlanMarks(marks, request.Rotation)
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
// nil).
func RevokeReadable(ctx context.Context, keys ReadableKeys, rest func(context.Context) error) error {
	live, err := keys.List(ctx)
	if err != nil {
		return err
	}
	remove := func(ctx context.Context, key ReadableKey) error { return keys.Remove(ctx, key.ID) }
	return removeAll(ctx, live, remove, rest)
}
