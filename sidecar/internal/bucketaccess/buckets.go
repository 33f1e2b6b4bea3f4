// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
)

// buckets establishes that every Bucket of the access exists, belongs to its
// claim and driver, is provisioned and is not being deleted, which the
// Controller may have missed. Before the first grant it reads past the cache.
// What was granted to a Bucket that only waits for the end of its claim is kept
// in order until then.
func (r *Reconciler) buckets(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	for _, accessed := range a.Status.AccessedBuckets {
		p, err := r.look(ctx, a, accessed)
		if err != nil {
			return step.Verdict{}, err
		}
		if p == nil {
			continue
		}
		if p.waits {
			r.Events.Inform(a, events.WaitingForBucket, "GrantAccess", p.message)
		} else {
			r.Events.Warn(a, events.FailedGrantAccess, "GrantAccess", p.message)
		}
		if p.kept {
			w.flaw = p
			continue
		}
		return step.Wait("a change of Bucket " + accessed.BucketName), r.tell(ctx, w, p)
	}
	return step.Next(), nil
}

func (r *Reconciler) look(ctx context.Context, a *cosiapi.BucketAccess, accessed cosiapi.AccessedBucket) (*problem, error) {
	reader := r.Cache
	if !provisioned(a) {
		reader = r.Store.Live
	}
	b := &cosiapi.Bucket{}
	err := reader.Get(ctx, client.ObjectKey{Name: accessed.BucketName}, b)
	if apierrors.IsNotFound(err) {
		return missingBucket(a, accessed.BucketName), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Bucket %s: %w", accessed.BucketName, err)
	}
	return bucketProblem(a, accessed, b), nil
}
