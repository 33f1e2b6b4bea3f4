// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
)

// unwatched is the maximum wait for an object that may not be watched.
const unwatched = time.Second

// poll is the interval at which a Secret or ConfigMap is read while its next change is expected. Neither is watched.
const poll = 5 * time.Second

// fetch reads the access's Secret. It ignores a Secret of that name that the access does not own, to keep its content
// private.
func (r *claimReconciler) fetch(ctx context.Context, w *work) (reconciler.Verdict, error) {
	secret := &corev1.Secret{}
	found, err := read(ctx, r.Live, w.access.Namespace, w.access.Name, secret)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if !found || !ownedBy(secret, w.access.UID) || len(secret.Data[secretkeys.S3AccessSecretKey]) == 0 {
		return reconciler.WaitAtMost(unwatched, "Secret "+w.access.Name), nil
	}
	w.granted = secret.Data
	asked := w.access.Annotations[cosiapi.RotateAnnotation]
	w.rotating = asked != "" && asked != secret.Annotations[cosiapi.DeliveredRotationAnnotation]
	return reconciler.Next(), nil
}

// secret writes the credential to the Secret with the claim's name.
func (r *claimReconciler) secret(ctx context.Context, w *work) (reconciler.Verdict, error) {
	secret := &corev1.Secret{}
	return r.deliver(ctx, w, secret, func() {
		if secret.Type == "" {
			secret.Type = corev1.SecretTypeOpaque
		}
		secret.Data = credential(w.granted)
	})
}

// config writes the remaining settings to the ConfigMap with the claim's name.
func (r *claimReconciler) config(ctx context.Context, w *work) (reconciler.Verdict, error) {
	configMap := &corev1.ConfigMap{}
	return r.deliver(ctx, w, configMap, func() { configMap.Data = config(w.granted) })
}

// deliver ensures that the Secret or ConfigMap with the claim's name has the content that fill sets. It does not touch
// an object that the claim does not own. If a user deleted the object, deliver removes the finalizer and creates the
// object again.
func (r *claimReconciler) deliver(ctx context.Context, w *work, object client.Object, fill func()) (reconciler.Verdict, error) {
	found, err := read(ctx, r.Live, w.claim.Namespace, w.claim.Name, object)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if found && !ownedBy(object, w.uid) {
		_, err := r.report(ctx, w, refuse("%s was not created for this claim. Delete it, or create this claim with another name.", reconciler.ObjectName(object)))
		return reconciler.WaitAtMost(poll, "the deletion of "+reconciler.ObjectName(object)), err
	}
	if found && object.GetDeletionTimestamp() != nil {
		_, err := r.Patch(ctx, object, func() { strip(object) })
		if client.IgnoreNotFound(err) != nil {
			return reconciler.Verdict{}, err
		}
		return reconciler.WaitAtMost(unwatched, reconciler.ObjectName(object)+", which is being deleted"), nil
	}
	if found {
		_, err := r.Patch(ctx, object, func() { adorn(object, w.decision); fill() })
		return r.written(ctx, w, object, err)
	}
	object.SetNamespace(w.claim.Namespace)
	object.SetName(w.claim.Name)
	object.SetOwnerReferences([]metav1.OwnerReference{ownerOf(w.claim)})
	adorn(object, w.decision)
	fill()
	return r.written(ctx, w, object, r.Client.Create(ctx, object))
}

// bound records the result in ObjectBucket and claim. The claim's phase is written last: it means that everything is
// in place.
func (r *claimReconciler) bound(ctx context.Context, w *work) (reconciler.Verdict, error) {
	endpoint := endpointOf(w.granted)
	if _, err := r.Patch(ctx, w.bucket, func() { complete(w, endpoint) }); err != nil {
		return reconciler.Verdict{}, err
	}
	if w.claim.Spec.ObjectBucketName == "" {
		if _, err := r.Patch(ctx, w.claim, func() { refer(w, endpoint.BucketName) }); err != nil {
			return reconciler.Verdict{}, err
		}
	}
	if _, err := r.PatchStatus(ctx, w.bucket, func() { w.bucket.Status.Phase = objectbucket.PhaseBound }); err != nil {
		return reconciler.Verdict{}, err
	}
	before := w.claim.Status.Phase
	if err := r.writeStatus(ctx, w, *boundTo(w)); err != nil {
		return reconciler.Verdict{}, err
	}
	if before != objectbucket.PhaseBound {
		r.Finished(w.DriverName(), metrics.OperationCreate, w.claim.CreationTimestamp)
	}
	if w.rotating {
		return reconciler.WaitAtMost(poll, "the next credential of "+conditions.Names("BucketAccess", w.access.Name)), nil
	}
	return reconciler.Done(), nil
}

// complete adds the result to the ObjectBucket. An ObjectBucket of an earlier build also gets a record of the claim's
// settings, so that later changes are reported.
func complete(w *work, endpoint *objectbucket.Endpoint) {
	w.bucket.Spec.Endpoint = endpoint
	if _, recorded := w.bucket.Spec.AdditionalState[stateRequest]; !recorded {
		w.bucket.Spec.AdditionalState[stateRequest] = requestOf(w.claim)
	}
}

// refer writes references to the result into the claim's spec: the reference that current provisioners write and those
// of the original design. The API server drops the latter if the CRD does not have them.
func refer(w *work, bucketName string) {
	s := &w.claim.Spec
	s.BucketName, s.ObjectBucketName = bucketName, w.bucket.Name
	s.ObjectBucketRef = &objectbucket.Reference{APIVersion: objectbucket.GroupVersion().String(), Kind: "ObjectBucket", Name: w.bucket.Name}
	s.ConfigMapRef = &objectbucket.Reference{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.claim.Namespace, Name: w.claim.Name}
	s.SecretRef = &objectbucket.Reference{APIVersion: "v1", Kind: "Secret", Namespace: w.claim.Namespace, Name: w.claim.Name}
}
