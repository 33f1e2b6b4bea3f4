// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion returns the group and version of the kinds in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: GroupName, Version: Version}
}

// AddToScheme registers all kinds of this package with a scheme. It never
// fails; it returns an error only to have the usual signature.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(),
		&Bucket{}, &BucketList{},
		&BucketClaim{}, &BucketClaimList{},
		&BucketClass{}, &BucketClassList{},
		&BucketAccess{}, &BucketAccessList{},
		&BucketAccessClass{}, &BucketAccessClassList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
