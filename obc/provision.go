// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"context"
	"fmt"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// storageClass reads a StorageClass. It returns nil if there is none.
func storageClass(ctx context.Context, reader client.Reader, name string) (*storagev1.StorageClass, error) {
	return lookUp(ctx, reader, name, &storagev1.StorageClass{})
}

// lookUp reads a cluster-scoped object into the given one and returns it, or nil if it does not exist.
func lookUp[T client.Object](ctx context.Context, reader client.Reader, name string, into T) (T, error) {
	var none T
	if name == "" {
		return none, nil
	}
	found, err := read(ctx, reader, "", name, into)
	if !found {
		return none, err
	}
	return into, nil
}

// decide decides what the claim gets and records the decision in its ObjectBucket before any other object is created.
// Claims of another provisioner are ignored. The decision is final, so it is based on reads from the API server, not
// from the cache.
func (r *claimReconciler) decide(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.bucket != nil {
		if w.bucket.DeletionTimestamp != nil {
			return r.report(ctx, w, released(w.bucket.Name, "is being deleted"))
		}
		return reconciler.Next(), nil
	}
	class, err := storageClass(ctx, r.Client, w.claim.Spec.StorageClassName)
	if err != nil || class == nil || !served(class) {
		return reconciler.Done(), err
	}
	if verdict, err := r.Reread(ctx, &w.Request); err != nil || !verdict.Goes() {
		return verdict, err
	}
	f, err := r.facts(ctx, class.Name)
	if err != nil || f.storage == nil || !served(f.storage) {
		return reconciler.Done(), err
	}
	if err := r.find(ctx, r.Live, w); err != nil || w.bucket != nil {
		return reconciler.Wait("the cache to include our own write"), err
	}
	if name := w.claim.Spec.ObjectBucketName; name != "" {
		return r.report(ctx, w, released(name, "does not exist"))
	}
	d, p := decide(w.claim, f)
	if p != nil {
		return r.report(ctx, w, p)
	}
	return r.keep(ctx, w, d)
}

// released returns the problem of a claim that lost its ObjectBucket. Nothing is created again, since the data may be
// lost, and nothing is deleted, since it may be in use.
func released(name, what string) *problem {
	return &problem{phase: objectbucket.PhaseReleased, message: fmt.Sprintf("ObjectBucket %q of this claim %s. An administrator must restore it, or delete this claim and create another.", name, what)}
}

// facts reads a StorageClass and the classes that it names.
func (r *claimReconciler) facts(ctx context.Context, name string) (f facts, err error) {
	if f.storage, err = storageClass(ctx, r.Live, name); err != nil || f.storage == nil {
		return f, err
	}
	if f.accessClass, err = lookUp(ctx, r.Live, f.storage.Parameters[paramAccessClass], &cosiapi.BucketAccessClass{}); err != nil {
		return f, err
	}
	f.bucketClass, err = lookUp(ctx, r.Live, f.storage.Parameters[paramBucketClass], &cosiapi.BucketClass{})
	return f, err
}

// keep creates the ObjectBucket with the decision.
func (r *claimReconciler) keep(ctx context.Context, w *work, d decision) (reconciler.Verdict, error) {
	state := d.state()
	state[stateRequest] = requestOf(w.claim)
	bucket := &objectbucket.ObjectBucket{
		ObjectMeta: metav1.ObjectMeta{
			Name: objectbucket.NameFor(w.claim.Namespace, w.claim.Name), Finalizers: []string{objectbucket.Finalizer},
			Labels: map[string]string{objectbucket.ProvisionerLabel: d.label()},
		},
		Spec: objectbucket.ObjectBucketSpec{
			StorageClassName: w.claim.Spec.StorageClassName, ReclaimPolicy: string(d.policy), AdditionalState: state,
			ClaimRef: &objectbucket.Reference{
				APIVersion: objectbucket.GroupVersion().String(), Kind: "ObjectBucketClaim", Namespace: w.claim.Namespace, Name: w.claim.Name, UID: w.claim.UID,
			},
		},
	}
	err := r.Client.Create(ctx, bucket)
	if apierrors.IsAlreadyExists(err) { // of another claim: our own was looked for before
		return r.report(ctx, w, refuse("ObjectBucket %q belongs to another claim. Create this claim with another name.", bucket.Name))
	}
	if err != nil {
		return reconciler.Verdict{}, fmt.Errorf("create %s: %w", reconciler.ObjectName(bucket), err)
	}
	w.bucket, w.decision = bucket, d
	return reconciler.Next(), nil
}

