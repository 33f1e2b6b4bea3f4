// SPDX-License-Identifier: Apache-2.0

package commits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/benbjohnson/litestream"
	litestreams3 "github.com/benbjohnson/litestream/s3"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// leaser returns a leaser of Litestream. It commits leases with If-None-Match and If-Match.
func leaser(client *s3.Client, owner string, ttl time.Duration) *litestreams3.Leaser {
	l := litestreams3.NewLeaser()
	l.Bucket, l.Owner, l.TTL = bucket, owner, ttl
	l.SetClient(client)
	return l
}

// leases returns the owners and generations of all leases since the beginning, oldest first, and "released" at the end
// for a deletion.
func (s *store) leases() (all []string) {
	s.t.Helper()
	ids, markers := s.versions(litestreams3.DefaultLeasePath)
	for _, id := range ids {
		out, err := s.client(nil).GetObject(s.t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String(litestreams3.DefaultLeasePath), VersionId: &id})
		if err != nil {
			s.t.Fatal(err)
		}
		var lease litestream.Lease
		if err := errors.Join(json.NewDecoder(out.Body).Decode(&lease), out.Body.Close()); err != nil {
			s.t.Fatalf("a lease is damaged: %v", err)
		}
		all = append(all, fmt.Sprintf("%s %d", lease.Owner, lease.Generation))
	}
	for range markers {
		all = append(all, "released")
	}
	return all
}

type leaseCommit func(ctx context.Context, l *litestreams3.Leaser, held *litestream.Lease) error

func acquire(ctx context.Context, l *litestreams3.Leaser, _ *litestream.Lease) error {
	_, err := l.AcquireLease(ctx)
	return err
}

func renew(ctx context.Context, l *litestreams3.Leaser, held *litestream.Lease) error {
	_, err := l.RenewLease(ctx, held)
	return err
}

func release(ctx context.Context, l *litestreams3.Leaser, held *litestream.Lease) error {
	return l.ReleaseLease(ctx, held)
}

// TestLeases interrupts the commit of one leaser while another, which has read the same lease, is about to commit.
func TestLeases(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestNothingAcknowledgedIsLost in fakes/s3fake/s3fakecmd kills the fake under load")
	for name, test := range map[string]struct {
		operation       string
		before          time.Duration // the duration of the lease of c before the commits, if not 0
		commit, compete leaseCommit   // by a and b
		first, second   string        // the last commit if that of a survives, and if it does not
	}{
		"two leasers acquire a lease that does not exist": {"PutObject", 0, acquire, acquire, "a 1", "b 1"},
		"two leasers acquire an expired lease":            {"PutObject", -time.Hour, acquire, acquire, "a 2", "b 2"},
		"two leasers renew the same lease":                {"PutObject", time.Hour, renew, renew, "a 1", "b 1"},
		"a leaser releases a lease that another renews":   {"DeleteObject", time.Hour, release, renew, "released", "b 1"},
	} {
		for moment, c := range crashes {
			t.Run(name+", "+moment, func(t *testing.T) {
				t.Parallel()
				ctx, s := t.Context(), newStore(t)
				var held *litestream.Lease
				var want []string
				if test.before != 0 {
					var err error
					if held, err = leaser(s.client(nil), "c", test.before).AcquireLease(ctx); err != nil {
						t.Fatal(err)
					}
					want = append(want, "c 1")
				}
				first := func(client *s3.Client) error { return test.commit(ctx, leaser(client, "a", time.Hour), held) }
				second := func(client *s3.Client) error { return test.compete(ctx, leaser(client, "b", time.Hour), held) }
				if err := s.during(second, func() { s.interrupt(c, test.operation, first) }); (err != nil) != c.durable {
					t.Errorf("the commit of b: %v, want an error: %v", err, c.durable)
				} else if err != nil {
					requireLost(t, err, test.first == "released")
				}
				if err := first(s.client(nil)); err == nil {
					t.Error("leaser a repeated its commit without an error; want an error")
				}
				last := test.second
				if c.durable {
					last = test.first
				}
				if got := s.leases(); !slices.Equal(got, append(want, last)) {
					t.Errorf("the leases are %q, want %q", got, append(want, last))
				}
			})
		}
	}
}

// requireLost requires the error of a leaser for a lease that another has changed or deleted.
func requireLost(t *testing.T, err error, deleted bool) {
	t.Helper()
	_, exists := errors.AsType[*litestream.LeaseExistsError](err)
	if absent := isCode(err, "NoSuchKey"); !exists && !errors.Is(err, litestream.ErrLeaseNotHeld) && !(deleted && absent) {
		t.Errorf("the error of the leaser that lost: %v", err)
	}
}

// TestRacingLeasers kills the fake again and again while leasers race for the next generation of a lease that expires
// immediately.
func TestRacingLeasers(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestNothingAcknowledgedIsLost in fakes/s3fake/s3fakecmd kills the fake under load")
	const leasers, enough = 4, 50
	s, won := newStore(t), map[int64]string{}
	lost, unknown := 0, 0
	for range fulltest.Size(3, 3, 20) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		target := len(won) + enough
		for n := range leasers {
			owner := fmt.Sprintf("leaser-%d", n)
			wg.Go(func() {
				l := leaser(s.client(nil), owner, -time.Hour)
				for {
					lease, err := l.AcquireLease(t.Context())
					_, exists := errors.AsType[*litestream.LeaseExistsError](err)
					mu.Lock()
					switch {
					case exists:
						lost++
					case err != nil:
						unknown++
						mu.Unlock()
						return
					case won[lease.Generation] != "":
						t.Errorf("%s and %s won generation %d", won[lease.Generation], owner, lease.Generation)
					default:
						won[lease.Generation] = owner
					}
					done := len(won) >= target
					mu.Unlock()
					if done {
						s.process.Kill()
					}
				}
			})
		}
		wg.Wait()
		s.start()
	}
	all := s.leases()
	t.Logf("%d leases: %d were acknowledged and %d commits have an unknown result; %d commits lost", len(all), len(won), unknown, lost)
	if len(all) > len(won)+unknown {
		t.Errorf("%d leases, but only %d commits can have won", len(all), len(won)+unknown)
	}
	for generation, owner := range won {
		if generation > int64(len(all)) || all[generation-1] != fmt.Sprintf("%s %d", owner, generation) {
			t.Errorf("the acknowledged generation %d of %s is lost", generation, owner)
		}
	}
	for i, lease := range all {
		var owner string
		var generation int
		if _, err := fmt.Sscanf(lease, "%s %d", &owner, &generation); err != nil || generation != i+1 {
			t.Errorf("the lease %q is number %d", lease, i+1)
		}
	}
}
