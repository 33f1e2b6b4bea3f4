// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// cell is one crash, with a separate fake and the names of the resources that are created there.
type cell struct {
	server          *azurefake.Server
	clock           *clock
	bucket, account string
}

// process makes a driver as a new process has it. Without a crash it runs until the test ends.
func (c *cell) process(t *testing.T, crash *drivertest.Crash) *azuredriver.Driver {
	t.Helper()
	options := azuredriver.Options{Config: configOf(c.server), Now: c.clock.Now}
	if crash != nil {
		options.WrapTransport = crash.Wrap
	}
	driver, err := azuredriver.New(options)
	wantNoError(t, err)
	return driver
}

var crashParameters = driverkit.Values{"metadata": `{"team":"a"}`, "deleteNonEmpty": "true"}

func (c *cell) create(ctx context.Context, driver *azuredriver.Driver) error {
	_, err := driver.CreateBucket(ctx, driverkit.CreateBucketRequest{BucketID: c.bucket, Parameters: crashParameters})
	return err
}

func (c *cell) remove(ctx context.Context, driver *azuredriver.Driver) error {
	return driver.DeleteBucket(ctx, driverkit.DeleteBucketRequest{BucketID: c.bucket, Parameters: crashParameters})
}

func (c *cell) grant(ctx context.Context, driver *azuredriver.Driver, rotation string) (driverkit.Access, error) {
	return driver.GrantAccess(ctx, driverkit.GrantAccessRequest{AccountID: c.account, AccessSpec: driverkit.AccessSpec{
		Protocol: driverkit.Azure, AuthType: driverkit.Key, Rotation: rotation,
		Buckets: []driverkit.BucketAccess{{BucketID: c.bucket, ObjectData: driverkit.WriteOnly, ObjectMetadata: driverkit.Any, BucketMetadata: driverkit.Any}},
	}})
}

func (c *cell) granting(rotation string) step {
	return func(ctx context.Context, driver *azuredriver.Driver) error {
		_, err := c.grant(ctx, driver, rotation)
		return err
	}
}

func (c *cell) revoke(ctx context.Context, driver *azuredriver.Driver) error {
	return driver.RevokeAccess(ctx, driverkit.RevokeAccessRequest{
		AccountID: c.account, Protocol: driverkit.Azure, AuthType: driverkit.Key, BucketIDs: []string{c.bucket},
	})
}

type step func(context.Context, *azuredriver.Driver) error

// scenario is one RPC of the matrix: its preparation, the RPC, and the rotation of the access that exists afterwards,
// or "-" for none.
type scenario struct {
	before   func(*cell) []step
	call     func(*cell) step
	rotation string
}

// sampleOfCells is how many cells of a scenario the full tier tries, and sampleOfLagging how many it tries again with
// reads of each kind that lag.
const sampleOfCells, sampleOfLagging = 10, 2

// TestCrashMatrix kills the driver at some calls of every RPC, in the soak at every call, and lets the next process go on.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	scenarios := map[string]scenario{
		"create": {func(*cell) []step { return nil }, func(c *cell) step { return c.create }, "-"},
		"grant":  {func(c *cell) []step { return []step{c.create} }, func(c *cell) step { return c.granting("") }, ""},
		"rotate": {func(c *cell) []step { return []step{c.create, c.granting("")} }, func(c *cell) step { return c.granting("1") }, "1"},
		"rotate again": {
			func(c *cell) []step { return []step{c.create, c.granting(""), c.granting("1")} }, func(c *cell) step { return c.granting("2") }, "2",
		},
		"revoke":       {func(c *cell) []step { return []step{c.create, c.granting("")} }, func(c *cell) step { return c.revoke }, "-"},
		"whole revoke": {func(c *cell) []step { return []step{c.create, c.granting(""), c.granting("1")} }, func(c *cell) step { return c.revoke }, "-"},
		"delete":       {func(c *cell) []step { return []step{c.create} }, func(c *cell) step { return c.remove }, "-"},
	}
	for name, scenario := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.CrashMatrix{Sample: sampleOfCells, Short: 2, Cell: func(t *testing.T, crash *drivertest.Crash) {
				t.Helper()
				runCell(t, scenario, crash)
			}}.Run(t)
		})
	}
}

func runCell(t *testing.T, scenario scenario, crash *drivertest.Crash) {
	t.Helper()
	shared := &clock{}
	c := &cell{
		server: startFake(t, azurefake.Options{Now: shared.Now, Deletion: -1}), clock: shared,
		bucket: "bc-" + uuid.NewString(), account: drivertest.NewAccount(),
	}
	before := inventory(t, c.server)
	for _, step := range scenario.before(c) {
		wantNoError(t, step(t.Context(), c.process(t, nil)))
	}
	call := scenario.call(c)
	if err := call(crash.Context(t), c.process(t, crash)); err == nil && crash.Dead() && !lastIsRelease(crash) {
		t.Error("the killed process returned")
	}
	// The lease of a dead process expires.
	shared.advance(16 * time.Second)
	next := c.process(t, nil)
	wantNoError(t, call(t.Context(), next))
	c.verify(t, next, scenario.rotation)
	wantNoError(t, c.revoke(t.Context(), next))
	wantNoError(t, c.remove(t.Context(), next))
	if diff := cmp.Diff(before, inventory(t, c.server)); diff != "" {
		t.Errorf("something is left or missing (-before +after):\n%s", diff)
	}
}

