// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/fault"
)

// TestServiceAccountFaults lets calls to Azure Resource Manager fail or their answers be lost, while the process lives
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

// TestLostResponses lets the response to the nth call of each kind be lost, after its effect, while the
// process lives on.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"CreateContainer", "SetContainerACL", "LeaseContainer", "PutBlob", "DeleteBlob", "DeleteContainer"} {
		for nth := 1; nth <= 2; nth++ {
			t.Run(fmt.Sprintf("%s %d", operation, nth), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{fake: azurefake.Options{Deletion: -1}})
				w.server.Faults.Add(fault.Rule{Operation: operation, Nth: nth, Effect: fault.DropAfter})
				before := inventory(t, w.server)
				bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
				granted := w.MustGrant(t, grantRequest(account, readOnly, bucket))
				wantNoError(t, list(t.Context(), workload(t, granted)))
				w.mustRevoke(t, account, bucket)
				if code := azureCode(t, list(t.Context(), workload(t, granted))); code != "AuthenticationFailed" {
					t.Errorf("after revoke: %q", code)
				}
				wantNoError(t, w.Delete(t, bucket, nil))
				if diff := cmp.Diff(before, inventory(t, w.server)); diff != "" {
					t.Errorf("something is left or missing (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// TestClockSkew grants with a driver whose clock is wrong.
func TestClockSkew(t *testing.T) {
	t.Parallel()
	server := startFake(t, azurefake.Options{})
	for name, skew := range map[string]time.Duration{"ahead": 10 * time.Minute, "behind": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong := &clock{ahead: skew}
			w := newProcess(t, server, worldOptions{fake: azurefake.Options{Now: wrong.Now}})
			request := grantRequest(drivertest.NewAccount(), readOnly, w.NewBucket(t, nil))
			request.Parameters = map[string]string{"expiry": "15m"}
			wantNoError(t, list(t.Context(), workload(t, w.MustGrant(t, request))))
		})
	}
}

// TestALeaseOfAnotherProcess waits for the lease that a dead process left behind.
func TestALeaseOfAnotherProcess(t *testing.T) {
	t.Parallel()
	shared := &clock{}
	w := newWorld(t, worldOptions{fake: azurefake.Options{Now: shared.Now}})
	bucket := w.NewBucket(t, nil)
	left, err := lease.NewContainerClient(w.root(t, bucket), nil)
	wantNoError(t, err)
	_, err = left.AcquireLease(t.Context(), 60, nil)
	wantNoError(t, err)
	answered := make(chan error, 1)
	go func() {
		request := grantRequest(drivertest.NewAccount(), readOnly, bucket)
		_, err := w.DriverGrantBucketAccess(t.Context(), request)
		for status.Code(err) == codes.Aborted { // the driver waits 20 s; the caller then repeats the call
			_, err = w.DriverGrantBucketAccess(t.Context(), request)
		}
		answered <- err
	}()
	for !slices.ContainsFunc(w.server.Calls(), func(call call) bool { return call.Code == "LeaseAlreadyPresent" }) {
		select {
		case err := <-answered:
			t.Fatalf("answered before the lease ended: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	drivertest.WantCode(t, w.Delete(t, bucket, nil), codes.FailedPrecondition, "lease")
	shared.advance(61 * time.Second)
	wantNoError(t, <-answered)
}
