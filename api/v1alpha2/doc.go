// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 holds the Kubernetes types of the Container Object Storage
// Interface, API group objectstorage.k8s.io, version v1alpha2: Bucket,
// BucketClaim, BucketClass, BucketAccess and BucketAccessClass (KEP-1979,
// section "COSI API Reference").
//
// It is a leaf: it depends on k8s.io/apimachinery only and must not import
// anything else of this module, nor decide anything that needs a client.
// Whatever the API server can check (immutability, sizes, required fields) is
// a marker on a type here and ends up in the CRDs under deploy/crds. A rule is
// on the field that it is about, or on the struct that has it: a status is never
// absent after the creation, since it has a default. For each field that a rule
// selects, kube-apiserver copies the schemas of all fields beside it, in every
// write.
//
// +kubebuilder:object:generate=true
// +groupName=objectstorage.k8s.io
package v1alpha2
