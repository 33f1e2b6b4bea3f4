// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// crashCase is work that is interrupted at each write of the store and each call of the driver.
type crashCase struct {
	prepare func(t *testing.T, client *drivertest.Client)
	call    func(ctx context.Context, client *drivertest.Client) error
}

func crashCases() map[string]crashCase {
	bucket := func(t *testing.T, client *drivertest.Client) { t.Helper(); mustCreate(t, client, "bc-1") }
	granted := func(t *testing.T, client *drivertest.Client) {
		t.Helper()
		mustCreate(t, client, "bc-1")
		client.MustGrant(t, grantOf("ba-1", "cosi/12345678/bc-1"))
	}
	return map[string]crashCase{
		"create": {func(*testing.T, *drivertest.Client) {}, func(ctx context.Context, client *drivertest.Client) error {
			_, err := create(ctx, client, "bc-1")
			return err
		}},
		"grant": {bucket, func(ctx context.Context, client *drivertest.Client) error {
			_, err := client.DriverGrantBucketAccess(ctx, grantOf("ba-1", "cosi/12345678/bc-1"))
			return err
		}},
		"revoke": {granted, func(ctx context.Context, client *drivertest.Client) error {
			_, err := client.DriverRevokeBucketAccess(ctx, drivertest.RevokeRequest(grantOf("ba-1", "cosi/12345678/bc-1")))
			return err
		}},
		"delete": {bucket, func(ctx context.Context, client *drivertest.Client) error {
			_, err := client.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: "cosi/12345678/bc-1"})
			return err
		}},
	}
}

// difficult are drivers that a repeated grant would confuse: one replaces the key of the account, the other fails.
var difficult = map[string]memdriver.Options{
	"replaces keys": {Defects: memdriver.With(memdriver.RotatesOnRepeat)},
	"fails":         {Defects: memdriver.With(memdriver.SecondGrantFails), NamesAsIDs: true},
}

// TestCrashes kills the adapter at each write of its store and each call of a difficult driver. After each crash, a new
// adapter either deletes everything, and nothing is left, or completes the work, and a delivered credential works until
// it is revoked.
func TestCrashes(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestLifecycle, without crashes")
	both(t, func(t *testing.T, generation memdriver.Generation) {
		for kind, fake := range difficult {
			fake.Speaks = generation
			for name, work := range crashCases() {
				for _, completes := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, a driver that %s, then completed: %t", name, kind, completes), func(t *testing.T) {
						t.Parallel()
						drivertest.CrashMatrix{Cell: func(t *testing.T, crash *drivertest.Crash) {
							t.Helper()
							s := interrupted(t, fake, work, crash)
							if completes {
								s.complete(t, name, work)
							}
							cleanUp(t, s)
						}}.Run(t)
					})
				}
			}
		}
	})
}

// TestAGrantWithoutResponse lets the driver fail after it has created the account. The driver refuses to create it again,
// but the adapter completes or revokes the grant.
func TestAGrantWithoutResponse(t *testing.T) {
	t.Parallel()
	fake := difficult["fails"]
	fake.Speaks = memdriver.V1alpha1
	for name, finish := range map[string]func(*testing.T, *system, *drivertest.Client){
		"granted again": func(t *testing.T, s *system, client *drivertest.Client) { t.Helper(); s.keepsCredential(t, client) },
		"revoked":       func(*testing.T, *system, *drivertest.Client) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, fake)
			client := s.adapter(t, nil)
			mustCreate(t, client, "bc-1")
			s.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.Internal, AfterEffect: true})
			if _, err := client.DriverGrantBucketAccess(t.Context(), grantOf("ba-1", "cosi/12345678/bc-1")); status.Code(err) != codes.Internal {
				t.Fatalf("want the error Internal of the driver, got %v", err)
			}
			finish(t, s, client)
			cleanUp(t, s)
		})
	}
}

// complete lets a new adapter complete the work. A delivered credential is the one that the backend accepts.
func (s *system) complete(t *testing.T, name string, work crashCase) {
	t.Helper()
	client := s.adapter(t, nil)
	if err := work.call(t.Context(), client); err != nil {
		t.Fatalf("the work is not completed: %v", err)
	}
	if name == "grant" {
		s.keepsCredential(t, client)
	}
}

// interrupted returns a system in which an adapter was killed at its work.
func interrupted(t *testing.T, fake memdriver.Options, work crashCase, crash *drivertest.Crash) *system {
	t.Helper()
	s := newSystem(t, fake)
	work.prepare(t, s.adapter(t, nil))
	_ = work.call(t.Context(), s.adapter(t, crash)) // it fails if the process was killed
	return s
}

// keepsCredential grants twice and compares the credential with the only valid key.
func (s *system) keepsCredential(t *testing.T, client *drivertest.Client) {
	t.Helper()
	first, second := client.MustGrant(t, grantOf("ba-1", "cosi/12345678/bc-1")), client.MustGrant(t, grantOf("ba-1", "cosi/12345678/bc-1"))
	if diff := cmp.Diff(first, second, protocmp.Transform()); diff != "" {
		t.Errorf("the credential has changed (-first, +second):\n%s", diff)
	}
	accounts := s.Inventory().Accounts
	if len(accounts) != 1 || accounts[0].Keys[0].ID != first.GetCredentials().GetS3().GetAccessKeyId() {
		t.Errorf("the delivered key %s is not that of the backend: %+v", first.GetCredentials().GetS3().GetAccessKeyId(), accounts)
	}
}

// cleanUp revokes and deletes everything with a new adapter.
func cleanUp(t *testing.T, s *system) {
	t.Helper()
	client := s.adapter(t, nil)
	mustRevoke(t, client, grantOf("ba-1", "cosi/12345678/bc-1"))
	mustDelete(t, client, "cosi/12345678/bc-1")
	s.empty(t)
}
