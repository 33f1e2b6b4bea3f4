// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"slices"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/bucketchange"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// maxProblem limits the driver's message in the result annotation, in bytes.
const maxProblem = 2048

// update changes those parameters of a provisioned bucket that the driver can change. The Bucket stays provisioned in any
// case. The call can be repeated, so a crash before its report loses nothing.
func (r *Reconciler) update(ctx context.Context, w *work) (reconciler.Verdict, error) {
	b := w.bucket
	w.changed = bucketchange.Result{Request: bucketchange.Digest(b)}
	changes, err := bucketchange.Of(b)
	if err != nil {
		w.changed.Problem = "The Bucket's " + err.Error() + "."
		return reconciler.Next(), nil
	}
	update, unsupported := updateOf(b, changes, w.Info.Changeable)
	if w.changed.Unsupported = unsupported; len(update.GetChanged()) == 0 {
		return reconciler.Next(), nil
	}
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	_, err = r.Driver.CreateBucket(ctx, &cosi.DriverCreateBucketRequest{
		BucketId: b.Status.BucketID, Protocols: wanted(b), Parameters: b.Spec.Parameters, Update: update,
	})
	if err != nil {
		return r.updateFailed(ctx, w, err)
	}
	if r.Info().Epoch != w.Info.Epoch { // another driver may have been called, which ignores updates
		return reconciler.Wait("a repetition of the change with the driver's new DriverGetInfo response"), nil
	}
	return reconciler.Next(), nil
}

// updateOf returns the update that a driver with these changeable parameters receives, and the changed parameters that it
// does not support. Such a parameter may have an earlier change, even if the value that is requested now is the original one.
func updateOf(b *cosiapi.Bucket, changes bucketchange.Changes, changeable []string) (update *cosi.BucketUpdate, unsupported []string) {
	supported := bucketchange.Changes{}
	for key, value := range changes {
		if slices.Contains(changeable, key) {
			supported[key] = value
		} else {
			unsupported = append(unsupported, key)
		}
	}
	slices.Sort(unsupported)
	update = &cosi.BucketUpdate{}
	update.Parameters, update.Changed = supported.Apply(b.Spec.Parameters)
	return update, unsupported
}

// updateFailed records a failed update and waits until it may be repeated.
func (r *Reconciler) updateFailed(ctx context.Context, w *work, err error) (reconciler.Verdict, error) {
	failure, ok := driver.AsFailure(err)
	if !ok {
		return reconciler.Verdict{}, err
	}
	asked := w.State()
	w.changed.Problem, w.changed.Retrying = conditions.Cut(failure.Message(), maxProblem), !failure.Terminal()
	if err := r.recordChange(ctx, w); err != nil {
		return reconciler.Verdict{}, err
	}
	r.warn(w.bucket, reconciler.FailedUpdateBucket, "UpdateBucket", w.changed.Problem)
	return r.Repeat(&w.Attempt, asked, failure), nil
}

// reportUpdate writes the result of the requested changes to the Bucket.
func (r *Reconciler) reportUpdate(ctx context.Context, w *work) (reconciler.Verdict, error) {
	r.History.Succeeded(w.Req)
	return reconciler.Done(), r.recordChange(ctx, w)
}

func (r *Reconciler) recordChange(ctx context.Context, w *work) error {
	return r.Record(ctx, w.bucket, sameOrder, func() {
		cosiapi.SetAnnotation(w.bucket, cosiapi.ParameterChangesResultAnnotation, w.changed.Text())
	})
}
