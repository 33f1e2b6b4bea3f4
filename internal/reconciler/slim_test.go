// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// newBucket returns a Bucket as a decoder does: it shares no string with another one.
func newBucket() *cosiapi.Bucket {
	text := strings.Clone
	return &cosiapi.Bucket{
		TypeMeta:   metav1.TypeMeta{Kind: text("Bucket"), APIVersion: text("objectstorage.k8s.io/v1alpha2")},
		ObjectMeta: metav1.ObjectMeta{Name: text("photos"), Finalizers: []string{text(cosiapi.ProtectionFinalizer)}},
		Spec:       cosiapi.BucketSpec{DriverName: text("s3.example.com"), Parameters: map[string]string{"tier": "hot"}},
		Status: cosiapi.BucketStatus{
			BucketInfo: map[string]string{"BUCKET_NAME": "photos"},
			Conditions: append(make([]metav1.Condition, 0, 4), metav1.Condition{Type: text("Provisioned"), Status: metav1.ConditionStatus(text("True")), Reason: text("Succeeded"), Message: text("It is.")}),
		},
	}
}

func TestSlim(t *testing.T) {
	t.Parallel()
	slim := func() *cosiapi.Bucket {
		bucket := newBucket()
		bucket.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		got, err := reconciler.Slim(bucket)
		if err != nil {
			t.Fatal(err)
		}
		return got.(*cosiapi.Bucket)
	}
	one, another := slim(), slim()
	if diff := cmp.Diff(newBucket(), one); diff != "" {
		t.Errorf("without managed fields (-want +got):\n%s", diff)
	}
	if got := cap(one.Status.Conditions); got != 1 {
		t.Errorf("room for conditions: want 1, got %d", got)
	}
	for name, texts := range map[string][2]string{
		"driver": {one.Spec.DriverName, another.Spec.DriverName}, "finalizer": {one.Finalizers[0], another.Finalizers[0]},
		"message": {one.Status.Conditions[0].Message, another.Status.Conditions[0].Message},
	} {
		if unsafe.StringData(texts[0]) != unsafe.StringData(texts[1]) {
			t.Errorf("two objects have two copies of the %s", name)
		}
	}
	tombstone := cache.DeletedFinalStateUnknown{Key: "photos", Obj: one}
	if got, err := reconciler.Slim(tombstone); err != nil || got != any(tombstone) {
		t.Errorf("the tombstone of a missed deletion: want it unchanged, got %v, %v", got, err)
	}
}
