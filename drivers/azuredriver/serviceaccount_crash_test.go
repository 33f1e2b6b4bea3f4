// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/fault"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// identityCell is one crash with two containers and a service account.
type identityCell struct {
	*federation

	buckets []string
	account string
}

func (c *identityCell) process(t *testing.T, crash *drivertest.Crash) *azuredriver.Driver {
	t.Helper()
	options := azuredriver.Options{Config: c.config}
	if crash != nil {
		options.WrapTransport = crash.Wrap
	}
	driver, err := azuredriver.New(options)
	wantNoError(t, err)
	return driver
}

func (c *identityCell) create(ctx context.Context, driver *azuredriver.Driver) error {
	for _, bucket := range c.buckets {
		if _, err := driver.CreateBucket(ctx, driverkit.CreateBucketRequest{BucketID: bucket}); err != nil {
			return err
		}
	}
	return nil
}

func (c *identityCell) grant(ctx context.Context, driver *azuredriver.Driver) error {
	spec := driverkit.AccessSpec{Protocol: driverkit.Azure, AuthType: driverkit.ServiceAccount, ServiceAccount: driverkit.ServiceAccountRef{Namespace: "shop", Name: "app"}}
	for _, bucket := range c.buckets {
		spec.Buckets = append(spec.Buckets, driverkit.BucketAccess{BucketID: bucket, ObjectData: driverkit.ReadOnly, ObjectMetadata: driverkit.Any, BucketMetadata: driverkit.Any})
	}
	_, err := driver.GrantAccess(ctx, driverkit.GrantAccessRequest{AccountID: c.account, AccessSpec: spec})
	return err
}

func (c *identityCell) revoke(ctx context.Context, driver *azuredriver.Driver) error {
	return driver.RevokeAccess(ctx, driverkit.RevokeAccessRequest{
		AccountID: c.account, Protocol: driverkit.Azure, AuthType: driverkit.ServiceAccount, BucketIDs: c.buckets,
		ServiceAccount: driverkit.ServiceAccountRef{Namespace: "shop", Name: "app"},
	})
}

// TestServiceAccountCrashMatrix kills the driver at every call of grant and revoke, logins included, and lets the next
// process go on, with the same call or with the opposite one.
func TestServiceAccountCrashMatrix(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]struct{ granted, revoke, thenRevoke bool }{
		"grant":              {},
		"grant, then revoke": {thenRevoke: true},
		"grant again":        {granted: true},
		"revoke":             {granted: true, revoke: true, thenRevoke: true},
		"revoke what is not": {revoke: true, thenRevoke: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.CrashMatrix{Short: 6, Cell: func(t *testing.T, crash *drivertest.Crash) {
				t.Helper()
				runIdentityCell(t, crash, scenario.granted, scenario.revoke, scenario.thenRevoke)
			}}.Run(t)
		})
	}
}

func runIdentityCell(t *testing.T, crash *drivertest.Crash, granted, revoke, thenRevoke bool) {
	t.Helper()
	c := &identityCell{
		federation: startFederation(t, azurefake.Options{Deletion: -1}, "https://issuer.example.com"),
		buckets:    []string{"bc-" + uuid.NewString(), "bc-" + uuid.NewString()}, account: drivertest.NewAccount(),
	}
	before := inventory(t, c.server)
	wantNoError(t, c.create(t.Context(), c.process(t, nil)))
	if granted {
		wantNoError(t, c.grant(t.Context(), c.process(t, nil)))
	}
	call, next := c.grant, c.grant
	if revoke {
		call = c.revoke
	}
	if thenRevoke {
		next = c.revoke
	}
	if err := call(crash.Context(t), c.process(t, crash)); err == nil && crash.Dead() {
		t.Error("the killed process returned")
	}
	driver := c.process(t, nil)
	wantNoError(t, next(t.Context(), driver))
	c.verify(t, !thenRevoke)
	wantNoError(t, c.revoke(t.Context(), driver))
	for _, bucket := range c.buckets {
		wantNoError(t, driver.DeleteBucket(t.Context(), driverkit.DeleteBucketRequest{BucketID: bucket}))
	}
	if diff := cmp.Diff(before, inventory(t, c.server)); diff != "" {
		t.Errorf("something is left or missing (-before +after):\n%s", diff)
	}
}

// verify looks whether there is one identity with one role at each container, or nothing.
func (c *identityCell) verify(t *testing.T, granted bool) {
	t.Helper()
	want := 0
	if granted {
		want = 1
	}
	var subjects []string
	for _, one := range c.server.Inventory().Principals {
		subjects = append(subjects, one.Subjects...)
	}
	if len(subjects) != want || granted && subjects[0] != "system:serviceaccount:shop:app" {
		t.Errorf("federated credentials for %v, want %d", subjects, want)
	}
	for _, bucket := range c.buckets {
		if roles := rolesAt(c.server, bucket); len(roles) != want {
			t.Errorf("roles %v at %s, want %d", roles, bucket, want)
		}
	}
}