// protect adds the finalizer and the provisioner's label to the claim.
func (r *claimReconciler) protect(ctx context.Context, w *work) (reconciler.Verdict, error) {
	_, err := r.Patch(ctx, w.claim, func() { adorn(w.claim, w.decision) })
	return reconciler.Next(), err
}

// adorn adds the finalizer and the label to the claim, or to an object created for it.
func adorn(object metav1.Object, d decision) {
	if finalizers := object.GetFinalizers(); !slices.Contains(finalizers, objectbucket.Finalizer) {
		object.SetFinalizers(append(slices.Clone(finalizers), objectbucket.Finalizer))
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[objectbucket.ProvisionerLabel] = d.label()
	object.SetLabels(labels)
}

// gather reads COSI's objects from the cache.
func (r *claimReconciler) gather(ctx context.Context, w *work) (reconciler.Verdict, error) {
	claim, access := &cosiapi.BucketClaim{}, &cosiapi.BucketAccess{}
	found, err := read(ctx, r.Client, w.Req.Namespace, nameOf(w.uid), claim)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if found {
		w.bucketClaim = claim
	}
	found, err = read(ctx, r.Client, w.Req.Namespace, nameOf(w.uid), access)
	if found {
		w.access = access
	}
	return reconciler.Next(), err
}

// hasBucket reports whether the claim's BucketClaim is bound. The Bucket then has a copy of the class.
func (w *work) hasBucket() bool {
	return w.bucketClaim != nil && w.bucketClaim.Status.BoundBucketName != ""
}

// class creates the claim's own BucketClass if the claim needs one. Other claims could use it too, so it exists only
// until the Bucket has a copy.
func (r *claimReconciler) class(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if !w.decision.ownClass() || w.hasBucket() {
		return reconciler.Next(), nil
	}
	class, wanted := ownClassOf(w.uid, w.decision), ownClassOf(w.uid, w.decision)
	return r.make(ctx, w, class, func() bool { return equality.Semantic.DeepEqual(class.Spec, wanted.Spec) })
}

// imported creates the Bucket of an existing bucket. It references the claim's BucketClaim, so no other claim can bind
// to it.
func (r *claimReconciler) imported(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.decision.existing == "" || w.hasBucket() {
		return reconciler.Next(), nil
	}
	bucket, wanted := importedOf(w.claim, w.decision), importedOf(w.claim, w.decision)
	return r.make(ctx, w, bucket, func() bool {
		bucket.Spec.BucketClaimRef.UID = "" // once it is bound
		return equality.Semantic.DeepEqual(bucket.Spec, wanted.Spec)
	})
}

// bucket creates the BucketClaim. If the BucketClaim of a bound claim was deleted, it is not created again: the claim
// would silently get a new, empty bucket.
func (r *claimReconciler) bucket(ctx context.Context, w *work) (reconciler.Verdict, error) {
	wanted := bucketClaimOf(w.claim, w.decision)
	if w.bucketClaim == nil && w.bucket.Status.Phase == objectbucket.PhaseBound {
		found, err := read(ctx, r.Live, wanted.Namespace, wanted.Name, wanted)
		if err != nil || found {
			return reconciler.Wait("the cache"), err
		}
		return r.report(ctx, w, &problem{phase: objectbucket.PhaseReleased, message: fmt.Sprintf("BucketClaim %q of this claim no longer exists. Delete this claim and create another.", wanted.Name)})
	}
	if w.bucketClaim == nil {
		w.bucketClaim = wanted.DeepCopy()
		return r.make(ctx, w, w.bucketClaim, func() bool { return equality.Semantic.DeepEqual(w.bucketClaim.Spec, wanted.Spec) })
	}
	if !equality.Semantic.DeepEqual(w.bucketClaim.Spec, wanted.Spec) {
		return r.report(ctx, w, taken(wanted))
	}
	return reconciler.Next(), nil
}

// access creates the BucketAccess. If a user deleted it, it is created again, with a new credential for the same
// bucket.
func (r *claimReconciler) access(ctx context.Context, w *work) (reconciler.Verdict, error) {
	wanted := accessOf(w.claim, w.decision)
	if w.access == nil {
		w.access = wanted.DeepCopy()
		return r.make(ctx, w, w.access, func() bool { return equality.Semantic.DeepEqual(w.access.Spec, wanted.Spec) })
	}
	if !equality.Semantic.DeepEqual(w.access.Spec, wanted.Spec) {
		return r.report(ctx, w, taken(wanted))
	}
	return reconciler.Next(), nil
}

// make creates an object. An existing object with the same content was created by an earlier reconcile and is
// accepted.
func (r *claimReconciler) make(ctx context.Context, w *work, object client.Object, same func() bool) (reconciler.Verdict, error) {
	err := r.Client.Create(ctx, object)
	switch {
	case apierrors.IsAlreadyExists(err):
		found, err := read(ctx, r.Live, object.GetNamespace(), object.GetName(), object)
		if err != nil || !found {
			return reconciler.Wait(reconciler.ObjectName(object)), err // deleted in the meantime: its watch event requeues the claim
		}
		if !same() {
			return r.report(ctx, w, taken(object))
		}
		return reconciler.Next(), nil
	default:
		return r.written(ctx, w, object, err)
	}
}

// written handles the result of a write. If the API server refuses the write because of a quota, a policy or
// validation, the refusal is reported to the user and the write is retried.
func (r *claimReconciler) written(ctx context.Context, w *work, object client.Object, err error) (reconciler.Verdict, error) {
	if err == nil {
		return reconciler.Next(), nil
	}
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		if _, err := r.report(ctx, w, wait("The API server rejects %s for this claim: %v", reconciler.ObjectName(object), err)); err != nil {
			return reconciler.Verdict{}, err
		}
	}
	return reconciler.Verdict{}, fmt.Errorf("write %s: %w", reconciler.ObjectName(object), err)
}

