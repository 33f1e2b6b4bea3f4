// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// long is a lag of more calls than a test makes.
const long = 1000

// TestLaggingReads makes all reads stale until the lag ends, so they show none of the test's changes.
func TestLaggingReads(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, run lagRun, server *s3fake.Server){
		"a revoke that does not see the user ends the access": func(t *testing.T, run lagRun, server *s3fake.Server) {
			t.Helper()
			access, err := run.driver.GrantAccess(t.Context(), grantOf(run.names, ""))
			mustSucceed(t, err)
			lagging(t, server, "iam:GetUser")
			err = callRevoke(t.Context(), run.driver, run.names)
			if code := apiCode(t, putObject(t, clientOf(access, run.bucket), run.bucket, "key")); code != "InvalidAccessKeyId" {
				t.Errorf("the revoke returned %v, and with its key an object can be written: %q", err, code)
			}
			if code := status.Code(err); code != codes.Unavailable {
				t.Errorf("a revoke that took a key from a user that is said to be missing: %v, want Unavailable", err)
			}
		},
		"a key that is not listed is kept": func(t *testing.T, run lagRun, server *s3fake.Server) {
			t.Helper()
			mustSucceed(t, server.Faults.Add(fault.Rule{Operation: "iam:CreateAccessKey", Code: "LimitExceeded", Times: 1}))
			if err := callGrant("")(t.Context(), run.driver, run.names); err == nil {
				t.Error("a grant without a key")
			}
			run.clock.advance(2 * time.Minute)
			delivered, err := run.driver.GrantAccess(t.Context(), grantOf(run.names, ""))
			mustSucceed(t, err)
			// The user is visible, and its key is not.
			mustSucceed(t, server.Faults.Add(fault.Rule{Operation: "iam:ListAccessKeys", Effect: fault.Stale, LagTime: fault.Duration(time.Minute)}))
			mustSucceed(t, callGrant("")(t.Context(), run.driver, run.names))
			server.Faults.Clear()
			mustSucceed(t, callGrant("")(t.Context(), run.driver, run.names))
			mustSucceed(t, putObject(t, clientOf(delivered, run.bucket), run.bucket, "key"))
		},
		"one's own user is not taken for foreign": func(t *testing.T, run lagRun, server *s3fake.Server) {
			t.Helper()
			lagging(t, server, "iam:GetUser", fault.Rule{Operation: "iam:CreateUser", Effect: fault.DropAfter, Times: 1})
			if err := callGrant("")(t.Context(), run.driver, run.names); status.Code(err) != codes.Unavailable {
				t.Errorf("a grant that does not see its own user: %v, want Unavailable", err)
			}
			server.Faults.Clear()
			mustSucceed(t, callGrant("")(t.Context(), run.driver, run.names))
		},
		"a revocation needs no list of the driver's objects": func(t *testing.T, run lagRun, server *s3fake.Server) {
			t.Helper()
			prepareMany(t, run.driver, names{bucket: run.bucket + "-m"})
			large := names{bucket: run.bucket + "-m", account: drivertest.NewAccount()}
			mustSucceed(t, callGrant("")(t.Context(), run.driver, run.names))
			mustSucceed(t, callGrantMany(managed)(t.Context(), run.driver, large))
			mustSucceed(t, callGrantIdentity(t.Context(), run.driver, run.names))
			lagging(t, server, "iam:List*")
			mustSucceed(t, callRevoke(t.Context(), run.driver, run.names))
			mustSucceed(t, callRevoke(t.Context(), run.driver, large))
			mustSucceed(t, callRevokeIdentity(t.Context(), run.driver, run.names))
			for _, bucket := range bucketsOf(large) {
				mustSucceed(t, callDelete(t.Context(), run.driver, names{bucket: bucket}))
			}
		},
		"a revocation repeats a stale list": func(t *testing.T, run lagRun, server *s3fake.Server) {
			t.Helper()
			mustSucceed(t, server.Faults.Add(fault.Rule{Operation: "iam:CreateAccessKey", Effect: fault.DropAfter, Times: 1}))
			if err := callGrant("")(t.Context(), run.driver, run.names); err == nil {
				t.Error("a grant whose key was lost")
			}
			mustSucceed(t, server.Faults.Add(fault.Rule{Operation: "iam:ListAccessKeys", Effect: fault.Stale, Lag: long, Times: 1}))
			mustSucceed(t, callRevoke(t.Context(), run.driver, run.names))
		},
		"a policy of before a revoke is not taken for the new one": func(t *testing.T, run lagRun, server *s3fake.Server) {
			t.Helper()
			mustSucceed(t, callGrant("")(t.Context(), run.driver, run.names))
			run.clock.advance(2 * time.Minute)
			mustSucceed(t, callRevoke(t.Context(), run.driver, run.names))
			mustSucceed(t, server.Faults.Add(fault.Rule{Operation: "iam:PutUserPolicy", Code: "LimitExceeded", Times: 1}))
			if err := callGrant("")(t.Context(), run.driver, run.names); err == nil {
				t.Error("a grant without a policy")
			}
			once(t, server, "iam:GetUserPolicy")
			access, err := run.driver.GrantAccess(t.Context(), grantOf(run.names, ""))
			mustSucceed(t, err)
			mustSucceed(t, putObject(t, clientOf(access, run.bucket), run.bucket, "key"))
		},
		"a role of before a revoke is not taken for the new one": func(t *testing.T, run lagRun, server *s3fake.Server) {
			t.Helper()
			mustSucceed(t, callGrantIdentity(t.Context(), run.driver, run.names))
			run.clock.advance(2 * time.Minute)
			mustSucceed(t, callRevokeIdentity(t.Context(), run.driver, run.names))
			once(t, server, "iam:GetRole", "iam:GetRolePolicy", "eks:ListPodIdentityAssociations", "eks:DescribePodIdentityAssociation")
			mustSucceed(t, callGrantIdentity(t.Context(), run.driver, run.names))
			if held := server.Inventory(); len(held.Roles) != 1 || len(held.Roles[0].Inline) != 1 || len(held.Associations) != 1 {
				t.Errorf("after the grant there are %+v and %v, want a role with a policy and its association", held.Roles, held.Associations)
			}
			mustSucceed(t, callRevokeIdentity(t.Context(), run.driver, run.names))
		},
		"a role ends with its last access, though another is still listed": func(t *testing.T, run lagRun, server *s3fake.Server) {
			t.Helper()
			other := driverkit.RevokeAccessRequest{
				AccountID: drivertest.NewAccount(), Protocol: driverkit.S3, AuthType: driverkit.ServiceAccount,
				ServiceAccount: identityOf(run.names), BucketIDs: []string{run.bucket},
			}
			grant := grantOf(names{bucket: run.bucket, account: other.AccountID}, "")
			grant.AuthType, grant.ServiceAccount = other.AuthType, other.ServiceAccount
			_, err := run.driver.GrantAccess(t.Context(), grant)
			mustSucceed(t, err)
			mustSucceed(t, callGrantIdentity(t.Context(), run.driver, run.names))
			run.clock.advance(2 * time.Minute)
			mustSucceed(t, callRevokeIdentity(t.Context(), run.driver, run.names))
			if held := server.Inventory(); len(held.Roles) != 1 || len(held.Associations) != 1 {
				t.Errorf("with one access there are %+v and %v, want the role and its association", held.Roles, held.Associations)
			}
			once(t, server, "iam:ListRolePolicies")
			mustSucceed(t, run.driver.RevokeAccess(t.Context(), other))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &clock{}
			on, server := ourServer(t, s3fake.Options{Past: true, Now: clock.Now})
			on.backend.ReadLag = "1ms"
			store := credstore.NewMemory()
			run := lagRun{&run{names: names{bucket: "bc-" + uuid.NewString(), account: drivertest.NewAccount()}, target: on, store: store, driver: bare(t, on, store, nil)}, clock}
			prepareBucket(t, run.driver, run.names)
			test(t, run, server)
			server.Faults.Clear()
			mustSucceed(t, callRevoke(t.Context(), run.driver, run.names))
			mustSucceed(t, run.driver.DeleteBucket(t.Context(), driverkit.DeleteBucketRequest{BucketID: run.bucket, Parameters: crashParameters}))
			held := server.Inventory()
			if len(held.Users)+len(held.Roles)+len(held.Policies)+len(held.Associations)+len(held.Buckets)+len(store.Accounts()) != 1 {
				t.Errorf("left are %+v and %v, want only the record of the backends", held, store.Accounts())
			}
		})
	}
}

// lagRun is a run on a fake with its own clock.
type lagRun struct {
	*run

	clock *clock
}

// clock is a clock that the test advances.
type clock struct{ ahead atomic.Int64 }

func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) advance(by time.Duration) { c.ahead.Add(int64(by)) }

// lagging makes reads of one kind show none of the changes.
func lagging(t *testing.T, server *s3fake.Server, operation string, more ...fault.Rule) {
	t.Helper()
	mustSucceed(t, server.Faults.Add(append(more, fault.Rule{Operation: operation, Effect: fault.Stale, Lag: long})...))
}

// once makes the next read of each kind show the state of a minute ago.
func once(t *testing.T, server *s3fake.Server, operations ...string) {
	t.Helper()
	for _, operation := range operations {
		mustSucceed(t, server.Faults.Add(fault.Rule{Operation: operation, Effect: fault.Stale, LagTime: fault.Duration(time.Minute), Times: 1}))
	}
}
