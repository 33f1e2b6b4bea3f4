// SPDX-License-Identifier: Apache-2.0

package sidecars

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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
