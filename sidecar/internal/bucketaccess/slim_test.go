// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// What the cache keeps of a Secret tells whose it is as well as the whole does.
func TestSlim(t *testing.T) {
	t.Parallel()
	whole := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "secret", UID: "1", ResourceVersion: "2", Finalizers: []string{cosiapi.ProtectionFinalizer},
		Labels:        map[string]string{cosiapi.AccessSecretLabel: "true"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "sidecar"}},
		Annotations: map[string]string{
			ownerAnnotation: "access-uid", driverAnnotation: "driver", cosiapi.BucketAccessReferenceAnnotation: "team/access",
			recordAnnotation: "long", grantAnnotation: "digest",
		},
	}}
	slim := whole.DeepCopy()
	if _, err := Slim(slim); err != nil {
		t.Fatal(err)
	}
	want, wantUID := MadeFor(whole, "driver")
	got, gotUID := MadeFor(slim, "driver")
	if want != got || wantUID != gotUID || gotUID == "" || Stranded(whole) != Stranded(slim) {
		t.Errorf("made for %v %q, want %v %q", got, gotUID, want, wantUID)
	}
	kept := metav1.ObjectMeta{
		Namespace: "team", Name: "secret", UID: "1", ResourceVersion: "2", Finalizers: whole.Finalizers,
		Annotations: map[string]string{ownerAnnotation: "access-uid", driverAnnotation: "driver", cosiapi.BucketAccessReferenceAnnotation: "team/access"},
	}
	if diff := cmp.Diff(kept, slim.ObjectMeta); diff != "" {
		t.Errorf("kept (-want, +got):\n%s", diff)
	}
}
