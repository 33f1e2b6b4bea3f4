// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// classesOf are for buckets that go with what is in them, and for keys to them.
const classesOf = `
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClass
metadata: {name: NAME}
spec: {driverName: DRIVER, deletionPolicy: Delete, parameters: {deleteNonEmpty: "true"}}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketAccessClass
metadata: {name: NAME}
spec: {driverName: DRIVER, authenticationType: Key}
`

// classes makes the classes of a name, of a driver. They go with the test.
func (w *world) classes(t *testing.T, name, driver string) {
	t.Helper()
	manifest := strings.NewReplacer("NAME", name, "DRIVER", driver).Replace(classesOf)
	w.takeBack(t, "", manifest)
	w.apply(t, "", manifest)
}

// pair is a claim, and an access to its bucket, of the classes that have the name of the namespace.
func pair(namespace, name string) (*cosiapi.BucketClaim, *cosiapi.BucketAccess) {
	at := metav1.ObjectMeta{Namespace: namespace, Name: name}
	claim := &cosiapi.BucketClaim{ObjectMeta: at, Spec: cosiapi.BucketClaimSpec{
		BucketClassName: namespace, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3},
	}}
	access := &cosiapi.BucketAccess{ObjectMeta: at, Spec: cosiapi.BucketAccessSpec{
		BucketAccessClassName: namespace, Protocol: cosiapi.ProtocolS3,
		BucketClaims: []cosiapi.BucketClaimAccess{{
			BucketClaimName: name, AccessSecretName: name, AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
		}},
	}}
	return claim, access
}
