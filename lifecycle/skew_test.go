// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// TestSkewOfTwoControllers replays flows with two active controllers, which is possible for a moment after a
// Lease has expired. One has a stale cache. Nothing may be created twice or left over.
func TestSkewOfTwoControllers(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestSkewOfAnOldView")
	eachFlow(t, fulltest.Pick(t, flowNames(), fulltest.Tiers{Short: []string{"a claim"}, Full: []string{"an access that leaves", "an import"}}), func(t *testing.T, f flow) {
		w := start(t, setup{backoff: patient(), poll: patient().Max})
		w.newClass("fast")
		w.newAccessClass("keys", multiBucket)
		late := w.secondController()
		for _, blind := range [][]string{nil, {"buckets"}, {"bucketclaims", "bucketaccesses"}} {
			mark := w.tape.mark()
			s := f.prepare(w, fmt.Sprintf("s%d", w.next()))
			w.settled()
			var releases []func()
			for _, kind := range blind {
				releases = append(releases, late.lags.lag(theController, kind))
			}
			f.act(w, s)
			f.reached(w, s)
			for _, release := range releases {
				release()
			}
			w.settled()
			w.consistent()
			created := w.tape.done(func(e entry) bool { return e.Began > mark && e.What == "create buckets" })
			wanted := len(s.claims)
			if s.imported != nil {
				wanted = 0
			}
			if len(created) != wanted {
				t.Errorf("late on %v: %d Buckets were created for %d claims", blind, len(created), wanted)
			}
			w.clear(s)
		}
	})
}

// secondController starts a second controller with separate delays of its watches, waits until it works, and returns its
// view of the world.
func (w *world) secondController() *world {
	w.t.Helper()
	other := *w
	other.lags = &lags{}
	other.lives = &lives{processes: map[string]*process{}, first: w.lives}
	other.begun(other.runController())
	return &other
}

// begun waits until the caches of a manager have synced. Before that, it does not do anything.
func (w *world) begun(p *process) {
	w.t.Helper()
	select {
	case <-p.atWork:
	case <-time.After(patience()):
		w.t.Fatalf("the %s does not begin", p.who)
	}
}

// TestSkewOfAnOldView deletes objects that a sidecar has just provisioned and recreates them under the same
// names, while the sidecar's cache is stale. All accounts except the last must be revoked, and the Secret
// must contain the key of the last one.
func TestSkewOfAnOldView(t *testing.T) {
	t.Parallel()
	w := start(t, setup{backoff: patient(), poll: patient().Max})
	w.newClass("fast")
	w.newAccessClass("keys")
	claim, bucket := w.provisioned("photos", "fast")
	access := w.granted("app", "keys", "photos")
	releases := []func(){w.lags.lag(theSidecar, "bucketaccesses"), w.lags.lag(theSidecar, "buckets")}
	change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "unseen") })
	w.delete(access)
	w.delete(claim)
	w.quiet()
	if revoked := len(w.driver.Calls(memdriver.RevokeAccess)); revoked != 0 {
		t.Errorf("the sidecar does see: %d calls", revoked)
	}
	for _, release := range releases {
		release()
	}
	w.gone(access, claim, bucket)
	again, _ := w.provisioned("photos", "fast")
	second := w.granted("app", "keys", "photos")
	if second.Status.AccountID == access.Status.AccountID || again.UID == claim.UID {
		t.Error("the account of the first access was taken over")
	}
	revoked := w.driver.Calls(memdriver.RevokeAccess)
	if !slices.ContainsFunc(revoked, func(c memdriver.Call) bool { return c.ID == access.Status.AccountID }) {
		t.Errorf("the first account was not revoked: %v", revoked)
	}
	w.consistent()
	w.delete(second, again)
	w.gone(second, again)
	if left := w.driver.Inventory(); len(left.Accounts) > 0 {
		t.Errorf("accounts are left: %v", left.Accounts)
	}
}
