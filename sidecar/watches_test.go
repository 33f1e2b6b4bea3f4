// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucketaccess"
)

func TestChangesThatReconcileOtherObjects(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	type bucketChange = func(*cosiapi.Bucket)
	for name, tc := range map[string]struct {
		change bucketChange
		want   bool
	}{
		"a label":                                {func(b *cosiapi.Bucket) { b.Labels = map[string]string{"a": "b"} }, false},
		"a finalizer":                            {func(b *cosiapi.Bucket) { b.Finalizers = nil }, false},
		"its ID":                                 {func(b *cosiapi.Bucket) { b.Status.BucketID = "other" }, true},
		"its provision":                          {func(b *cosiapi.Bucket) { b.Status.Conditions[0].Status = metav1.ConditionFalse }, true},
		"its claim":                              {func(b *cosiapi.Bucket) { b.Spec.BucketClaimRef.Name = "other" }, true},
		"its deletion":                           {func(b *cosiapi.Bucket) { b.DeletionTimestamp = &now }, true},
		"its release":                            {func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "") }, true},
		"its policy":                             {func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain }, true},
		"its replacement by another of its name": {func(b *cosiapi.Bucket) { b.UID = "other" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{UID: "one", Finalizers: []string{cosiapi.ProtectionFinalizer}}}
			before.Spec = cosiapi.BucketSpec{DriverName: "driver", DeletionPolicy: cosiapi.DeletionPolicyDelete}
			before.Status.BucketID, before.Status.Protocols = "id", []cosiapi.Protocol{cosiapi.ProtocolS3}
			before.Status.Conditions = []metav1.Condition{{Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue}}
			after := before.DeepCopy()
			tc.change(after)
			e := event.UpdateEvent{ObjectOld: before, ObjectNew: after}
			if got := changed(bucketState).Update(e); got != tc.want {
				t.Errorf("other objects are reconciled: %v", got)
			}
		})
	}
	for name, tc := range map[string]struct {
		change func(*cosiapi.BucketAccess)
		want   bool
	}{
		"a label":       {func(a *cosiapi.BucketAccess) { a.Labels = map[string]string{"a": "b"} }, false},
		"a condition":   {func(a *cosiapi.BucketAccess) { a.Status.Conditions = []metav1.Condition{{Type: "A"}} }, false},
		"its account":   {func(a *cosiapi.BucketAccess) { a.Status.AccountID = "other" }, true},
		"its deletion":  {func(a *cosiapi.BucketAccess) { a.DeletionTimestamp = &now }, true},
		"its cleanup":   {func(a *cosiapi.BucketAccess) { a.Status.Cleanup = cosiapi.CleanupFinished }, true},
		"its successor": {func(a *cosiapi.BucketAccess) { a.UID = "other" }, true},
	} {
		t.Run("access: "+name, func(t *testing.T) {
			t.Parallel()
			before := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{UID: "one"}}
			after := before.DeepCopy()
			tc.change(after)
			if got := freed(bucketaccess.HeldState).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("other accesses are reconciled: %v", got)
			}
		})
	}
	if deleting := (&cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}); !freed(bucketaccess.HeldState).Create(event.CreateEvent{Object: deleting}) ||
		freed(bucketaccess.HeldState).Create(event.CreateEvent{Object: &cosiapi.BucketAccess{}}) {
		t.Error("a new access frees something for others only if it is being deleted already")
	}
}
