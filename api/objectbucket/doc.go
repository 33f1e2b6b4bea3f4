// SPDX-License-Identifier: Apache-2.0

// Package objectbucket contains the Kubernetes types of the bucket claims that
// preceded COSI, API group objectbucket.io, version v1alpha1: ObjectBucketClaim
// and ObjectBucket. They follow the design of lib-bucket-provisioner and match the
// objects of current provisioners.
//
// The package depends only on k8s.io/apimachinery. Its validation accepts all
// existing objects of other provisioners.
//
// +kubebuilder:object:generate=true
// +groupName=objectbucket.io
// +versionName=v1alpha1
package objectbucket

//go:generate go tool -modfile=../../tools/controller-gen/go.mod controller-gen object crd paths=. output:crd:dir=../../deploy/obc/crds
