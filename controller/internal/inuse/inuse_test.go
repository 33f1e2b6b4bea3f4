// SPDX-License-Identifier: Apache-2.0

package inuse_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

func TestStateOf(t *testing.T) {
	t.Parallel()
	const protected, deleted, handedOff, cleaned, judged = 1, 2, 4, 8, 16
	holds, pending, nothing := inuse.State{Holds: true}, inuse.State{Pending: true}, inuse.State{}
	for name, tc := range map[string]struct {
		is   int
		want inuse.State
	}{
		"just created":                                  {0, pending},
		"judged and not protected":                      {judged, nothing},
		"just created and deleted":                      {deleted, nothing},
		"protected":                                     {protected, holds},
		"protected and waiting":                         {protected | judged, holds},
		"handed off":                                    {protected | judged | handedOff, holds},
		"deleted before the hand-off":                   {protected | judged | deleted, nothing},
		"deleted and not cleaned up":                    {protected | judged | handedOff | deleted, holds},
		"deleted and cleaned up":                        {protected | judged | handedOff | deleted | cleaned, nothing},
		"cleaned up, the sidecar says, but not deleted": {protected | judged | handedOff | cleaned, holds},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			access := &cosiapi.BucketAccess{}
			access.Spec.BucketClaims = []cosiapi.BucketClaimAccess{{BucketClaimName: "photos"}}
			if tc.is&protected != 0 {
				cosiapi.AddProtection(access)
			}
			if tc.is&deleted != 0 {
				now := metav1.Now()
				access.DeletionTimestamp = &now
			}
			if tc.is&handedOff != 0 {
				access.Status.DriverName = "s3"
			}
			if tc.is&cleaned != 0 {
				cosiapi.SetAnnotation(access, cosiapi.SidecarCleanupFinishedAnnotation, "true")
			}
			if tc.is&judged != 0 {
				conditions.Set(&access.Status.Conditions, conditions.Change{
					Type: cosiapi.ConditionResourcesValidated, Status: metav1.ConditionUnknown, Reason: conditions.WaitingForClass,
				})
			}
			if got := inuse.StateOf(access); got != tc.want {
				t.Errorf("want %+v, got %+v", tc.want, got)
			}
			all := []cosiapi.BucketAccess{*access}
			if got := len(inuse.Blockers(all, "photos")) == 1; got != (tc.want.Holds || tc.want.Pending) {
				t.Errorf("Blockers: %v", got)
			}
			if got := inuse.Blockers(all, "films"); len(got) != 0 {
				t.Errorf("it does not concern this claim: %v", got)
			}
		})
	}
}
