// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BucketAccessClass is an administrator's description of one kind of access.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=bucketaccessclasses,shortName=bac,categories=cosi
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, implementation of KEP-1979 outside the Kubernetes project"
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.spec.driverName`
// +kubebuilder:printcolumn:name="Authentication",type=string,JSONPath=`.spec.authenticationType`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BucketAccessClass struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes the accesses of this class. It is immutable.
	// +required
	Spec BucketAccessClassSpec `json:"spec"`
}

// BucketAccessClassSpec describes the accesses of a class.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a BucketAccessClass is immutable: create another class, or delete this one and create it again"
type BucketAccessClassSpec struct {
	// driverName is the name of the driver that grants the access: a
	// lower-case DNS name of at most 63 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	DriverName string `json:"driverName"`

	// authenticationType determines how Pods authenticate to the backend.
	//  - Key: with the keys or tokens in the access Secret
	//  - ServiceAccount: the backend trusts their Kubernetes ServiceAccount
	// +optional
	// +kubebuilder:default=Key
	AuthenticationType AuthenticationType `json:"authenticationType,omitempty"`

	// parameters are passed to the driver unchanged when it grants access.
	// At most 512 entries and 65536 characters in total.
	// +optional
	// +kubebuilder:validation:MaxProperties=512
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '')",message="parameters: a key must not be empty"
	// +kubebuilder:validation:XValidation:rule="self.map(k, size(k) + size(self[k])).sum() <= 65536",message="parameters: keys and values together must not be longer than 65536 characters"
	Parameters map[string]string `json:"parameters,omitempty"`

	// multiBucketAccess determines how many BucketClaims one BucketAccess of this
	// class may reference. The default is SingleBucket; it may change.
	//  - SingleBucket: exactly one
	//  - MultipleBuckets: one or more
	// +optional
	MultiBucketAccess MultiBucketAccess `json:"multiBucketAccess,omitempty"`

	// disallowedBucketAccessModes lists access modes that a BucketAccess of
	// this class may not request.
	// +optional
	DisallowedBucketAccessModes DisallowedBucketAccessModes `json:"disallowedBucketAccessModes,omitzero"`
}

// DisallowedBucketAccessModes lists, for each category, the access modes that a
// BucketAccess may not request. Each mode excludes only itself: if ReadWrite is
// disallowed, ReadOnly is still allowed. In a category that a BucketAccess
// leaves empty, drivers that support this field grant at most one of the
// allowed modes.
type DisallowedBucketAccessModes struct {
	// objectData is the access to the objects of the bucket.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	ObjectData []BucketAccessMode `json:"objectData,omitempty"`

	// objectMetadata is the access to the metadata of those objects.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	ObjectMetadata []BucketAccessMode `json:"objectMetadata,omitempty"`

	// bucketMetadata is the access to the metadata of the bucket itself.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	BucketMetadata []BucketAccessMode `json:"bucketMetadata,omitempty"`
}

// BucketAccessClassList is a list of BucketAccessClasses.
//
// +kubebuilder:object:root=true
type BucketAccessClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BucketAccessClass `json:"items"`
}
