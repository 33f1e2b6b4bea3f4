// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/calls"
)

// share establishes that calls for accesses to one backend leave workers to others,
// before anything is read for a call that will be made in any case. Of an access that
// is provisioned settle says whether one will.
func (r *Reconciler) share(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	if a.DeletionTimestamp != nil && a.Status.AccountID == "" && !askedFor(a) || a.DeletionTimestamp == nil && ungranted(a) == "" {
		return step.Next(), nil
	}
	return r.shareFor(ctx, &w.Turn, a)
}

// shareFor is Share with the parameters of the access and of its Bucket, which a backend
// is chosen by. The first of several Buckets decides: a user who combines those of a few
// classes would have the shares of many.
func (r *Reconciler) shareFor(ctx context.Context, t *calls.Turn, a *cosiapi.BucketAccess) (step.Verdict, error) {
	b := &cosiapi.Bucket{}
	for _, first := range a.Status.AccessedBuckets[:min(1, len(a.Status.AccessedBuckets))] {
		if err := client.IgnoreNotFound(r.Client.Get(ctx, client.ObjectKey{Name: first.BucketName}, b)); err != nil {
			return step.Verdict{}, fmt.Errorf("read Bucket %q from the cache: %w", first.BucketName, err)
		}
	}
	return r.Share(t, a.Status.Parameters, b.Spec.Parameters), nil
}
