// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

func TestAlive(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *metav1.MicroTime { return &metav1.MicroTime{Time: now.Add(-d)} }
	for name, tc := range map[string]struct {
		spec coordinationv1.LeaseSpec
		want bool
	}{
		"renewed a moment ago":             {coordinationv1.LeaseSpec{HolderIdentity: ptr.To("a"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ago(time.Second)}, true},
		"renewed too long ago":             {coordinationv1.LeaseSpec{HolderIdentity: ptr.To("a"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ago(16 * time.Second)}, false},
		"given up by a sidecar that ended": {coordinationv1.LeaseSpec{HolderIdentity: ptr.To(""), LeaseDurationSeconds: ptr.To[int32](1), RenewTime: ago(0)}, false},
		"never held":                       {coordinationv1.LeaseSpec{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := alive(&coordinationv1.Lease{Spec: tc.spec}, now); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

func TestDeletion(t *testing.T) {
	t.Parallel()
	const patience = 20 * time.Second
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		deleted time.Time
		want    time.Duration
	}{
		"an object that was deleted just now":                {now, patience},
		"an object that was deleted a while ago":             {now.Add(-15 * time.Second), 5 * time.Second},
		"an object that was deleted long ago":                {now.Add(-time.Hour), 0},
		"an object that a clock ahead of ours says is newer": {now.Add(time.Hour), patience},
		"an object that is not being deleted":                {time.Time{}, patience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim := &cosiapi.BucketClaim{}
			if !tc.deleted.IsZero() {
				claim.DeletionTimestamp = &metav1.Time{Time: tc.deleted}
			}
			if got := (Waits{Patience: patience}).Deletion(claim, now); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}
