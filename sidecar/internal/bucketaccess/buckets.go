// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
)

// buckets establishes that every Bucket of the access exists, belongs to its
// claim and driver, is provisioned and is not being deleted, which the
// Controller may have missed. A cache that is behind denies nothing: what it has
// against a first grant is looked at again past it.
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
		if p.Policy == conditions.Waits {
			r.Events.Inform(a, events.WaitingForBucket, "GrantAccess", p.Message)
		} else {
			r.Events.Warn(a, events.FailedGrantAccess, "GrantAccess", p.Message)
		}
		if p.Policy == conditions.Degrades {
			w.warning = p
			continue
		}
		return step.Wait(fmt.Sprintf("a change of Bucket %q", accessed.BucketName)), r.reportProblem(ctx, w, p)
	}
	return step.Next(), nil
}

func (r *Reconciler) look(ctx context.Context, a *cosiapi.BucketAccess, accessed cosiapi.AccessedBucket) (*conditions.Problem, error) {
	p, err := lookAt(ctx, r.Client, a, accessed)
	if p != nil && err == nil && !provisioned(a) {
		return lookAt(ctx, r.Live, a, accessed)
	}
	return p, err
}

func lookAt(ctx context.Context, reader client.Reader, a *cosiapi.BucketAccess, accessed cosiapi.AccessedBucket) (*conditions.Problem, error) {
	b := &cosiapi.Bucket{}
	err := reader.Get(ctx, client.ObjectKey{Name: accessed.BucketName}, b)
	if apierrors.IsNotFound(err) {
		return missingBucket(a, accessed.BucketName), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Bucket %q: %w", accessed.BucketName, err)
	}
	return bucketProblem(a, accessed, b), nil
}
