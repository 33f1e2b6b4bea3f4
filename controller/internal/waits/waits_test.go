// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

func TestSightings(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	const lasts = 15 * time.Second
	type look struct {
		after time.Duration
		// holder of the Lease, and how often it was renewed by then.
		holder  string
		renewed int
		held    bool
		again   time.Duration
	}
	for name, looks := range map[string][]look{
		"given up by a sidecar that ended":            {{holder: "", renewed: 1}},
		"one look tells nothing":                      {{holder: "a", renewed: 1, again: lasts}},
		"renewed between two looks":                   {{holder: "a", renewed: 1, again: lasts}, {after: lasts, holder: "a", renewed: 2, held: true}},
		"not renewed for as long as it lasts":         {{holder: "a", renewed: 1, again: lasts}, {after: lasts, holder: "a", renewed: 1}},
		"another look comes sooner":                   {{holder: "a", renewed: 1, again: lasts}, {after: 5 * time.Second, holder: "a", renewed: 1, again: 10 * time.Second}},
		"taken over by another":                       {{holder: "a", renewed: 1, again: lasts}, {after: lasts, holder: "b", renewed: 1, held: true}},
		"renewed once, who knows when":                {{holder: "a", renewed: 1, again: lasts}, {after: time.Minute, holder: "a", renewed: 2, again: lasts}},
		"no more since, and that is known without us": {{holder: "a", renewed: 1, again: lasts}, {after: lasts, holder: "a", renewed: 1}, {after: time.Minute, holder: "a", renewed: 1}},
	} {
		for clock, skew := range map[string]time.Duration{"one clock": 0, "a clock ahead of ours": time.Hour, "a clock behind ours": -time.Hour} {
			t.Run(name+", "+clock, func(t *testing.T) {
				t.Parallel()
				var seen Sightings
				now := start
				for i, l := range looks {
					now = now.Add(l.after)
					lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
						HolderIdentity: &l.holder, LeaseDurationSeconds: ptr.To(int32(lasts / time.Second)),
						RenewTime: &metav1.MicroTime{Time: start.Add(skew + time.Duration(l.renewed)*time.Second)},
					}}
					if held, again := seen.look("a.example.com", lease, now); held != l.held || again != l.again {
						t.Errorf("look %d: want %v and again after %v, got %v, %v", i, l.held, l.again, held, again)
					}
				}
			})
		}
	}
}

func TestSightingsAreForgotten(t *testing.T) {
	t.Parallel()
	var seen Sightings
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i := range 100 {
		now = now.Add(forgetful / 4)
		seen.look(fmt.Sprintf("%d.example.com", i), &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("a"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: &metav1.MicroTime{Time: now},
		}}, now)
	}
	if n := len(seen.byDriver); n != 4 {
		t.Errorf("want the Leases of the last hour, which are 4, got %d", n)
	}
}

func TestDeletion(t *testing.T) {
	t.Parallel()
	const patience = 20 * time.Second
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		deleted time.Time
		// moved is when another object of the namespace went, or began to.
		moved time.Time
		want  time.Duration
	}{
		"an object that was deleted just now":                {now, time.Time{}, patience},
		"an object that was deleted a while ago":             {now.Add(-15 * time.Second), time.Time{}, 5 * time.Second},
		"an object that was deleted long ago":                {now.Add(-time.Hour), time.Time{}, 0},
		"an object that a clock ahead of ours says is newer": {now.Add(time.Hour), time.Time{}, patience},
		"an object that is not being deleted":                {time.Time{}, time.Time{}, patience},
		"another one moved just now":                         {now.Add(-time.Minute), now, patience},
		"another one moved a while ago":                      {now.Add(-time.Minute), now.Add(-15 * time.Second), 5 * time.Second},
		"another one moved long ago":                         {now.Add(-time.Minute), now.Add(-30 * time.Second), 0},
		"others move all the time, for too long":             {now.Add(-time.Hour), now, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "theirs"}}
			waits := Waits{Patience: patience, Namespaces: &Namespaces{}}
			if !tc.moved.IsZero() {
				waits.Namespaces.Moved("theirs", tc.moved)
				waits.Namespaces.Moved("ours", now)
			}
			if !tc.deleted.IsZero() {
				claim.DeletionTimestamp = &metav1.Time{Time: tc.deleted}
			}
			if got := waits.Deletion(claim, now); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

func TestNobodyIsToldForLongToWaitForWhatGoesWithItsNamespace(t *testing.T) {
	t.Parallel()
	const patience = 20 * time.Second
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct{ ago, want time.Duration }{
		"at once, and it looks again soon": {0, patience},
		"while nothing moves":              {19 * time.Minute, patience},
		"when something is blocked":        {21 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waits := Waits{Patience: patience, Namespaces: &Namespaces{}}
			claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "theirs", DeletionTimestamp: &metav1.Time{Time: now.Add(-tc.ago)}}}
			if got := waits.NamespaceDeletion(claim, now); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

func TestDeletionsThatBeginAreMovement(t *testing.T) {
	t.Parallel()
	const patience = 20 * time.Second
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	waits := Waits{Patience: patience, Namespaces: &Namespaces{}}
	deleted := func(ago time.Duration) time.Duration {
		claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "theirs", DeletionTimestamp: &metav1.Time{Time: now.Add(-ago)}}}
		return waits.Deletion(claim, now)
	}
	if left := deleted(time.Minute); left != 0 {
		t.Errorf("want the only one that is being deleted overdue, got %v left", left)
	}
	if left := deleted(5 * time.Second); left != 15*time.Second {
		t.Errorf("want 15s for one that was deleted 5s ago, got %v", left)
	}
	if left := deleted(time.Minute); left != 15*time.Second {
		t.Errorf("want those before it to wait as long as it, got %v", left)
	}
}
