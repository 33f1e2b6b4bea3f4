// SPDX-License-Identifier: Apache-2.0

package objectbucket

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Phase is the state of a claim or its ObjectBucket.
type Phase string

// The phases.
const (
	// PhasePending: the claim is being provisioned, or waits.
	PhasePending Phase = "Pending"
	// PhaseBound: the Secret and the ConfigMap are ready.
	PhaseBound Phase = "Bound"
	// PhaseReleased: a claim without its ObjectBucket, or an ObjectBucket without its claim.
	PhaseReleased Phase = "Released"
	// PhaseFailed: the claim cannot be served without a change.
	PhaseFailed Phase = "Failed"
)

// Condition types of a claim. They follow the conventions of kstatus. A CRD from another provisioner may drop them.
const (
	// ConditionReady is True if the Secret and the ConfigMap are ready, and BucketClaim and BucketAccess are. Its reason
	// is the phase, Terminating, or the reason of the BucketClaim or BucketAccess.
	ConditionReady = "Ready"
	// ConditionStalled is True if the claim cannot become ready without a change by a user, and absent otherwise.
	ConditionStalled = "Stalled"
)

// ObjectBucketClaim is a user's request for a bucket and a credential for it. The
// result is a ConfigMap and a Secret with the claim's name.
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

	// spec is the requested bucket. After the bucket is created, changes of additionalConfig are applied if the driver supports them.
	// status.message lists changes that are not applied.
	// +optional
	Spec ObjectBucketClaimSpec `json:"spec,omitzero"`

	// status is the observed state of the claim.
	// +optional
	// +kubebuilder:default={conditions:{{type:"Ready",status:"Unknown",reason:"Pending",message:"Waiting for the provisioner.",lastTransitionTime:"1970-01-01T00:00:00Z"}}}
	// +kubebuilder:pruning:PreserveUnknownFields
	Status ObjectBucketClaimStatus `json:"status,omitzero"`
}

// ObjectBucketClaimSpec is the bucket that a user requests.
type ObjectBucketClaimSpec struct {
	// storageClassName is the StorageClass, which defines the provisioner and the settings of the bucket.
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`

	// bucketName is the name of the claim's bucket, set by the provisioner. Users must leave it empty: COSI rejects names for new buckets.
	// +optional
	BucketName string `json:"bucketName,omitempty"`

	// generateBucketName is the prefix of a new bucket's name, if the StorageClass passes it to the driver.
	// +optional
	GenerateBucketName string `json:"generateBucketName,omitempty"`

	// additionalConfig contains settings of the bucket. The StorageClass defines the allowed keys.
	// +optional
	// +nullable
	AdditionalConfig map[string]string `json:"additionalConfig,omitempty"`

	// objectBucketName is the name of the claim's ObjectBucket, set by the provisioner.
	// +optional
	ObjectBucketName string `json:"objectBucketName,omitempty"`

	// objectBucketRef, configMapRef and secretRef reference the result. The provisioner sets them.
	// +optional
	ObjectBucketRef *Reference `json:"objectBucketRef,omitempty"`
	// +optional
	ConfigMapRef *Reference `json:"configMapRef,omitempty"`
	// +optional
	SecretRef *Reference `json:"secretRef,omitempty"`
}

// ObjectBucketClaimStatus is the observed state of a claim.
type ObjectBucketClaimStatus struct {
	// phase is Pending, Bound, Released or Failed.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// message explains a wait or a failure, and what to do.
	// +optional
	Message string `json:"message,omitempty"`

	// conditions are Ready and, while it is True, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Reference references another object. Its fields are those of a Kubernetes ObjectReference.
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

// ObjectBucket represents the bucket of one claim.
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

	// status is the observed state of the ObjectBucket.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status ObjectBucketStatus `json:"status,omitzero"`
}

// ObjectBucketSpec describes the bucket of a claim.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ObjectBucketSpec struct {
	// storageClassName is the StorageClass of the claim.
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`

	// claimRef references the claim.
	// +optional
	ClaimRef *Reference `json:"claimRef,omitempty"`

	// reclaimPolicy is Delete or Retain. It determines what happens to the bucket when the claim is deleted.
	// +optional
	ReclaimPolicy string `json:"reclaimPolicy,omitempty"`

	// endpoint is the address of the bucket.
	// +optional
	Endpoint *Endpoint `json:"endpoint,omitempty"`

	// additionalState is internal state of the provisioner.
	// +optional
	AdditionalState map[string]string `json:"additionalState,omitempty"`
}

// Endpoint is the address of a bucket.
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

// ObjectBucketStatus is the observed state of an ObjectBucket.
type ObjectBucketStatus struct {
	// phase is Bound or Released. It is empty while the bucket is being created.
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