// lastIsRelease reports whether the process was killed while it released the lease, whose result is ignored.
func lastIsRelease(crash *drivertest.Crash) bool {
	calls := crash.Calls()
	return strings.Contains(calls[len(calls)-1], "comp=lease")
}

// verify checks the state after the RPC has succeeded.
func (c *cell) verify(t *testing.T, driver *azuredriver.Driver, rotation string) {
	t.Helper()
	if rotation == "-" {
		for _, one := range c.server.Inventory().Containers {
			if len(one.Policies) > 0 || one.Name == records && one.Count > 0 {
				t.Errorf("an access is left: %+v", one)
			}
		}
		return
	}
	access, err := c.grant(t.Context(), driver, rotation)
	wantNoError(t, err)
	again, err := c.grant(t.Context(), driver, rotation)
	wantNoError(t, err)
	if access.Credential.Azure.Token.Reveal() != again.Credential.Azure.Token.Reveal() {
		t.Error("a repeated grant returns something else")
	}
	client := clientByURL(t, access.Credential.Azure.Token.Reveal())
	wantNoError(t, upload(t.Context(), client, "a"))
	if code := azureCode(t, download(t.Context(), client, "a")); code != "AuthorizationPermissionMismatch" {
		t.Errorf("reading with write-only access: %q", code)
	}
	want := 1
	if rotation != "" {
		want = 2
	}
	w := &world{server: c.server}
	if found := w.policies(c.bucket); len(found) != want {
		t.Errorf("policies %v, want %d", found, want)
	}
}

// identityCell is one crash with two containers and a service account.
type identityCell struct {
	*federation

	buckets []string
	account string
}

func (c *identityCell) process(t *testing.T, crash *drivertest.Crash) driverkit.Driver {
	t.Helper()
	options := azuredriver.Options{Config: c.config}
	if crash != nil {
		options.WrapTransport = crash.Wrap
	}
	driver, err := azuredriver.New(options)
	wantNoError(t, err)
	return drivertest.Settled{Driver: driver}
}

func (c *identityCell) create(ctx context.Context, driver driverkit.Driver) error {
	for _, bucket := range c.buckets {
		if _, err := driver.CreateBucket(ctx, driverkit.CreateBucketRequest{BucketID: bucket}); err != nil {
			return err
		}
	}
	return nil
}

func (c *identityCell) grant(ctx context.Context, driver driverkit.Driver) error {
	spec := driverkit.AccessSpec{Protocol: driverkit.Azure, AuthType: driverkit.ServiceAccount, ServiceAccount: driverkit.ServiceAccountRef{Namespace: "shop", Name: "app"}}
	for _, bucket := range c.buckets {
		spec.Buckets = append(spec.Buckets, driverkit.BucketAccess{BucketID: bucket, ObjectData: driverkit.ReadOnly, ObjectMetadata: driverkit.Any, BucketMetadata: driverkit.Any})
	}
	_, err := driver.GrantAccess(ctx, driverkit.GrantAccessRequest{AccountID: c.account, AccessSpec: spec})
	return err
}

func (c *identityCell) revoke(ctx context.Context, driver driverkit.Driver) error {
	return driver.RevokeAccess(ctx, driverkit.RevokeAccessRequest{
		AccountID: c.account, Protocol: driverkit.Azure, AuthType: driverkit.ServiceAccount, BucketIDs: c.buckets,
		ServiceAccount: driverkit.ServiceAccountRef{Namespace: "shop", Name: "app"},
	})
}

// TestServiceAccountCrashMatrix kills the driver at calls of grant and revoke, logins included, and lets the next
// process go on, with the same call or with the opposite one.
func TestServiceAccountCrashMatrix(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]struct{ granted, revoke, thenRevoke bool }{
		"grant":                    {},
		"grant, then revoke":       {thenRevoke: true},
		"grant again":              {granted: true},
		"revoke":                   {granted: true, revoke: true, thenRevoke: true},
		"revoke a missing account": {revoke: true, thenRevoke: true},
	} {
		for kind, stale := range map[string]string{"": "", ", with lagging identities": "*.Get", ", with lagging listings": "*.List*"} {
			sample := sampleOfCells
			if stale != "" {
				sample = sampleOfLagging
			}
			t.Run(name+kind, func(t *testing.T) {
				t.Parallel()
				if stale != "" && name != "revoke" {
					fulltest.Only(t, "\"revoke\" with each kind of lag")
				}
				drivertest.CrashMatrix{Sample: sample, Short: 2, Cell: func(t *testing.T, crash *drivertest.Crash) {
					t.Helper()
					runIdentityCell(t, crash, stale, scenario.granted, scenario.revoke, scenario.thenRevoke)
				}}.Run(t)
			})
		}
	}
}

func runIdentityCell(t *testing.T, crash *drivertest.Crash, stale string, granted, revoke, thenRevoke bool) {
	t.Helper()
	c := &identityCell{
		federation: startFederation(t, azurefake.Options{Deletion: -1, Past: true}, "https://issuer.example.com"),
		buckets:    []string{"bc-" + uuid.NewString(), "bc-" + uuid.NewString()}, account: drivertest.NewAccount(),
	}
	if stale != "" {
		c.config.Management.ReadLag = "1ms"
		// By as many calls as driverkit.Find reads again. The Blob service promises that its reads do not lag.
		wantNoError(t, c.server.Faults.Add(fault.Rule{Operation: stale, Effect: fault.Stale, Lag: 2}))
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
		t.Error("the killed process answered")
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
