// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BucketClass is an administrator's description of one kind of bucket.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=bcl,categories=cosi
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, implementation of KEP-1979 outside the Kubernetes project"
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.spec.driverName`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.deletionPolicy`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BucketClass struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes the buckets of this class. It is immutable.
	// +required
	Spec BucketClassSpec `json:"spec"`
}

// BucketClassSpec describes the buckets of a class.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a BucketClass is immutable: create another class, or delete this one and create it again"
type BucketClassSpec struct {
	// driverName is the name of the driver that serves these buckets: a
	// lower-case DNS name of at most 63 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	DriverName string `json:"driverName"`

	// deletionPolicy determines what happens to a Bucket of this class when its
	// BucketClaim is deleted.
	//  - Retain: keep the Bucket object and the backend bucket
	//  - Delete: delete the Bucket object and the backend bucket
	// +required
	DeletionPolicy DeletionPolicy `json:"deletionPolicy"`

	// parameters are passed to the driver unchanged when it creates a bucket.
	// At most 512 entries and 65536 characters in total.
	// +optional
	// +kubebuilder:validation:MaxProperties=512
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '')",message="parameters: a key must not be empty"
	// +kubebuilder:validation:XValidation:rule="self.map(k, size(k) + size(self[k])).sum() <= 65536",message="parameters: keys and values together must not be longer than 65536 characters"
	Parameters map[string]string `json:"parameters,omitempty"`
}

// BucketClassList is a list of BucketClasses.
//
// +kubebuilder:object:root=true
type BucketClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BucketClass `json:"items"`
}
