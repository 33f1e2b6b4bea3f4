// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/internal/step"
)

// create creates the Bucket of a claim that has none, from the claim's class.
// The class is read from the API server, since the copy on the Bucket can not
// be corrected later, and so is the claim, since a Bucket must not appear for
// a claim that is bound already or on its way out.
func (r *Reconciler) create(ctx context.Context, w *work) (step.Verdict, error) {
	if w.bucket != nil {
		return step.Next(), nil
	}
	if w.class == nil {
		class, err := r.liveClass(ctx, w.claim.Spec.BucketClassName)
		if apierrors.IsNotFound(err) {
			return r.reportProblem(ctx, w, conditions.Wait(conditions.WaitingForClass,
				"Waiting for BucketClass %q to exist. Create it, or delete this BucketClaim and create it again with another class.", w.claim.Spec.BucketClassName))
		}
		if err != nil {
			return step.Verdict{}, err
		}
		w.class = class
	}
	if verdict, err := r.Reread(ctx, &w.Turn); err != nil || !verdict.Goes() {
		return verdict, err
	}
	return r.createFrom(ctx, w)
}

// liveClass reads a class from the API server.
func (r *Reconciler) liveClass(ctx context.Context, name string) (*cosiapi.BucketClass, error) {
	class := &cosiapi.BucketClass{}
	if err := r.Live.Get(ctx, types.NamespacedName{Name: name}, class); err != nil {
		return nil, fmt.Errorf("read BucketClass %q: %w", name, err)
	}
	return class, nil
}

// createFrom creates the Bucket. One that exists already may be the work of an
// earlier reconcile that was cut short; the next step finds out.
func (r *Reconciler) createFrom(ctx context.Context, w *work) (step.Verdict, error) {
	bucket := newBucket(w.claim, w.class, r.Now())
	r.unbound.Store(w.claim.UID, nil) // also if the response is lost
	err := r.Client.Create(ctx, bucket)
	switch {
	case err == nil:
		w.bucket = bucket
		return step.Next(), nil
	case apierrors.IsAlreadyExists(err):
		if w.bucket, err = r.liveBucket(ctx, bucket.Name); err != nil {
			return step.Verdict{}, err
		}
		if w.bucket == nil {
			return step.Wait(objects.Name(bucket)), nil // gone again: its watch event wakes us
		}
		return step.Next(), nil
	case apierrors.IsInvalid(err):
		r.unbound.Delete(w.claim.UID)
		return r.reportProblem(ctx, w, conditions.Refuse(conditions.ClassRejected,
			"BucketClass %q does not make a valid Bucket: %v. An administrator must delete the class and create it again with valid fields.", w.class.Name, err))
	default:
		return step.Verdict{}, fmt.Errorf("create %s: %w", objects.Name(bucket), err)
	}
}
