// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// released sets the phase of the ObjectBucket to Released while its claim is being deleted.
func (r *claimReconciler) released(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.bucket == nil {
		return reconciler.Next(), nil
	}
	_, err := r.PatchStatus(ctx, w.bucket, func() { w.bucket.Status.Phase = objectbucket.PhaseReleased })
	return reconciler.Next(), err
}

// withdraw deletes BucketAccess and BucketClaim and waits until neither exists. By then the credential is revoked, and
// COSI has deleted or kept the bucket.
func (r *claimReconciler) withdraw(ctx context.Context, w *work) (reconciler.Verdict, error) {
	var left []client.Object
	for _, object := range []client.Object{&cosiapi.BucketAccess{}, &cosiapi.BucketClaim{}} {
		gone, err := r.withdrawn(ctx, w, object)
		if err != nil {
			return reconciler.Verdict{}, err
		}
		if !gone {
			left = append(left, object)
		}
	}
	if len(left) == 0 {
		return reconciler.Next(), nil
	}
	return r.awaitDeletion(ctx, w, left...)
}

// awaitDeletion waits until objects are deleted and reports that in the claim's status.
func (r *claimReconciler) awaitDeletion(ctx context.Context, w *work, left ...client.Object) (reconciler.Verdict, error) {
	message := fmt.Sprintf("Waiting for the deletion of %s.%s", reconciler.ObjectName(left[0]), whyNot(left))
	switch {
	case w.claim == nil:
		return reconciler.Wait(message), nil
	case w.reopened:
		return r.report(ctx, w, wait("%s", message))
	}
	_, err := r.PatchStatus(ctx, w.claim, func() { setTerminating(w.claim, message) })
	return reconciler.Wait(message), err
}

// withdrawn deletes one of COSI's objects and reports whether it no longer exists. It reads from the API server,
// because the cache may not yet contain a recent object. An object that the claim does not own belongs to a user and
// is not deleted.
func (r *claimReconciler) withdrawn(ctx context.Context, w *work, object client.Object) (bool, error) {
	found, err := read(ctx, r.Live, w.Req.Namespace, nameOf(w.uid), object)
	if err != nil || !found || !ownedBy(object, w.uid) {
		return err == nil, err
	}
	return false, r.drop(ctx, object)
}

// whyNot returns the message with which COSI explains why an object is stuck in deletion, or an empty string.
func whyNot(left []client.Object) string {
	for _, object := range left {
		var list []metav1.Condition
		switch o := object.(type) {
		case *cosiapi.BucketAccess:
			list = o.Status.Conditions
		case *cosiapi.BucketClaim:
			list = o.Status.Conditions
		}
		if c := meta.FindStatusCondition(list, cosiapi.ConditionDeprovisionFailed); c != nil && c.Status != metav1.ConditionFalse {
			return " " + c.Message
		}
	}
	return ""
}

// artifacts deletes the Secret and the ConfigMap that the claim owns.
func (r *claimReconciler) artifacts(ctx context.Context, w *work) (reconciler.Verdict, error) {
	for _, object := range []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}} {
		found, err := read(ctx, r.Live, w.Req.Namespace, w.Req.Name, object)
		if err != nil {
			return reconciler.Verdict{}, err
		}
		if !found || !ownedBy(object, w.uid) {
			continue
		}
		if err := r.remove(ctx, object); err != nil {
			return reconciler.Verdict{}, err
		}
	}
	return reconciler.Next(), nil
}

// remove deletes an object and removes our finalizer from it.
func (r *claimReconciler) remove(ctx context.Context, object client.Object) error {
	if err := r.drop(ctx, object); err != nil {
		return err
	}
	found, err := read(ctx, r.Live, object.GetNamespace(), object.GetName(), object)
	if err != nil || !found {
		return err
	}
	_, err = r.Patch(ctx, object, func() { strip(object) })
	return client.IgnoreNotFound(err)
}

// strip removes our finalizer from an object.
func strip(object metav1.Object) {
	object.SetFinalizers(slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(f string) bool { return f == objectbucket.Finalizer }))
}

// unimport deletes the claim's own BucketClass and the imported Bucket. The backend bucket is kept. Deletion of the
// Bucket completes once no BucketClaim is bound to it, and a user may still have one.
func (r *claimReconciler) unimport(ctx context.Context, w *work) (reconciler.Verdict, error) {
	for _, object := range []client.Object{&cosiapi.BucketClass{}, &cosiapi.Bucket{}} {
		found, err := read(ctx, r.Live, "", nameOf(w.uid), object)
		if err != nil {
			return reconciler.Verdict{}, err
		}
		if !found {
			continue
		}
		if err := r.drop(ctx, object); err != nil {
			return reconciler.Verdict{}, err
		}
		if _, bucket := object.(*cosiapi.Bucket); bucket {
			return r.awaitDeletion(ctx, w, object)
		}
	}
	return reconciler.Next(), nil
}

// unprotect removes the finalizer from the claim.
func (r *claimReconciler) unprotect(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.claim == nil {
		return reconciler.Next(), nil
	}
	began := *w.claim.DeletionTimestamp
	_, err := r.Patch(ctx, w.claim, func() { strip(w.claim) })
	if client.IgnoreNotFound(err) != nil {
		return reconciler.Verdict{}, err
	}
	r.Finished(w.DriverName(), metrics.OperationDelete, began)
	return reconciler.Next(), nil
}

// forget deletes the ObjectBucket last, because it holds the only record of the other objects.
func (r *claimReconciler) forget(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.bucket == nil {
		return reconciler.Done(), nil
	}
	return reconciler.Done(), r.remove(ctx, w.bucket)
}
