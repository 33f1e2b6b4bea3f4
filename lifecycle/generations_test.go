// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// modesOfOldGrants is the class parameter that declares the access modes which a driver of v1alpha1 grants.
const modesOfOldGrants = "cooper.dev/access-modes"

// escapedColon is the escaped colon in account IDs of the fake, as in the status.
const escapedColon = "..3A"

// old reports whether the driver of this world uses v1alpha1.
func (w *world) old() bool { return w.setup.fake.Speaks == memdriver.V1alpha1 }

// asked adds buckets and accounts that a driver of v1alpha1 may have been asked to create and whose IDs it
// has not returned. It names accounts as that driver does.
func (s *state) asked(buckets []cosiapi.Bucket, accesses []cosiapi.BucketAccess) {
	for i := range buckets {
		if name := buckets[i].Annotations[cosiapi.AskedForAnnotation]; name != "" && buckets[i].Status.BucketID == "" {
			s.buckets[memdriver.OldBucketPrefix+name] = &buckets[i]
		}
	}
	s.accounts = map[string]*cosiapi.BucketAccess{}
	for i := range accesses {
		if a := &accesses[i]; a.Status.AccountID != "" || a.Status.Cleanup == cosiapi.CleanupPending {
			s.accounts[memdriver.OldAccountPrefix+cosiapi.AccountNameFor(a.UID)] = a
		}
	}
}

// TestCrashWithADriverOfV1alpha1 replays the flows that such a driver supports, with crashes of controller
// and sidecar. At any moment, everything that the driver created without its ID being known must be findable
// by name.
func TestCrashWithADriverOfV1alpha1(t *testing.T) {
	t.Parallel()
	names := slices.DeleteFunc(flowNames(), func(name string) bool { return name == "an access to two" || name == "a rotation" })
	count := &tally{recorded: map[string]bool{}, replayed: map[string]bool{}}
	eachFlow(t, fulltest.Pick(t, names, fulltest.Tiers{Short: []string{"an access that leaves"}, Full: []string{"a claim", "an import"}}), func(t *testing.T, f flow) {
		f.recording = &recording{} // the writes differ for this driver
		replay(t, f, setup{fake: memdriver.Options{Speaks: memdriver.V1alpha1}}, count)
	})
}

// TestAccessThatV1alpha1CannotExpress requests features that v1alpha1 does not have. Nothing is created, the claims
// keep working, and everything can be deleted.
func TestAccessThatV1alpha1CannotExpress(t *testing.T) {
	t.Parallel()
	covers(t, "one-phase-cannot-express")
	w := start(t, setup{fake: memdriver.Options{Speaks: memdriver.V1alpha1}})
	w.newClass("fast")
	w.newAccessClass("keys", multiBucket)
	w.newAccessClass("unsaid", func(class *cosiapi.BucketAccessClassSpec) { delete(class.Parameters, modesOfOldGrants) })
	photos, _ := w.provisioned("photos", "fast")
	films, _ := w.provisioned("films", "fast")
	for reason, access := range map[string]*cosiapi.BucketAccess{
		"grants access to one bucket, not to 2": w.access("two", "keys", "photos", "films"),
		"not objectData=ReadOnly":               w.asking("reader", cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly}),
		"not bucketMetadata=ReadOnly":           w.asking("looker", cosiapi.BucketAccessModes{BucketMetadata: cosiapi.BucketAccessModeReadOnly}),
		"must set the parameter " + modesOfOldGrants + " of the BucketAccessClass to the modes that the driver grants": w.access("unsaid", "unsaid", "photos"),
	} {
		w.create(access)
		said := w.condition(access, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
		if !strings.Contains(said, reason) {
			t.Errorf("want %q, got %s", reason, said)
		}
		w.delete(access)
		w.gone(access, secret(access, 0))
	}
	if calls := w.driver.Calls(memdriver.GrantAccess, memdriver.RevokeAccess); len(calls) != 0 {
		t.Errorf("nothing was made, and the driver was asked: %v", calls)
	}
	access := w.granted("app", "keys", "photos")
	w.consistent()
	w.delete(access, photos, films)
	w.gone(access, photos, films, bucketFor(photos), bucketFor(films))
	w.empty()
}

// asking returns an access to photos with the given modes, not created yet.
func (w *world) asking(name string, modes cosiapi.BucketAccessModes) *cosiapi.BucketAccess {
	access := w.access(name, "keys", "photos")
	access.Spec.BucketClaims[0].AccessModes = modes
	return access
}

// empty waits until nothing is left in the backend.
func (w *world) empty() {
	w.t.Helper()
	w.eventually("nothing is left in the backend", func(context.Context) error {
		if left := w.driver.Inventory(); len(left.Buckets)+len(left.Accounts) > 0 {
			return fmt.Errorf("there are %+v", left)
		}
		return nil
	})
}

