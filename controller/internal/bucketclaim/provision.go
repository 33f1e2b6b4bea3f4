// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/index"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// protect adds the protection finalizer to the claim before anything exists that needs a cleanup. It reads the class
// concurrently, for createBucket. If that read fails, createBucket reads the class again.
func (r *Reconciler) protect(ctx context.Context, w *work) (reconciler.Verdict, error) {
	var reads sync.WaitGroup
	if class := w.claim.Spec.BucketClassName; class != "" && !cosiapi.HasProtection(w.claim) {
		reads.Go(func() { w.class, _ = r.liveClass(ctx, class) })
	}
	err := r.write(ctx, w, func() { cosiapi.AddProtection(w.claim) })
	reads.Wait()
	return reconciler.Next(), err
}

// findBucket reads the claim's Bucket. If the Bucket of a bound claim is missing, it is never created again: its data
// are lost, or an administrator is about to restore it. A missing Bucket must be confirmed with the API server.
func (r *Reconciler) findBucket(ctx context.Context, w *work) (reconciler.Verdict, error) {
	name := bucketName(w.claim)
	bucket := &cosiapi.Bucket{}
	err := r.Client.Get(ctx, types.NamespacedName{Name: name}, bucket)
	if err == nil {
		w.bucket = bucket
		return reconciler.Next(), nil
	}
	if !apierrors.IsNotFound(err) {
		return reconciler.Verdict{}, fmt.Errorf("read Bucket %q from the cache: %w", name, err)
	}
	switch {
	case w.claim.Status.BoundBucketName != "":
		return r.findLive(ctx, w, name, conditions.Refuse(conditions.BucketMissing,
			"Bucket %q, which this BucketClaim is bound to, does not exist. COSI does not create it again. An administrator must restore it, or delete this BucketClaim.", name))
	case w.claim.Spec.ExistingBucketName != "":
		return r.findLive(ctx, w, name, conditions.Wait(conditions.WaitingForBucket, "Waiting for Bucket %q to exist. An administrator must create it.", name))
	default:
		return r.findRestored(ctx, w) // if there is none, the next step creates it
	}
}

// findRestored looks up a Bucket that an administrator has restored for the claim, or that an interrupted reconcile has
// reserved for it. If several were restored, an administrator must choose.
func (r *Reconciler) findRestored(ctx context.Context, w *work) (reconciler.Verdict, error) {
	buckets, err := r.cachedBuckets(ctx, w)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	name := ownName(w.claim, buckets)
	var names []string
	for i := range buckets {
		if restoredFor(w.claim, &buckets[i]) {
			names = append(names, buckets[i].Name)
		}
	}
	switch {
	case name != "":
	case len(names) == 0:
		return reconciler.Next(), nil
	case len(names) > 1:
		return r.reportProblem(ctx, w, conditions.Refuse(conditions.BindingInvalid,
			"%s were restored for this BucketClaim. An administrator must delete all but one of these Bucket objects.", conditions.Names("Bucket", names...)))
	default:
		name = names[0]
	}
	verdict, err := r.findLive(ctx, w, name, conditions.Wait(conditions.WaitingForBucket, "Waiting for Bucket %q to exist. An administrator must create it.", name))
	if err != nil || !verdict.Goes() || !restoredFor(w.claim, w.bucket) {
		return verdict, err
	}
	return r.checkRestored(ctx, w)
}

// checkRestored stops unless the claim fits w.bucket, which was restored for it.
func (r *Reconciler) checkRestored(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if verdict, err := r.readClass(ctx, w); err != nil || !verdict.Goes() {
		return verdict, err
	}
	if p := restoredProblem(w.claim, w.bucket, w.class); p != nil {
		return r.reportProblem(ctx, w, p)
	}
	w.restored = true
	return reconciler.Next(), nil
}

// cachedBuckets returns the Buckets in the cache that reference a claim of this name.
func (r *Reconciler) cachedBuckets(ctx context.Context, w *work) ([]cosiapi.Bucket, error) {
	buckets := &cosiapi.BucketList{}
	if err := r.Client.List(ctx, buckets, client.MatchingFields{index.BucketByClaim: index.ClaimKey(w.Req.NamespacedName)}, reconciler.ReadOnly); err != nil {
		return nil, fmt.Errorf("list Buckets of BucketClaim %q from the cache: %w", w.Req, err)
	}
	return buckets.Items, nil
}

// findLive looks up a Bucket in the API server, and reports absent if it does
// not exist.
func (r *Reconciler) findLive(ctx context.Context, w *work, name string, absent *conditions.Problem) (reconciler.Verdict, error) {
	bucket, err := r.liveBucket(ctx, name)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if bucket == nil {
		return r.reportProblem(ctx, w, absent)
	}
	w.bucket = bucket
	return reconciler.Next(), nil
}

// liveBucket reads a Bucket from the API server. It returns nil if there is none.
func (r *Reconciler) liveBucket(ctx context.Context, name string) (*cosiapi.Bucket, error) {
	bucket := &cosiapi.Bucket{}
	err := r.Live.Get(ctx, types.NamespacedName{Name: name}, bucket)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is no Bucket and no error
	}
	if err != nil {
		return nil, fmt.Errorf("read Bucket %q: %w", name, err)
	}
	return bucket, nil
}

