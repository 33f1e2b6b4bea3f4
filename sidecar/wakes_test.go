// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucket"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucketaccess"
)

func TestWhatOthersAreWokenBy(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	type bucketChange = func(*cosiapi.Bucket)
	for name, tc := range map[string]struct {
		change            bucketChange
		accesses, buckets bool // that are woken
	}{
		"a label":             {func(b *cosiapi.Bucket) { b.Labels = map[string]string{"a": "b"} }, false, false},
		"a finalizer":         {func(b *cosiapi.Bucket) { b.Finalizers = nil }, false, false},
		"what it was made of": {func(b *cosiapi.Bucket) { b.Status.BucketInfo = map[string]string{"a": "b"} }, false, false},
		"its ID":              {func(b *cosiapi.Bucket) { b.Status.BucketID = "other" }, true, true},
		"its provision":       {func(b *cosiapi.Bucket) { b.Status.Conditions[0].Status = metav1.ConditionFalse }, true, false},
		"its protocols":       {func(b *cosiapi.Bucket) { b.Status.Protocols = nil }, true, false},
		"its claim":           {func(b *cosiapi.Bucket) { b.Spec.BucketClaimRef.Name = "other" }, true, false},
		"its deletion":        {func(b *cosiapi.Bucket) { b.DeletionTimestamp = &now }, true, true},
		"its policy":          {func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain }, false, false},
		"its policy as it goes": {func(b *cosiapi.Bucket) {
			b.DeletionTimestamp, b.Spec.DeletionPolicy = &now, cosiapi.DeletionPolicyRetain
		}, true, true},
		"its place, which another has taken": {func(b *cosiapi.Bucket) { b.UID = "other" }, true, true},
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
			if got := changed(bucketaccess.Use).Update(e); got != tc.accesses {
				t.Errorf("accesses are woken: %v", got)
			}
			if got := changed(bucket.Need).Update(e); got != tc.buckets {
				t.Errorf("Buckets with its ID are woken: %v", got)
			}
		})
	}
	for name, tc := range map[string]struct {
		change func(*cosiapi.BucketAccess)
		woken  bool
	}{
		"a label":       {func(a *cosiapi.BucketAccess) { a.Labels = map[string]string{"a": "b"} }, false},
		"a condition":   {func(a *cosiapi.BucketAccess) { a.Status.Conditions = []metav1.Condition{{Type: "A"}} }, false},
		"its account":   {func(a *cosiapi.BucketAccess) { a.Status.AccountID = "other" }, true},
		"its deletion":  {func(a *cosiapi.BucketAccess) { a.DeletionTimestamp = &now }, true},
		"its clean-up":  {func(a *cosiapi.BucketAccess) { a.Status.Cleanup = cosiapi.CleanupFinished }, true},
		"its successor": {func(a *cosiapi.BucketAccess) { a.UID = "other" }, true},
	} {
		t.Run("access: "+name, func(t *testing.T) {
			t.Parallel()
			before := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{UID: "one"}}
			after := before.DeepCopy()
			tc.change(after)
			if got := freed(bucketaccess.Hold).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.woken {
				t.Errorf("others are woken: %v", got)
			}
		})
	}
	if leaving := (&cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}); !freed(bucketaccess.Hold).Create(event.CreateEvent{Object: leaving}) ||
		freed(bucketaccess.Hold).Create(event.CreateEvent{Object: &cosiapi.BucketAccess{}}) {
		t.Error("an access that is new wakes others only if it goes already")
	}
}
