// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// claimAnnotation is set on a Bucket that was created for a claim. Its value is the claim's namespace, a slash and its
// name. It informs users and maps changes of the Bucket to the claim.
const claimAnnotation = "cooper.dev/objectbucketclaim"

// A claimReconciler reconciles ObjectBucketClaims.
type claimReconciler struct {
	reconciler.Base
}

// work is the state of one reconcile.
type work struct {
	reconciler.Request

	// claim is the claim as last read or written, or nil if no claim has this UID.
	claim *objectbucket.ObjectBucketClaim
	// uid is the UID of the claim that is reconciled, whether or not the claim still exists.
	uid types.UID
	// bucket is the claim's ObjectBucket, or nil.
	bucket *objectbucket.ObjectBucket
	// decision is the decision recorded in the ObjectBucket.
	decision decision
	// bucketClaim and access are COSI's objects, or nil.
	bucketClaim *cosiapi.BucketClaim
	access      *cosiapi.BucketAccess
	// granted is the data of the access's Secret.
	granted map[string][]byte
	// change is the state of an edited additionalConfig; nil if edits have no effect.
	change *change
	// reopened reports that the decision is withdrawn, because the claim was changed before a bucket existed.
	reopened bool
	// rotating reports that a new credential was requested and is not delivered yet.
	rotating bool
}

// DriverName implements reconciler.Work.
func (w *work) DriverName() string { return w.decision.driver }

// provisioning returns the steps for a claim that exists and is not being deleted.
func (r *claimReconciler) provisioning() []reconciler.Step[*work] {
	return []reconciler.Step[*work]{
		reconciler.SharedStep[*work]("seen", r.Seen), // wait until the cache has our last write
		reconciler.NewStep("decide", r.decide),       // does COSI serve the claim? record what it gets in the ObjectBucket
		reconciler.NewStep("protect", r.protect),     // finalizer and label on the claim
		reconciler.NewStep("gather", r.gather),       // read COSI's objects
		reconciler.NewStep("reopen", r.reopen),       // withdraw a refused request that was changed
		reconciler.NewStep("change", r.change),       // request edited settings for a bucket that exists
		reconciler.NewStep("class", r.class),         // BucketClass of the claim's own, if no other fits
		reconciler.NewStep("imported", r.imported),   // the Bucket, for an existing bucket
		reconciler.NewStep("bucket", r.bucket),       // the BucketClaim
		reconciler.NewStep("access", r.access),       // the BucketAccess
		reconciler.NewStep("granted", r.granted),     // wait until the access is granted
		reconciler.NewStep("unclass", r.unclass),     // delete the claim's own BucketClass
		reconciler.NewStep("secret", r.secret),       // the Secret with the credential
		reconciler.NewStep("config", r.config),       // the ConfigMap with the other settings
		reconciler.NewStep("bound", r.bound),         // update claim and ObjectBucket
	}
}

// deprovisioning returns the steps for a claim that is being deleted, or that was deleted and left an ObjectBucket.
func (r *claimReconciler) deprovisioning() []reconciler.Step[*work] {
	return []reconciler.Step[*work]{
		reconciler.SharedStep[*work]("seen", r.Seen), // wait until the cache has our last write
		reconciler.NewStep("released", r.released),   // set the phase of the ObjectBucket
		reconciler.NewStep("withdraw", r.withdraw),   // delete BucketAccess and BucketClaim and wait
		reconciler.NewStep("artifacts", r.artifacts), // delete Secret and ConfigMap
		reconciler.NewStep("unimport", r.unimport),   // delete the Bucket and BucketClass created for the claim
		reconciler.NewStep("unprotect", r.unprotect), // remove the claim's finalizer
		reconciler.NewStep("forget", r.forget),       // delete the ObjectBucket, the only record of the rest
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *claimReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.Options.Scope.Includes(req.Namespace) {
		return reconcile.Result{}, nil
	}
	claim := &objectbucket.ObjectBucketClaim{}
	w := &work{Request: reconciler.Request{Req: req, Object: claim}}
	err := r.Client.Get(ctx, req.NamespacedName, claim)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("read claim from the cache: %w", err)
	}
	if w.Gone = apierrors.IsNotFound(err); w.Gone {
		claim.Namespace, claim.Name = req.Namespace, req.Name // for Events
	} else {
		w.claim, w.uid = claim, claim.UID
	}
	if err := r.find(ctx, r.Client, w); err != nil {
		return reconcile.Result{}, err
	}
	if w.bucket != nil && w.bucket.Spec.ClaimRef.UID != w.uid { // of an earlier claim of this name, which is cleaned up first
		w.claim, w.uid = nil, w.bucket.Spec.ClaimRef.UID
	}
	switch {
	case w.claim != nil && w.claim.DeletionTimestamp.IsZero():
		return reconciler.Run(ctx, r.Base, r.provisioning(), w)
	case w.bucket != nil || w.claim != nil && r.ours(ctx, w):
		return reconciler.Run(ctx, r.Base, r.deprovisioning(), w)
	default:
		return reconcile.Result{}, nil
	}
}

// find reads the ObjectBucket of the request if COSI created it for a claim of that name.
func (r *claimReconciler) find(ctx context.Context, reader client.Reader, w *work) error {
	bucket := &objectbucket.ObjectBucket{}
	err := reader.Get(ctx, types.NamespacedName{Name: objectbucket.NameFor(w.Req.Namespace, w.Req.Name)}, bucket)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read ObjectBucket: %w", err)
	}
	if d, ok := decisionOf(bucket); err == nil && ok && bucket.Spec.ClaimRef.Namespace == w.Req.Namespace && bucket.Spec.ClaimRef.Name == w.Req.Name {
		w.bucket, w.decision = bucket, d
	}
	return nil
}

// ours reports whether COSI must clean up a claim that is being deleted and has no ObjectBucket in the cache. It must
// if the claim has the finalizer and an ObjectBucket that the cache does not have yet, a StorageClass that COSI
// serves, or COSI objects. The finalizer is not enough, because all provisioners use the same one.
func (r *claimReconciler) ours(ctx context.Context, w *work) bool {
	if !slices.Contains(w.claim.Finalizers, objectbucket.Finalizer) {
		return false
	}
	if err := r.find(ctx, r.Live, w); err == nil && w.bucket != nil {
		return w.bucket.Spec.ClaimRef.UID == w.uid
	}
	if class, err := storageClass(ctx, r.Client, w.claim.Spec.StorageClassName); err == nil && class != nil {
		return served(class)
	}
	_, err := r.gather(ctx, w)
	return err == nil && (w.bucketClaim != nil || w.access != nil)
}

// report writes a problem to the status of the claim and ends the reconcile.
func (r *claimReconciler) report(ctx context.Context, w *work, p *problem) (reconciler.Verdict, error) {
	if err := r.writeStatus(ctx, w, *p); err != nil {
		return reconciler.Verdict{}, err
	}
	return reconciler.Wait(p.message), nil
}

// read gets an object with the given reader; found is false if it does not exist.
func read(ctx context.Context, reader client.Reader, namespace, name string, into client.Object) (found bool, err error) {
	err = reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %q: %w", into, name, err)
	}
	return true, nil
}
