// SPDX-License-Identifier: Apache-2.0

package objectbucket

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Phase is how far a claim or its ObjectBucket is.
type Phase string

// The phases.
const (
	// PhasePending: a provisioner works on the claim, or waits.
	PhasePending Phase = "Pending"
	// PhaseBound: Secret and ConfigMap can be used.
	PhaseBound Phase = "Bound"
	// PhaseReleased: a claim without its ObjectBucket, or an ObjectBucket without its claim.
	PhaseReleased Phase = "Released"
	// PhaseFailed: nothing comes of it until somebody changes something.
	PhaseFailed Phase = "Failed"
)

// ObjectBucketClaim is a user's request for a bucket and a credential for it. Both are
// described by a ConfigMap and a Secret of the claim's name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=obc;obcs
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Storage-Class",type=string,JSONPath=`.spec.storageClassName`
// +kubebuilder:printcolumn:name="Bucket",type=string,JSONPath=`.spec.bucketName`,priority=1
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ObjectBucketClaim struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which bucket is wanted. It is read until the ObjectBucket exists, and no more after that.
	// +optional
	Spec ObjectBucketClaimSpec `json:"spec,omitzero"`

	// status says what became of the claim.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status ObjectBucketClaimStatus `json:"status,omitzero"`
}

// ObjectBucketClaimSpec says which bucket is wanted.
type ObjectBucketClaimSpec struct {
	// storageClassName is the StorageClass that names the provisioner and describes the bucket.
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`

	// bucketName is the name of the claim's bucket, set by the provisioner. Users leave it empty: COSI refuses names for new buckets.
	// +optional
	BucketName string `json:"bucketName,omitempty"`

	// generateBucketName is the prefix of a new bucket's name, where the StorageClass passes it to the driver.
	// +optional
	GenerateBucketName string `json:"generateBucketName,omitempty"`

	// additionalConfig is for the provisioner. The StorageClass says which keys are allowed.
	// +optional
	// +nullable
	AdditionalConfig map[string]string `json:"additionalConfig,omitempty"`

	// objectBucketName is the name of the claim's ObjectBucket, set by the provisioner.
	// +optional
	ObjectBucketName string `json:"objectBucketName,omitempty"`

	// objectBucketRef, configMapRef and secretRef are what the claim got, set by the provisioner.
	// +optional
	ObjectBucketRef *Reference `json:"objectBucketRef,omitempty"`
	// +optional
	ConfigMapRef *Reference `json:"configMapRef,omitempty"`
	// +optional
	SecretRef *Reference `json:"secretRef,omitempty"`
}

// ObjectBucketClaimStatus says what became of a claim.
type ObjectBucketClaimStatus struct {
	// phase is Pending, Bound, Released or Failed.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// message says what the claim waits for, or what is wrong with it and what to do.
	// +optional
	Message string `json:"message,omitempty"`
}

// Reference names another object, with the fields of an ObjectReference of Kubernetes.
type Reference struct {
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// +optional
	Kind string `json:"kind,omitempty"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// ObjectBucketClaimList is a list of ObjectBucketClaims.
//
// +kubebuilder:object:root=true
type ObjectBucketClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ObjectBucketClaim `json:"items"`
}

// ObjectBucket is what a provisioner made for one claim, or is about to make.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=ob;obs
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Storage-Class",type=string,JSONPath=`.spec.storageClassName`
// +kubebuilder:printcolumn:name="Claim-Namespace",type=string,JSONPath=`.spec.claimRef.namespace`
// +kubebuilder:printcolumn:name="Claim-Name",type=string,JSONPath=`.spec.claimRef.name`
// +kubebuilder:printcolumn:name="Reclaim-Policy",type=string,JSONPath=`.spec.reclaimPolicy`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ObjectBucket struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes the bucket.
	// +optional
	Spec ObjectBucketSpec `json:"spec,omitzero"`

	// status says how far it is.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status ObjectBucketStatus `json:"status,omitzero"`
}

// ObjectBucketSpec describes the bucket of a claim.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ObjectBucketSpec struct {
	// storageClassName is the claim's.
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`

	// claimRef names the claim.
	// +optional
	ClaimRef *Reference `json:"claimRef,omitempty"`

	// reclaimPolicy is Delete or Retain: what becomes of the bucket with the claim.
	// +optional
	ReclaimPolicy string `json:"reclaimPolicy,omitempty"`

	// endpoint is where the bucket is.
	// +optional
	Endpoint *Endpoint `json:"endpoint,omitempty"`

	// additionalState is what the provisioner noted for itself.
	// +optional
	AdditionalState map[string]string `json:"additionalState,omitempty"`
}

// Endpoint is where a bucket is.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Endpoint struct {
	// bucketHost is a host name without a scheme.
	// +optional
	BucketHost string `json:"bucketHost,omitempty"`
	// +optional
	BucketPort int `json:"bucketPort,omitempty"`
	// +optional
	BucketName string `json:"bucketName,omitempty"`
	// +optional
	Region string `json:"region,omitempty"`
	// +optional
	SubRegion string `json:"subRegion,omitempty"`
}

// ObjectBucketStatus says how far an ObjectBucket is.
type ObjectBucketStatus struct {
	// phase is Bound or Released; empty while the bucket is being made.
	// +optional
	Phase Phase `json:"phase,omitempty"`
}

// ObjectBucketList is a list of ObjectBuckets.
//
// +kubebuilder:object:root=true
type ObjectBucketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ObjectBucket `json:"items"`
}
