// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BucketAccess is a user's request for access to the buckets of one or more
// BucketClaims of the same namespace. COSI creates one credential for all of
// these buckets, and writes it to one Secret per claim.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,path=bucketaccesses,shortName=ba,categories=cosi
// +kubebuilder:subresource:status
// +kubebuilder:selectablefield:JSONPath=`.status.driverName`
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, implementation of KEP-1979 outside the Kubernetes project"
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.spec.bucketAccessClassName`
// +kubebuilder:printcolumn:name="First claim",type=string,JSONPath=`.spec.bucketClaims[0].bucketClaimName`
// +kubebuilder:printcolumn:name="First secret",type=string,JSONPath=`.spec.bucketClaims[0].accessSecretName`
// +kubebuilder:printcolumn:name="Protocol",type=string,JSONPath=`.spec.protocol`,priority=1
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.status.driverName`,priority=1
// +kubebuilder:printcolumn:name="Account ID",type=string,JSONPath=`.status.accountID`,priority=1
// +kubebuilder:printcolumn:name="Provisioned",type=string,JSONPath=`.status.conditions[?(@.type=="Provisioned")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BucketAccess struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the requested access. It is immutable.
	// +required
	Spec BucketAccessSpec `json:"spec"`

	// status is the controller's request to the sidecar, and the result.
	// +optional
	// +kubebuilder:default={}
	Status BucketAccessStatus `json:"status,omitzero"`
}

// BucketAccessSpec is the access that a user requests.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a BucketAccess is immutable: create another access, and delete this one"
type BucketAccessSpec struct {
	// bucketClaims lists the BucketClaims to access. Each may appear only once
	// and has its own Secret.
	// +required
	// +listType=map
	// +listMapKey=bucketClaimName
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.accessSecretName == a.accessSecretName))",message="every accessSecretName may be used only once"
	BucketClaims []BucketClaimAccess `json:"bucketClaims"`

	// bucketAccessClassName is the name of the BucketAccessClass.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BucketAccessClassName string `json:"bucketAccessClassName"`

	// protocol is the protocol that the credential must support.
	// +required
	Protocol Protocol `json:"protocol"`

	// serviceAccountName is the ServiceAccount, in the same namespace, of the
	// Pods that use the access. It is required if the class authenticates by
	// ServiceAccount and ignored if it authenticates by Key.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// BucketClaimAccess is the requested access to the bucket of one BucketClaim.
// The KEP calls it BucketClaimReference, but uses that name for the reference
// on a Bucket, too.
type BucketClaimAccess struct {
	// bucketClaimName is the name of a BucketClaim in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BucketClaimName string `json:"bucketClaimName"`

	// accessSecretName is the name of the Secret that COSI creates for this
	// claim. It is deleted with the BucketAccess.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	AccessSecretName string `json:"accessSecretName"`

	// accessModes are the requested access modes. At least one must be set.
	// +required
	AccessModes BucketAccessModes `json:"accessModes"`
}

// BucketAccessModes are the requested access modes, by category.
//
// +kubebuilder:validation:XValidation:rule="has(self.objectData) || has(self.objectMetadata) || has(self.bucketMetadata)",message="at least one access mode must be set"
type BucketAccessModes struct {
	// objectData is the access to the objects of the bucket.
	// +optional
	ObjectData BucketAccessMode `json:"objectData,omitempty"`

	// objectMetadata is the access to the metadata of those objects.
	// +optional
	ObjectMetadata BucketAccessMode `json:"objectMetadata,omitempty"`

	// bucketMetadata is the access to the metadata of the bucket itself.
	// +optional
	BucketMetadata BucketAccessMode `json:"bucketMetadata,omitempty"`
}

