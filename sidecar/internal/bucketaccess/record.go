// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Annotations by which an access Secret tells a sidecar that starts what its
// access left, if that was removed by hand while none ran. Users may write
// Secrets: the proof says that we wrote the record, into this very Secret.
const (
	// driverAnnotation is the driver whose sidecar looks after the Secret.
	driverAnnotation = "cooper.dev/driver"
	// recordAnnotation is the account, with all that its revocation needs.
	recordAnnotation = "cooper.dev/account"
	// proofAnnotation proves the record.
	proofAnnotation = "cooper.dev/account-proof"
	// dataProofAnnotation proves dataAnnotation.
	dataProofAnnotation = "cooper.dev/data-proof"
)

// maxRecord bounds a record, in bytes: the annotations of an object may have 256
// KiB together. A larger one is written without the class's parameters, which a
// driver need not have for a revocation.
const maxRecord = 64 << 10

// A record is what an access Secret says of its access.
type record struct {
	Namespace string                     `json:"namespace"`
	Name      string                     `json:"name"`
	UID       types.UID                  `json:"uid"`
	Spec      cosiapi.BucketAccessSpec   `json:"spec"`
	Status    cosiapi.BucketAccessStatus `json:"status"`
}

// recordOf returns the record of an access as text; empty if there is no account yet.
func recordOf(a *cosiapi.BucketAccess) string {
	if a.Status.AccountID == "" {
		return ""
	}
	r := record{a.Namespace, a.Name, a.UID, *a.Spec.DeepCopy(), *a.Status.DeepCopy()}
	r.Status.Conditions, r.Status.Cleanup = nil, ""
	text, err := json.Marshal(r)
	if err == nil && len(text) > maxRecord {
		r.Status.Parameters = nil
		text, err = json.Marshal(r)
	}
	if err != nil || len(text) > maxRecord {
		return "" // strings and maps of them never fail
	}
	return string(text)
}

// records returns the annotations of a Secret of the access, which exists. They
// are empty until there is an account.
func (s Secrets) records(ctx context.Context, a *cosiapi.BucketAccess, secret *corev1.Secret) (map[string]string, error) {
	notes := map[string]string{driverAnnotation: a.Status.DriverName}
	text := recordOf(a)
	if text == "" {
		return notes, nil
	}
	proof, err := s.keeper.Proof.Prove(ctx, secret.UID, text)
	if err != nil {
		return nil, err
	}
	if proof != "" {
		notes[recordAnnotation], notes[proofAnnotation] = text, proof
	}
	return notes, nil
}

// Genuine reports whether the data of a Secret is what we delivered into it, and
// no user wrote it.
func (s Secrets) Genuine(ctx context.Context, secret *corev1.Secret) (bool, error) {
	return s.keeper.Proof.Proves(ctx, secret.Annotations[dataProofAnnotation], ofData(secret), dataDigest(secret.Data))
}

// ofData tells the proof of the data of a Secret from that of its record.
func ofData(secret *corev1.Secret) types.UID { return secret.UID + "/data" }

// recorded returns the access that a Secret of our driver proves to have been granted;
// nil if it proves none.
func (s Secrets) recorded(ctx context.Context, secret *corev1.Secret) (*cosiapi.BucketAccess, error) {
	text := secret.Annotations[recordAnnotation]
	proven, err := s.keeper.Proof.Proves(ctx, secret.Annotations[proofAnnotation], secret.UID, text)
	if err != nil || !proven {
		return nil, err
	}
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("the record in Secret %q: %w", secret.Namespace+"/"+secret.Name, err)
	}
	return &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name, UID: r.UID}, Spec: r.Spec, Status: r.Status,
	}, nil
}
