// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

func TestBucketChanged(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, tc := range map[string]struct {
		change func(*cosiapi.Bucket)
		wakes  bool
	}{
		"a bucket ID alone causes no reconcile": {func(b *cosiapi.Bucket) { b.Status.BucketID = "id" }, false},
		"a bucket ID with a condition": {func(b *cosiapi.Bucket) {
			b.Status.BucketID, b.Status.Conditions = "id", []metav1.Condition{{Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue}}
		}, true},
		"a bucket ID with the mark of its release": {func(b *cosiapi.Bucket) {
			b.Status.BucketID = "id"
			cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "Delete/uid")
		}, true},
		"a bucket ID in the place of another": {func(b *cosiapi.Bucket) { b.UID, b.Status.BucketID = "other", "id" }, true},
		"a condition":                         {func(b *cosiapi.Bucket) { b.Status.Conditions = []metav1.Condition{{Type: "Other"}} }, true},
		"protocols":                           {func(b *cosiapi.Bucket) { b.Status.Protocols = []cosiapi.Protocol{cosiapi.ProtocolS3} }, true},
		"a claim":                             {func(b *cosiapi.Bucket) { b.Spec.BucketClaimRef.UID = "other" }, true},
		"a deletion":                          {func(b *cosiapi.Bucket) { b.DeletionTimestamp = &now }, true},
		"no change at all, at a resync":       {func(*cosiapi.Bucket) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: "bc-1", UID: "one", ResourceVersion: "1"}}
			after := before.DeepCopy()
			after.ResourceVersion = "2"
			tc.change(after)
			if got := bucketChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.wakes {
				t.Errorf("the claim is woken: %v", got)
			}
		})
	}
}
