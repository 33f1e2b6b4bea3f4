// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

func TestCounted(t *testing.T) {
	t.Parallel()
	at := func(second int64) metav1.Time { return metav1.Unix(second, 0) }
	provisioned := metav1.Condition{Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, LastTransitionTime: at(1)}
	failed := metav1.Condition{Type: cosiapi.ConditionProvisionFailed, Status: metav1.ConditionTrue, LastTransitionTime: at(2)}
	succeeded := metav1.Condition{Type: cosiapi.ConditionProvisionFailed, Status: metav1.ConditionFalse, LastTransitionTime: at(2)}
	deleted := at(3)
	for name, tc := range map[string]struct {
		meta       metav1.ObjectMeta
		conditions []metav1.Condition
		state      string
		since      time.Time
	}{
		"new":                                 {metav1.ObjectMeta{}, nil, metrics.StatePending, at(0).Time},
		"provisioned":                         {metav1.ObjectMeta{}, []metav1.Condition{provisioned, succeeded}, metrics.StateReady, time.Time{}},
		"failed before it was":                {metav1.ObjectMeta{}, []metav1.Condition{failed}, metrics.StateFailing, at(2).Time},
		"failed after it was":                 {metav1.ObjectMeta{}, []metav1.Condition{provisioned, failed}, metrics.StateFailing, at(2).Time},
		"in deletion":                         {metav1.ObjectMeta{DeletionTimestamp: &deleted, Finalizers: []string{cosiapi.ProtectionFinalizer}}, []metav1.Condition{failed}, metrics.StateDeleting, deleted.Time},
		"only with another owner's finalizer": {metav1.ObjectMeta{DeletionTimestamp: &deleted, Finalizers: []string{"user.example.com/mine"}}, []metav1.Condition{provisioned}, metrics.StateReady, time.Time{}},
		"held so after a failure":             {metav1.ObjectMeta{DeletionTimestamp: &deleted, Finalizers: []string{"user.example.com/mine"}}, []metav1.Condition{failed}, metrics.StatePending, at(0).Time},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.meta.Name, tc.meta.CreationTimestamp = "a", at(0)
			ofClaim := cosiapi.BucketClaimReference{Namespace: "shop", Name: "a"}
			buckets := []cosiapi.Bucket{
				{ObjectMeta: tc.meta, Spec: cosiapi.BucketSpec{DriverName: "s3", BucketClaimRef: ofClaim}, Status: cosiapi.BucketStatus{Conditions: tc.conditions}},
				{
					ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"},
					Spec:       cosiapi.BucketSpec{DriverName: "s3", BucketClaimRef: cosiapi.BucketClaimReference{Namespace: "elsewhere"}},
				},
			}
			tc.meta.Namespace = "shop"
			claims := []cosiapi.BucketClaim{
				{ObjectMeta: tc.meta, Status: cosiapi.BucketClaimStatus{BoundBucketName: "a", Conditions: tc.conditions}},
				{ObjectMeta: tc.meta, Status: cosiapi.BucketClaimStatus{Conditions: tc.conditions}}, // without a Bucket
			}
			accesses := []cosiapi.BucketAccess{{ObjectMeta: tc.meta, Status: cosiapi.BucketAccessStatus{DriverName: "s3", Conditions: tc.conditions}}}
			of := func(driver, kind string) metrics.Object {
				return metrics.Object{Driver: driver, Kind: kind, Namespace: "shop", State: tc.state, Since: tc.since}
			}
			want := []metrics.Object{
				of("s3", metrics.KindBucket), of("s3", metrics.KindBucketClaim), of("", metrics.KindBucketClaim), of("s3", metrics.KindBucketAccess),
			}
			got := slices.Collect(counted(buckets, claims, accesses, reconciler.Scope{Namespaces: []string{"shop"}}))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