// taken returns the problem of an object that has the name but not the content of one of COSI's objects.
func taken(object client.Object) *problem {
	return refuse("%s was not created for this claim, or has a different spec. Delete it.", reconciler.ObjectName(object))
}

// granted waits for the credential and reports what it waits for.
func (r *claimReconciler) granted(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.access.DeletionTimestamp != nil || !conditions.Is(w.access.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return r.report(ctx, w, underWay(w))
	}
	return r.fetch(ctx, w)
}

// underWay returns the problem of a claim without a credential yet. It copies the message from the conditions of
// COSI's objects in the claim's namespace, and whether they are stalled.
func underWay(w *work) *problem {
	for _, list := range [][]metav1.Condition{w.bucketClaim.Status.Conditions, w.access.Status.Conditions} {
		if meta.IsStatusConditionTrue(list, objectbucket.ConditionStalled) {
			p := wait("%s%s", meta.FindStatusCondition(list, objectbucket.ConditionStalled).Message, configHint(w))
			p.stalled = true
			return p
		}
	}
	for _, list := range [][]metav1.Condition{w.bucketClaim.Status.Conditions, w.access.Status.Conditions} {
		for _, wrong := range []struct {
			kind   string
			status metav1.ConditionStatus
		}{{cosiapi.ConditionResourcesValidated, metav1.ConditionFalse}, {cosiapi.ConditionProvisionFailed, metav1.ConditionTrue}} {
			if c := meta.FindStatusCondition(list, wrong.kind); c != nil && c.Status == wrong.status {
				return wait("%s", c.Message)
			}
		}
	}
	return wait("Waiting for BucketClaim and BucketAccess %q to be provisioned. See their conditions for the reason.", w.access.Name)
}

// boundTo returns the state of a bound claim. If its BucketClaim or BucketAccess is no longer ready, the claim is
// not ready for the same reason, but remains bound.
func boundTo(w *work) *problem {
	p := &problem{phase: objectbucket.PhaseBound}
	for _, list := range [][]metav1.Condition{w.bucketClaim.Status.Conditions, w.access.Status.Conditions} {
		if c := meta.FindStatusCondition(list, cosiapi.ConditionReady); c != nil && c.Status == metav1.ConditionFalse {
			p.unready, p.message = c.Reason, c.Message
			p.stalled = meta.IsStatusConditionTrue(list, cosiapi.ConditionStalled)
			return p
		}
	}
	return p
}

// unclass deletes the claim's own BucketClass once the Bucket has a copy of it.
func (r *claimReconciler) unclass(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if !w.decision.ownClass() {
		return reconciler.Next(), nil
	}
	class := &cosiapi.BucketClass{}
	found, err := read(ctx, r.Client, "", nameOf(w.uid), class)
	if err != nil || !found {
		return reconciler.Next(), err
	}
	return reconciler.Next(), r.drop(ctx, class)
}

// drop deletes an object unless it is already terminating.
func (r *claimReconciler) drop(ctx context.Context, object client.Object) error {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := object.GetUID()
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, object, client.Preconditions{UID: &uid})); err != nil {
		return fmt.Errorf("delete %s: %w", reconciler.ObjectName(object), err)
	}
	return nil
}
