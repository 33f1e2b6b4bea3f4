// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 contains the Kubernetes types of the Container Object
// Storage Interface, API group objectstorage.k8s.io, version v1alpha2: Bucket,
// BucketClaim, BucketClass, BucketAccess and BucketAccessClass (KEP-1979,
// section "COSI API Reference").
//
// The package depends only on k8s.io/apimachinery. Markers on the types become
// the validation rules of the CRDs in deploy/crds: immutability, sizes and
// required fields. In every write, kube-apiserver copies a schema for each
// field that a rule selects and for all siblings of that field. To keep writes
// fast, a rule is therefore on the field that it checks or on the parent
// struct. The status has a default, so it is never absent after the creation of
// an object.
//
// +kubebuilder:object:generate=true
// +groupName=objectstorage.k8s.io
package v1alpha2
