// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Parameters may be up to 64 KiB, and each Bucket and access has a copy of those of its class.
func TestTheCacheHoldsNoParameters(t *testing.T) {
	t.Parallel()
	large := map[string]string{"policy": "a long one"}
	for name, tc := range map[string]struct{ read, want any }{
		"a Bucket keeps its driver and ID": {
			&cosiapi.Bucket{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
					cosiapi.CreatedAnnotation: "2026-01-01T00:00:00Z", cosiapi.ParameterChangesAnnotation: `{"policy":"a long one"}`, cosiapi.ParameterChangesResultAnnotation: "{}",
				}},
				Spec:   cosiapi.BucketSpec{DriverName: "s3", Parameters: large},
				Status: cosiapi.BucketStatus{BucketID: "b", BucketInfo: large},
			},
			&cosiapi.Bucket{Spec: cosiapi.BucketSpec{DriverName: "s3"}, Status: cosiapi.BucketStatus{BucketID: "b"}},
		},
		"a Bucket keeps the mark of its release": {
			&cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				cosiapi.CreatedAnnotation: "2026-01-01T00:00:00Z", cosiapi.BucketClaimBeingDeletedAnnotation: "Delete/u",
			}}},
			&cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{cosiapi.BucketClaimBeingDeletedAnnotation: "Delete/u"}}},
		},
		"an access keeps its driver and ID": {
			&cosiapi.BucketAccess{Status: cosiapi.BucketAccessStatus{DriverName: "s3", AccountID: "a", Parameters: large}},
			&cosiapi.BucketAccess{Status: cosiapi.BucketAccessStatus{DriverName: "s3", AccountID: "a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := slim(tc.read)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
