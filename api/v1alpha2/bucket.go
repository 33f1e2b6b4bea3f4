// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Bucket represents one bucket in a backend. It is created by the controller
// for a BucketClaim, or by an administrator to import an existing bucket.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=bkt,categories=cosi
// +kubebuilder:subresource:status
// +kubebuilder:selectablefield:JSONPath=`.spec.driverName`
// +kubebuilder:selectablefield:JSONPath=`.spec.existingBucketID`
// +kubebuilder:selectablefield:JSONPath=`.status.bucketID`
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, implementation of KEP-1979 outside the Kubernetes project"
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.spec.driverName`
// +kubebuilder:printcolumn:name="Bucket ID",type=string,JSONPath=`.status.bucketID`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.deletionPolicy`
// +kubebuilder:printcolumn:name="Claim namespace",type=string,JSONPath=`.spec.bucketClaimRef.namespace`,priority=1
// +kubebuilder:printcolumn:name="Claim",type=string,JSONPath=`.spec.bucketClaimRef.name`,priority=1
// +kubebuilder:printcolumn:name="Provisioned",type=string,JSONPath=`.status.conditions[?(@.type=="Provisioned")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(self.spec.existingBucketID) || !has(self.status) || !has(self.status.bucketID) || self.status.bucketID == self.spec.existingBucketID",message="status.bucketID must equal spec.existingBucketID"
type Bucket struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the bucket. It is immutable, except for
	// deletionPolicy, and bucketClaimRef.uid, which can be set once.
	// +required
	Spec BucketSpec `json:"spec"`

	// status is the observed state of the bucket in the backend.
	// +optional
	// +kubebuilder:default={}
	Status BucketStatus `json:"status,omitzero"`
}

// BucketSpec is the desired state of a bucket.
//
// +kubebuilder:validation:XValidation:rule="!has(self.existingBucketID) || self.deletionPolicy == 'Retain'",message="deletionPolicy must be Retain when existingBucketID is set: COSI does not delete a bucket that it did not create"
// +kubebuilder:validation:XValidation:rule="has(self.protocols) == has(oldSelf.protocols)",message="protocols is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.parameters) == has(oldSelf.parameters)",message="parameters is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.existingBucketID) == has(oldSelf.existingBucketID)",message="existingBucketID is immutable"
type BucketSpec struct {
	// driverName is the name of the driver that serves this bucket: a
	// lower-case DNS name of at most 63 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="driverName is immutable"
	DriverName string `json:"driverName"`

	// deletionPolicy determines what happens when the bound BucketClaim is deleted.
	//  - Retain: keep this object and the backend bucket
	//  - Delete: delete this object and the backend bucket
	// An administrator may change it at any time. An imported bucket is
	// always retained.
	// +required
	DeletionPolicy DeletionPolicy `json:"deletionPolicy"`

	// protocols lists the protocols that the backend bucket must support.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="protocols is immutable"
	Protocols []Protocol `json:"protocols,omitempty"`

	// parameters are passed to the driver unchanged. They are copied from the
	// BucketClass, which is then not needed to delete the bucket. At most 512
	// entries and 65536 characters in total.
	// +optional
	// +kubebuilder:validation:MaxProperties=512
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '')",message="parameters: a key must not be empty"
	// +kubebuilder:validation:XValidation:rule="self.map(k, size(k) + size(self[k])).sum() <= 65536",message="parameters: keys and values together must not be longer than 65536 characters"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="parameters is immutable"
	Parameters map[string]string `json:"parameters,omitempty"`

	// bucketClaimRef references the BucketClaim that this Bucket belongs to.
	// For an imported bucket, the administrator sets the namespace and name of
	// the claim that may bind to it. COSI sets the UID when the claim binds.
	// +required
	BucketClaimRef BucketClaimReference `json:"bucketClaimRef"`

	// existingBucketID is the backend's ID of the bucket to import. It is empty
	// for a bucket that COSI provisions.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._/-]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="existingBucketID is immutable"
	ExistingBucketID string `json:"existingBucketID,omitempty"`
}

// BucketClaimReference identifies the BucketClaim of a Bucket.
//
// +kubebuilder:validation:XValidation:rule="self.name == oldSelf.name && self.__namespace__ == oldSelf.__namespace__",message="name and namespace of bucketClaimRef are immutable"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.uid) || (has(self.uid) && self.uid == oldSelf.uid)",message="bucketClaimRef.uid may not be changed or removed once it is set"
type BucketClaimReference struct {
	// name of the BucketClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the BucketClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace"`

	// uid of the BucketClaim. Empty means that no claim has bound yet.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	UID types.UID `json:"uid,omitempty"`
}

// BucketStatus is the observed state of a bucket in the backend.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.bucketID) || has(self.bucketID)",message="status.bucketID may not be changed or removed once it is set"
type BucketStatus struct {
	// conditions are Provisioned, ResourcesValidated and ProvisionFailed, and
	// Ready, which summarizes them. Stalled is added while only a change by a
	// user or an administrator helps.
	// DeprovisionFailed is added when the deletion waits or fails. ReleaseHeld
	// is set while the BucketClaim does not exist, COSI has not observed its
	// deletion, and no administrator has confirmed the release.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:default={{type:"Ready",status:"Unknown",reason:"Pending",message:"Waiting for COSI.",lastTransitionTime:"1970-01-01T00:00:00Z"},{type:"Provisioned",status:"Unknown",reason:"Pending",message:"Waiting for COSI.",lastTransitionTime:"1970-01-01T00:00:00Z"},{type:"ResourcesValidated",status:"Unknown",reason:"Pending",message:"Waiting for COSI.",lastTransitionTime:"1970-01-01T00:00:00Z"},{type:"ProvisionFailed",status:"Unknown",reason:"Pending",message:"Waiting for COSI.",lastTransitionTime:"1970-01-01T00:00:00Z"}}
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// bucketID is the unique ID of the bucket in the backend. It is set before
	// the bucket is created there, so it does not mean that the bucket exists.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._/-]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="status.bucketID may not be changed or removed once it is set"
	BucketID string `json:"bucketID,omitempty"`

	// protocols lists the protocols that the backend bucket supports.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	Protocols []Protocol `json:"protocols,omitempty"`

	// bucketInfo is the driver's information about the bucket, with the keys
	// of an access Secret. It is opaque, contains no secrets, and is intended
	// for administrators.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	BucketInfo map[string]string `json:"bucketInfo,omitempty"`
}

// BucketList is a list of Buckets.
//
// +kubebuilder:object:root=true
type BucketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Bucket `json:"items"`
}
