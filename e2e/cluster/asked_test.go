// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// classesOf are classes for buckets that are deleted with their data, and for key credentials.
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

// classes creates the classes of a name for a driver. They are deleted at the end of the test.
func (w *world) classes(t *testing.T, name, driver string) {
	t.Helper()
	manifest := strings.NewReplacer("NAME", name, "DRIVER", driver).Replace(classesOf)
	w.takeBack(t, "", manifest)
	w.apply(t, "", manifest)
}

// pair returns a claim and an access to its bucket, with the classes named after the namespace.
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