// TestServiceAccountFaults lets calls to Azure Resource Manager fail or their responses be lost, while the process lives
// on: the call that fails is repeated by the sidecar, and nothing is left at the end.
func TestServiceAccountFaults(t *testing.T) {
	t.Parallel()
	rules := map[string]fault.Rule{"an identity that is not known everywhere": {Operation: "RoleAssignments.Create", Nth: 1, Effect: fault.Fail, Code: "PrincipalNotFound"}}
	for _, operation := range []string{
		"UserAssignedIdentities.CreateOrUpdate", "RoleAssignments.Create", "FederatedIdentityCredentials.CreateOrUpdate", "RoleAssignments.Delete", "UserAssignedIdentities.Delete",
	} {
		rules["lost response of "+operation] = fault.Rule{Operation: operation, Nth: 1, Effect: fault.DropAfter}
		rules["throttled "+operation] = fault.Rule{Operation: operation, Nth: 1, Effect: fault.Fail, Code: "TooManyRequests"}
		rules["failure of "+operation] = fault.Rule{Operation: operation, Nth: 1, Effect: fault.FailAfter, Code: "InternalError"}
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &identityCell{
				federation: startFederation(t, azurefake.Options{Deletion: -1}, "https://issuer.example.com"),
				buckets:    []string{"bc-" + uuid.NewString(), "bc-" + uuid.NewString()}, account: drivertest.NewAccount(),
			}
			before, driver := inventory(t, c.server), c.process(t, nil)
			wantNoError(t, c.create(t.Context(), driver))
			c.server.Faults.Add(rule)
			repeat(t, "grant", func() error { return c.grant(t.Context(), driver) })
			c.verify(t, true)
			repeat(t, "revoke", func() error { return c.revoke(t.Context(), driver) })
			c.verify(t, false)
			for _, bucket := range c.buckets {
				wantNoError(t, driver.DeleteBucket(t.Context(), driverkit.DeleteBucketRequest{BucketID: bucket}))
			}
			if diff := cmp.Diff(before, inventory(t, c.server)); diff != "" {
				t.Errorf("something is left or missing (-before +after):\n%s", diff)
			}
			if !hit(c.server) {
				t.Error("the fault did not happen")
			}
		})
	}
}

func hit(server *azurefake.Server) bool {
	for _, call := range server.Calls() {
		if call.Fault != "" {
			return true
		}
	}
	return false
}

// repeat calls again after one failure, as the sidecar does.
func repeat(t *testing.T, what string, call func() error) {
	t.Helper()
	err := call()
	if err != nil {
		t.Logf("%s: %v", what, err)
		err = call()
	}
	if err != nil {
		t.Errorf("%s again: %v", what, err)
	}
}

// TestParallelServiceAccountGrants lets two processes grant the same access and others at once, as after a change of the
// leader, and then revoke them at once.
func TestParallelServiceAccountGrants(t *testing.T) {
	t.Parallel()
	f := startFederation(t, azurefake.Options{Deletion: -1}, "https://issuer.example.com")
	processes := []*world{f.process(t), f.process(t)}
	before := inventory(t, f.server)
	bucket, other := processes[0].NewBucket(t, nil), processes[0].NewBucket(t, nil)
	accounts := []string{drivertest.NewAccount(), drivertest.NewAccount(), drivertest.NewAccount()}
	each := func(what string, call func(w *world, account string) error) {
		t.Helper()
		var group sync.WaitGroup
		for i := range 12 {
			group.Go(func() {
				err := call(processes[i%2], accounts[i%3])
				for status.Code(err) == codes.Aborted { // another call for the account is under way
					err = call(processes[i%2], accounts[i%3])
				}
				if err != nil {
					t.Errorf("%s %s: %v", what, accounts[i%3], err)
				}
			})
		}
		group.Wait()
	}
	request := func(account string) *cosi.DriverGrantBucketAccessRequest {
		return as(grantRequest(account, readWrite, bucket, other), "shop", "app")
	}
	each("grant", func(w *world, account string) error {
		_, err := w.DriverGrantBucketAccess(t.Context(), request(account))
		return err
	})
	if at, also := rolesAt(f.server, bucket), rolesAt(f.server, other); len(at) != 3 || len(also) != 3 {
		t.Errorf("%d and %d roles, want 3 at each bucket", len(at), len(also))
	}
	each("revoke", func(w *world, account string) error { return w.revokeAs(t, request(account)) })
	for _, id := range []string{bucket, other} {
		wantNoError(t, processes[0].Delete(t, id, nil))
	}
	if diff := cmp.Diff(before, inventory(t, f.server)); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
}
