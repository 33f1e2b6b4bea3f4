// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BucketClaim is a user's request for a new bucket of a BucketClass, or for an
// existing bucket that an administrator has imported as a Bucket.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=bc,categories=cosi
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, implementation of KEP-1979 outside the Kubernetes project"
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.spec.bucketClassName`
// +kubebuilder:printcolumn:name="Bucket",type=string,JSONPath=`.status.boundBucketName`
// +kubebuilder:printcolumn:name="Provisioned",type=string,JSONPath=`.status.conditions[?(@.type=="Provisioned")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(self.spec.existingBucketName) || !has(self.status) || !has(self.status.boundBucketName) || self.status.boundBucketName == self.spec.existingBucketName",message="status.boundBucketName must equal spec.existingBucketName"
type BucketClaim struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired bucket. It is immutable.
	// +required
	Spec BucketClaimSpec `json:"spec"`

	// status is the observed state of the claim.
	// +optional
	// +kubebuilder:default={}
	Status BucketClaimStatus `json:"status,omitzero"`
}

// BucketClaimSpec is the bucket that a user requests.
//
// +kubebuilder:validation:XValidation:rule="has(self.bucketClassName) != has(self.existingBucketName)",message="exactly one of bucketClassName and existingBucketName must be set"
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a BucketClaim is immutable: create another claim"
type BucketClaimSpec struct {
	// bucketClassName is the name of the BucketClass of a new bucket.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BucketClassName string `json:"bucketClassName,omitempty"`

	// protocols lists the protocols that the bucket must support.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	Protocols []Protocol `json:"protocols,omitempty"`

	// existingBucketName is the name of a Bucket that an administrator created
	// to import an existing bucket.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ExistingBucketName string `json:"existingBucketName,omitempty"`
}

// BucketClaimStatus is the observed state of a claim.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.boundBucketName) || has(self.boundBucketName)",message="status.boundBucketName may not be changed or removed once it is set"
type BucketClaimStatus struct {
	// conditions are Provisioned, ResourcesValidated and ProvisionFailed, and
	// Ready, which summarizes them. Stalled is added while only a change by a
	// user or an administrator helps.
	// DeprovisionFailed is added when the deletion waits or fails.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:default={{type:"Ready",status:"Unknown",reason:"Pending",message:"Waiting for COSI.",lastTransitionTime:"1970-01-01T00:00:00Z"},{type:"Provisioned",status:"Unknown",reason:"Pending",message:"Waiting for COSI.",lastTransitionTime:"1970-01-01T00:00:00Z"},{type:"ResourcesValidated",status:"Unknown",reason:"Pending",message:"Waiting for COSI.",lastTransitionTime:"1970-01-01T00:00:00Z"},{type:"ProvisionFailed",status:"Unknown",reason:"Pending",message:"Waiting for COSI.",lastTransitionTime:"1970-01-01T00:00:00Z"}}
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// boundBucketName is the name of the Bucket that belongs to this claim.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="status.boundBucketName may not be changed or removed once it is set"
	BoundBucketName string `json:"boundBucketName,omitempty"`

	// protocols lists the protocols that the bucket supports. A BucketAccess
	// may request any of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	Protocols []Protocol `json:"protocols,omitempty"`
}

// BucketClaimList is a list of BucketClaims.
//
// +kubebuilder:object:root=true
type BucketClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BucketClaim `json:"items"`
}