// BucketAccessStatus is the request that the controller hands off to the
// sidecar, and the result of the request.
//
// The controller sets accessedBuckets, driverName, authenticationType,
// parameters and disallowedBucketAccessModes in one write. After that write,
// the sidecar of that driver owns the access.
//
// +kubebuilder:validation:XValidation:rule="has(self.driverName) == has(self.accessedBuckets) && has(self.driverName) == has(self.authenticationType)",message="driverName, authenticationType and accessedBuckets must be set together"
// +kubebuilder:validation:XValidation:rule="!has(self.accountID) || has(self.driverName)",message="accountID may not be set before driverName"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.accountID) || has(self.accountID)",message="status.accountID may not be changed or removed once it is set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.driverName) || has(self.driverName)",message="status.driverName may not be changed or removed once it is set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.driverName) || (has(self.parameters) == has(oldSelf.parameters) && (!has(self.parameters) || self.parameters == oldSelf.parameters))",message="status.parameters may not be changed once status.driverName is set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cleanup) || has(self.cleanup)",message="status.cleanup may not be removed once it is set, and Finished may not be taken back"
type BucketAccessStatus struct {
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

	// accountID is the unique ID of the account in the backend. It is set
	// before the driver grants the access.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._/-]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="status.accountID may not be changed or removed once it is set"
	AccountID string `json:"accountID,omitempty"`

	// cleanup is Pending while the account may exist, and Finished when the
	// account is revoked and the Secrets are deleted. The sidecar sets Pending in
	// the same write as accountID. While cleanup is Pending, the controller
	// ignores the annotation sidecar-cleanup-finished, because users of the
	// namespace can write it. If a sidecar does not set this field, the controller
	// uses only the annotation. The field is not part of the KEP.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || oldSelf == 'Pending'",message="status.cleanup may not be removed once it is set, and Finished may not be taken back"
	Cleanup Cleanup `json:"cleanup,omitempty"`

	// accessedBuckets lists the Buckets of the referenced BucketClaims.
	// +optional
	// +listType=map
	// +listMapKey=bucketClaimName
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="status.accessedBuckets may not be changed or removed once it is set"
	AccessedBuckets []AccessedBucket `json:"accessedBuckets,omitempty"`

	// driverName is a copy of the class's driverName. The sidecar can therefore
	// revoke the access without the class.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="status.driverName may not be changed or removed once it is set"
	DriverName string `json:"driverName,omitempty"`

	// authenticationType is a copy of the class's authenticationType.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="status.authenticationType may not be changed or removed once it is set"
	AuthenticationType AuthenticationType `json:"authenticationType,omitempty"`

	// parameters is a copy of the class's parameters.
	// +optional
	// +kubebuilder:validation:MaxProperties=512
	Parameters map[string]string `json:"parameters,omitempty"`

	// disallowedBucketAccessModes is a copy of the class's field. In a
	// category that the access leaves empty, the driver grants at most one of the
	// allowed modes. The field is not part of the KEP, and other sidecars may drop
	// it. If an earlier version of the controller did not set it, the controller
	// adds it later.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="status.disallowedBucketAccessModes may not be changed once it is set"
	DisallowedBucketAccessModes DisallowedBucketAccessModes `json:"disallowedBucketAccessModes,omitzero"`
}

// AccessedBucket is one Bucket of an access.
type AccessedBucket struct {
	// bucketName is the name of the Bucket.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BucketName string `json:"bucketName"`

	// bucketID is the unique ID of the bucket in the backend.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._/-]+$`
	BucketID string `json:"bucketID"`

	// bucketClaimName is the entry of spec.bucketClaims that this Bucket
	// belongs to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BucketClaimName string `json:"bucketClaimName"`
}

// CleanedUp reports whether the sidecar has finished the cleanup of an access
// that is being deleted: its account is revoked and its Secrets are deleted.
func (a *BucketAccess) CleanedUp() bool {
	return a.DeletionTimestamp != nil && a.Status.Cleanup != CleanupPending && HasAnnotation(a, SidecarCleanupFinishedAnnotation)
}

// BucketAccessList is a list of BucketAccesses.
//
// +kubebuilder:object:root=true
type BucketAccessList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BucketAccess `json:"items"`
}
