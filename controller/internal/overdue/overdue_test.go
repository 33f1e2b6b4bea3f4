// SPDX-License-Identifier: Apache-2.0

package overdue_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/overdue"
)

func TestIn(t *testing.T) {
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
			if got := overdue.In(claim, patience, now); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}
