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

// claimAnnotation is on a Bucket that was made for a claim: its namespace, a slash and its name. For people, and to
// know whom a change of the Bucket concerns.
const claimAnnotation = "cooper.dev/objectbucketclaim"

// A claimReconciler reconciles ObjectBucketClaims.
type claimReconciler struct {
	reconciler.Base
}

// work is the state of one reconcile.
type work struct {
	reconciler.Request

	// claim as it was read or written last; nil if there is none with the UID in question.
	claim *objectbucket.ObjectBucketClaim
	// uid is that of the claim that the reconcile is about, whether or not it exists.
	uid types.UID
	// bucket is the claim's ObjectBucket, nil while there is none.
	bucket *objectbucket.ObjectBucket
	// decision is what the ObjectBucket says.
	decision decision
	// bucketClaim and access are COSI's, nil while there are none.
	bucketClaim *cosiapi.BucketClaim
	access      *cosiapi.BucketAccess
	// granted is the data of the access's Secret.
	granted map[string][]byte
	// rotating says that the access is about to get another credential.
	rotating bool
}

// DriverName implements reconciler.Work.
func (w *work) DriverName() string { return w.decision.driver }

// provisioning are the steps for a claim that exists and is not being deleted.
func (r *claimReconciler) provisioning() []reconciler.Step[*work] {
	return []reconciler.Step[*work]{
		reconciler.SharedStep[*work]("seen", r.Seen), // does the cache hold what we wrote last?
		reconciler.NewStep("decide", r.decide),       // is the claim COSI's, and what does it get? kept in its ObjectBucket
		reconciler.NewStep("protect", r.protect),     // finalizer and label on the claim
		reconciler.NewStep("gather", r.gather),       // look up COSI's objects for it
		reconciler.NewStep("class", r.class),         // a BucketClass of its own, where no other describes the bucket
		reconciler.NewStep("imported", r.imported),   // the Bucket, for an existing bucket
		reconciler.NewStep("bucket", r.bucket),       // the BucketClaim
		reconciler.NewStep("access", r.access),       // the BucketAccess
		reconciler.NewStep("granted", r.granted),     // wait until the access is granted
		reconciler.NewStep("unclass", r.unclass),     // its own class, which nobody needs any more
		reconciler.NewStep("secret", r.secret),       // the Secret with the credential
		reconciler.NewStep("config", r.config),       // the ConfigMap with the other settings
		reconciler.NewStep("bound", r.bound),         // tell claim and ObjectBucket
	}
}

// deprovisioning are the steps for a claim that is being deleted, or is gone and has left an ObjectBucket.
func (r *claimReconciler) deprovisioning() []reconciler.Step[*work] {
	return []reconciler.Step[*work]{
		reconciler.SharedStep[*work]("seen", r.Seen), // does the cache hold our last write?
		reconciler.NewStep("released", r.released),   // say so on the ObjectBucket
		reconciler.NewStep("withdraw", r.withdraw),   // delete COSI's objects, and wait until they are gone
		reconciler.NewStep("artifacts", r.artifacts), // delete Secret and ConfigMap
		reconciler.NewStep("unimport", r.unimport),   // delete what was made to describe the bucket
		reconciler.NewStep("unprotect", r.unprotect), // finalizer off the claim
		reconciler.NewStep("forget", r.forget),       // the ObjectBucket, which alone knows of all this
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
	if w.bucket != nil && w.bucket.Spec.ClaimRef.UID != w.uid { // of an earlier claim of this name, which comes first
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

// find looks up the ObjectBucket of the request, if it is one that COSI made for a claim of that name.
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

// ours reports whether a claim that is being deleted, and has no ObjectBucket in the cache, is for COSI to end: it has
// the finalizer, and an ObjectBucket that the cache has not got yet, or a StorageClass of COSI, or objects of COSI. The
// finalizer alone says nothing, as all provisioners have the same.
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

// report puts a problem into the status of the claim and ends the reconcile. Its user gets an Event once for each new
// cause.
func (r *claimReconciler) report(ctx context.Context, w *work, p *problem) (reconciler.Verdict, error) {
	changed, err := r.PatchStatus(ctx, w.claim, func() { w.claim.Status.Phase, w.claim.Status.Message = p.phase, p.message })
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if changed && p.phase != objectbucket.PhasePending {
		r.Events.Warn(w.claim, reconciler.FailedCreateBucket, "BindBucket", p.message)
	}
	return reconciler.Wait(p.message), nil
}

// read gets an object, from the cache or past it; found is false if there is none.
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
