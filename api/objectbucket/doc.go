// SPDX-License-Identifier: Apache-2.0

// Package objectbucket holds the Kubernetes types of the bucket claims that were
// there before COSI, API group objectbucket.io, version v1alpha1: ObjectBucketClaim
// and ObjectBucket, as the design of lib-bucket-provisioner describes them and as the
// provisioners of today store them.
//
// It is a leaf: it depends on k8s.io/apimachinery only. It checks nothing that
// existing objects of other provisioners might violate.
//
// +kubebuilder:object:generate=true
// +groupName=objectbucket.io
// +versionName=v1alpha1
package objectbucket

//go:generate go tool -modfile=../../tools/controller-gen/go.mod controller-gen object crd paths=. output:crd:dir=../../deploy/obc/crds
