// SPDX-License-Identifier: Apache-2.0

// Package objectbucket contains the Kubernetes types of the bucket API that
// preceded COSI: ObjectBucketClaim and ObjectBucket, API group objectbucket.io,
// version v1alpha1. The types follow the design of lib-bucket-provisioner and
// are compatible with the objects of current provisioners.
//
// The package depends only on k8s.io/apimachinery. Its validation accepts all
// existing objects of other provisioners.
//
// +kubebuilder:object:generate=true
// +groupName=objectbucket.io
// +versionName=v1alpha1
package objectbucket

//go:generate go tool -modfile=../../tools/controller-gen/go.mod controller-gen object crd paths=. output:crd:dir=../../deploy/obc/crds