// TestDeletedBeforeV1alpha1ReturnsTheID loses the response to each creation, kills the sidecar, and lets
// users delete the objects while their IDs are unknown. No object may be deleted before its ID is known, and
// nothing may remain.
func TestDeletedBeforeV1alpha1ReturnsTheID(t *testing.T) {
	t.Parallel()
	covers(t, "one-phase-deleted-early")
	for _, lost := range []memdriver.RPC{memdriver.CreateBucket, memdriver.GrantAccess} {
		t.Run(string(lost), func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{backoff: patient(), fake: memdriver.Options{Speaks: memdriver.V1alpha1}})
			w.newClass("fast")
			w.newAccessClass("keys")
			find := w.driver.Script(memdriver.Fault{RPC: lost, Times: memdriver.Always, AfterEffect: true, Code: codes.Unavailable})
			claim, access := w.newClaim("photos", "fast"), w.access("app", "keys", "photos")
			w.create(access)
			w.awaitCalls(memdriver.Started(1), lost)
			dead := w.process(theSidecar)
			dead.die()
			dead.awaitEnd()
			w.known()
			w.delete(access, claim)
			asked := len(w.driver.Calls(lost))
			w.runSidecar()
			w.awaitCalls(memdriver.Started(asked+1), lost)
			if bucket := bucketFor(claim); !w.exists(bucket) {
				t.Error("the Bucket went before its ID was known")
			}
			find()
			w.gone(access, secret(access, 0), claim, bucketFor(claim))
			w.empty()
		})
	}
}

// TestDriverOfV1alpha1IsReplaced replaces the driver by one of v1alpha2 during its work, and reverts that.
// Completed objects keep their IDs, unfinished ones wait for the generation that started them, and nothing is
// created twice.
func TestDriverOfV1alpha1IsReplaced(t *testing.T) {
	t.Parallel()
	covers(t, "one-phase-replaced")
	backend := filepath.Join(t.TempDir(), "backend.json")
	w := start(t, setup{backoff: patient(), fake: memdriver.Options{Speaks: memdriver.V1alpha1, Store: memdriver.NewStore(backend)}})
	w.newClass("fast")
	w.newAccessClass("keys")
	claim, bucket := w.provisioned("photos", "fast")
	access := w.granted("app", "keys", "photos")
	// The response stays lost while this driver runs, because a repeated call would complete the bucket.
	w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Times: memdriver.Always, AfterEffect: true, Code: codes.Unavailable})
	begun := w.newClaim("begun", "fast")
	w.awaitCalls(memdriver.Finished(2), memdriver.CreateBucket)

	// The new driver names accounts by the IDs in the status.
	w.replaceDriver("", backend, func(state string) string {
		return strings.ReplaceAll(state, memdriver.OldAccountPrefix, "acct"+escapedColon)
	})
	said := w.condition(bucketFor(begun), cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
	if !strings.Contains(said, "a one-phase driver may have created") {
		t.Errorf("want the reason why the bucket waits, got %s", said)
	}
	account := get(w, access).Status.AccountID
	if id := get(w, bucket).Status.BucketID; id != memdriver.OldBucketPrefix+bucket.Name {
		t.Errorf("the bucket ID is %q now", id)
	}
	w.newAccessClass("new")
	later := w.granted("later", "new", "photos")
	fresh, _ := w.provisioned("fresh", "fast")
	w.settled()
	if left := w.driver.Inventory(); len(left.Buckets) != 3 || len(left.Accounts) != 2 {
		t.Errorf("want three buckets and two accounts, got %+v", left)
	}
	w.delete(access, later, claim)
	w.gone(access, later, claim, bucket)
	if revoked := w.driver.CallsFor(account, memdriver.RevokeAccess); len(revoked) == 0 {
		t.Errorf("account %s was not revoked by its ID", account)
	}
	w.delete(begun)
	w.condition(bucketFor(begun), cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.Terminal)

	w.replaceDriver(memdriver.V1alpha1, backend, func(state string) string { return state })
	w.gone(begun, bucketFor(begun))
	w.delete(fresh)
	w.gone(fresh, bucketFor(fresh))
	w.empty()
}

// replaceDriver stops the driver and its sidecar, changes the backend, and starts both with another
// generation.
func (w *world) replaceDriver(speaks memdriver.Generation, backend string, change func(string) string) {
	w.t.Helper()
	w.stop(theSidecar)
	w.must(w.server.Stop())
	state, err := os.ReadFile(backend)
	w.must(errors.Join(err, os.WriteFile(backend, []byte(change(string(state))), 0o600)))
	w.setup.fake.Speaks = speaks
	w.startDriver()
	w.runSidecar()
}
