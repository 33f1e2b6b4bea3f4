// SPDX-License-Identifier: Apache-2.0

package drivertest

import (
	"context"
	"maps"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
)

// Age makes the stored key of an account old enough that drivers use it only if the backend lists it.
func Age(t testing.TB, store credentials.Store, account string) {
	t.Helper()
	entry, err := store.Get(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	entry.Notes = maps.Clone(entry.Notes)
	entry.Notes[credentials.NoteMade] = time.Now().Add(-credentials.Young).UTC().Format(time.RFC3339)
	if _, err := store.Put(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
}

// maxRepeats is the maximum number of retries because of stale reads.
const maxRepeats = 10

// Settled is a driver that retries its calls as a sidecar does, while they return retryable errors.
type Settled struct{ driverkit.Driver }

// CreateBucket implements driverkit.Driver.
func (s Settled) CreateBucket(ctx context.Context, request driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
	return settle(ctx, request, s.Driver.CreateBucket)
}

// GetBucket implements driverkit.Driver.
func (s Settled) GetBucket(ctx context.Context, request driverkit.GetBucketRequest) (driverkit.BucketInfo, error) {
	return settle(ctx, request, s.Driver.GetBucket)
}

// DeleteBucket implements driverkit.Driver.
func (s Settled) DeleteBucket(ctx context.Context, request driverkit.DeleteBucketRequest) error {
	_, err := settle(ctx, request, without(s.Driver.DeleteBucket))
	return err
}

// GrantAccess implements driverkit.Driver.
func (s Settled) GrantAccess(ctx context.Context, request driverkit.GrantAccessRequest) (driverkit.Access, error) {
	return settle(ctx, request, s.Driver.GrantAccess)
}

// RevokeAccess implements driverkit.Driver.
func (s Settled) RevokeAccess(ctx context.Context, request driverkit.RevokeAccessRequest) error {
	_, err := settle(ctx, request, without(s.Driver.RevokeAccess))
	return err
}

func without[Q any](call func(context.Context, Q) error) func(context.Context, Q) (struct{}, error) {
	return func(ctx context.Context, request Q) (struct{}, error) { return struct{}{}, call(ctx, request) }
}

// settle repeats a call while it returns a retryable error, up to maxRepeats times or until the process dies.
func settle[Q, A any](ctx context.Context, request Q, call func(context.Context, Q) (A, error)) (answer A, err error) {
	for range maxRepeats {
		answer, err = call(ctx, request)
		if code := status.Code(err); ctx.Err() != nil || code != codes.Unavailable && code != codes.Aborted && code != codes.ResourceExhausted {
			return answer, err
		}
	}
	return answer, err
}