// createBucket creates the Bucket of a claim from the claim's class. It reads the class from the API server, since the
// copy on the Bucket cannot be corrected later, and the claim, since no Bucket may be created for a claim that is
// already bound or being deleted.
func (r *Reconciler) createBucket(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.bucket != nil {
		return reconciler.Next(), nil
	}
	if verdict, err := r.readClass(ctx, w); err != nil || !verdict.Goes() {
		return verdict, err
	}
	if verdict, err := r.Reread(ctx, &w.Request); err != nil || !verdict.Goes() {
		return verdict, err
	}
	return r.createFrom(ctx, w)
}

// readClass sets w.class unless protect did. It stops if the class does not exist.
func (r *Reconciler) readClass(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.class != nil {
		return reconciler.Next(), nil
	}
	class, err := r.liveClass(ctx, w.claim.Spec.BucketClassName)
	if apierrors.IsNotFound(err) {
		return r.reportProblem(ctx, w, conditions.Wait(conditions.WaitingForClass,
			"Waiting for BucketClass %q to exist. Create it, or delete this BucketClaim and create it again with another class.", w.claim.Spec.BucketClassName))
	}
	if err != nil {
		return reconciler.Verdict{}, err
	}
	w.class = class
	return reconciler.Next(), nil
}

// liveClass reads a class from the API server.
func (r *Reconciler) liveClass(ctx context.Context, name string) (*cosiapi.BucketClass, error) {
	class := &cosiapi.BucketClass{}
	if err := r.Live.Get(ctx, types.NamespacedName{Name: name}, class); err != nil {
		return nil, fmt.Errorf("read BucketClass %q: %w", name, err)
	}
	return class, nil
}

// createFrom creates the Bucket from w.class. An existing Bucket may be the result of an earlier reconcile that was
// interrupted; the next step checks that.
func (r *Reconciler) createFrom(ctx context.Context, w *work) (reconciler.Verdict, error) {
	bucket := newBucket(w.claim, w.class, r.Now())
	r.unbound.Store(w.claim.UID, nil) // even if the response is lost
	err := r.Client.Create(ctx, bucket)
	switch {
	case err == nil:
		w.bucket = bucket
		return reconciler.Next(), nil
	case apierrors.IsAlreadyExists(err):
		if w.bucket, err = r.liveBucket(ctx, bucket.Name); err != nil {
			return reconciler.Verdict{}, err
		}
		if w.bucket == nil {
			return reconciler.Wait(reconciler.ObjectName(bucket)), nil // deleted meanwhile: its watch event follows
		}
		return reconciler.Next(), nil
	case apierrors.IsInvalid(err):
		r.unbound.Delete(w.claim.UID)
		return r.reportProblem(ctx, w, conditions.Refuse(conditions.ClassRejected,
			"The API server rejects the Bucket of BucketClass %q: %v. An administrator must delete the class and create it again with valid fields.", w.class.Name, err))
	default:
		return reconciler.Verdict{}, fmt.Errorf("create %s: %w", reconciler.ObjectName(bucket), err)
	}
}

// checkBinding stops unless the Bucket belongs to this claim, or is an imported or restored one that is reserved for it.
func (r *Reconciler) checkBinding(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.restored || bindingProblem(w.claim, w.bucket) == nil {
		return reconciler.Next(), nil
	}
	live, err := r.liveBucket(ctx, w.bucket.Name)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if live == nil {
		return reconciler.Wait(reconciler.ObjectName(w.bucket)), nil // its watch event follows
	}
	w.bucket = live
	if p := bindingProblem(w.claim, w.bucket); p != nil {
		return r.reportProblem(ctx, w, p)
	}
	return reconciler.Next(), nil
}

// reserveBucket sets the claim's UID on an imported or restored Bucket that is not bound. This cannot be undone, so it
// reads the claim from the API server first. The resourceVersion of the Bucket guards against another claim.
func (r *Reconciler) reserveBucket(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.bucket.Spec.BucketClaimRef.UID != "" {
		return reconciler.Next(), nil
	}
	if verdict, err := r.Reread(ctx, &w.Request); err != nil || !verdict.Goes() {
		return verdict, err
	}
	r.unbound.Delete(w.claim.UID) // unlike a new Bucket, this one has data
	_, err := r.Patch(ctx, w.bucket, func() {
		w.bucket.Spec.BucketClaimRef.UID = w.claim.UID
		delete(w.bucket.Annotations, cosiapi.BindUntilAnnotation)
	})
	if err != nil {
		return reconciler.Verdict{}, fmt.Errorf("bind the Bucket to BucketClaim %q: %w", w.Req, err)
	}
	return reconciler.Next(), r.unhold(ctx, w.bucket) // the condition may come from a backup
}

// bind sets the name of the Bucket on the claim, after the Bucket references the claim. After this step a missing
// Bucket is reported and not created again.
func (r *Reconciler) bind(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.claim.Status.BoundBucketName != "" {
		r.unbound.Delete(w.claim.UID)
		return reconciler.Next(), nil
	}
	err := r.writeStatus(ctx, w, func() {
		w.claim.Status.BoundBucketName = w.bucket.Name
		applyBucket(w.claim, w.bucket)
	})
	if err == nil {
		r.unbound.Delete(w.claim.UID)
	}
	return reconciler.Next(), err
}

// copyStatus copies the state of the Bucket to the claim.
func (r *Reconciler) copyStatus(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if err := r.writeStatus(ctx, w, func() { applyBucket(w.claim, w.bucket) }); err != nil {
		return reconciler.Verdict{}, err
	}
	if !conditions.Is(w.claim.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return reconciler.Wait(reconciler.ObjectName(w.bucket)), nil
	}
	return reconciler.Done(), nil
}
