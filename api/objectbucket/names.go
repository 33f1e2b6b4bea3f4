// SPDX-License-Identifier: Apache-2.0

package objectbucket

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of both kinds, and Version the version of this package.
const (
	GroupName = "objectbucket.io"
	Version   = "v1alpha1"
)

const (
	// Finalizer is set on a claim and on all objects that a provisioner creates for it.
	Finalizer = GroupName + "/finalizer"
	// ProvisionerLabel is set on the same objects. Its value is the name of the
	// provisioner, with a dash in place of the slash.
	ProvisionerLabel = "bucket-provisioner"
	// ProvisionerSuffix is the suffix of a provisioner's name in a StorageClass.
	ProvisionerSuffix = "/bucket"
)

// Keys of the ConfigMap of a claim.
const (
	ConfigHost      = "BUCKET_HOST"
	ConfigPort      = "BUCKET_PORT"
	ConfigName      = "BUCKET_NAME"
	ConfigRegion    = "BUCKET_REGION"
	ConfigSubRegion = "BUCKET_SUBREGION"
)

// Keys of the Secret of a claim, according to the design. Current provisioners also
// write AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
const (
	SecretAccessKeyID = "ACCESS_KEY_ID"
	SecretAccessKey   = "SECRET_ACCESS_KEY"
)

// NameFor returns the name of the ObjectBucket of a claim.
func NameFor(namespace, name string) string { return "obc-" + namespace + "-" + name }

// GroupVersion returns the group and version of the kinds in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: GroupName, Version: Version}
}

// AddToScheme registers both kinds with a scheme. It never fails; it returns an
// error only to have the usual signature.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(), &ObjectBucketClaim{}, &ObjectBucketClaimList{}, &ObjectBucket{}, &ObjectBucketList{})
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
