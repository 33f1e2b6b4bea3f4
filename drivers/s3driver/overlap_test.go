// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// TestFormerLeaderGrants pauses a grant before each of its calls while another process grants the same access. The
// credential that the other process delivered must work.
func TestFormerLeaderGrants(t *testing.T) {
	t.Parallel()
	for name, rotation := range map[string]string{"a new account": "", "a rotation": "r1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, _ := ourServer(t, s3fake.Options{})
			for at, ran := 1, true; ran && !t.Failed(); at++ {
				store := credstore.NewMemory()
				run := &run{names{bucket: "bc-" + uuid.NewString(), account: drivertest.NewAccount()}, on, store, process(t, on, store, nil)}
				prepareBucket(t, run.driver, run.names)
				if rotation != "" {
					mustSucceed(t, callGrant("")(t.Context(), run.driver, run.names))
				}
				ran = false
				var delivered driverkit.Access
				former := bare(t, on, store, drivertest.Paused(at, func() {
					ran = true
					var err error
					delivered, err = run.driver.GrantAccess(t.Context(), grantOf(run.names, rotation))
					mustSucceed(t, err)
				}))
				granted, refused := former.GrantAccess(t.Context(), grantOf(run.names, rotation))
				again, err := run.driver.GrantAccess(t.Context(), grantOf(run.names, rotation))
				mustSucceed(t, err)
				if diff := cmp.Diff(granted, again); refused == nil && diff != "" {
					t.Errorf("paused before call %d, it delivers another credential:\n%s", at, diff)
				}
				if diff := cmp.Diff(delivered, again); ran && diff != "" {
					t.Errorf("paused before call %d, the delivered credential was replaced:\n%s", at, diff)
				}
				verifyGranted(rotation)(t, run)
			}
		})
	}
}

// TestFormerLeaderMeetsARevoke pauses a repeated grant before each of its calls while another process revokes the
// access. The previously delivered credential must not work again, and an IAM user that was seen must not be
// recreated.
func TestFormerLeaderMeetsARevoke(t *testing.T) {
	t.Parallel()
	onEveryTarget(t, func(t *testing.T, on target) {
		t.Helper()
		for at, ran := 1, true; ran && !t.Failed(); at++ {
			store := credstore.NewMemory()
			run := &run{names{bucket: "bc-" + uuid.NewString(), account: drivertest.NewAccount()}, on, store, process(t, on, store, nil)}
			prepareBucket(t, run.driver, run.names)
			delivered, err := run.driver.GrantAccess(t.Context(), grantOf(run.names, ""))
			mustSucceed(t, err)
			ran = false
			pause := drivertest.Paused(at, func() {
				ran = true
				mustSucceed(t, callRevoke(t.Context(), run.driver, run.names))
			})
			_, err = bare(t, on, store, pause).GrantAccess(t.Context(), grantOf(run.names, ""))
			if ran {
				left, firstOfIAM := ofRun(inventory(t, on, store), run.names), slices.Index(pause.Calls(), "POST /")
				t.Logf("paused before call %d: %v; left are %v", at, err, left)
				if firstOfIAM >= 0 && at > firstOfIAM+1 && len(left) != count(left, "bucket ") {
					t.Errorf("paused before call %d: the account was made again: %v", at, left)
				}
				if code := apiCode(t, putObject(t, clientOf(delivered, run.bucket), run.bucket, "key")); code != "InvalidAccessKeyId" {
					t.Errorf("paused before call %d: an object is written with a revoked key: %q", at, code)
				}
			}
			mustSucceed(t, callRevoke(t.Context(), run.driver, run.names))
			mustSucceed(t, callDelete(t.Context(), run.driver, run.names))
		}
	})
}
