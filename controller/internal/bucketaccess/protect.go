// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// protect puts the protection finalizer on the access. From here on its claims
// count as in use.
//
// Beside it the class is read if the hand-off needs that next; if that fails, the
// hand-off reads it again.
func (r *Reconciler) protect(ctx context.Context, w *work) (step.Verdict, error) {
	var beside sync.WaitGroup
	if w.access.Status.DriverName == "" && !cosiapi.HasProtection(w.access) && checkBuckets(w.access, w.facts) == nil {
		key := types.NamespacedName{Name: w.access.Spec.BucketAccessClassName} // Patch writes to w.access
		beside.Go(func() {
			class := &cosiapi.BucketAccessClass{}
			if found, err := get(ctx, r.Live, key, class); err == nil && found {
				w.class = class
			}
		})
	}
	changed, err := r.Patch(ctx, w.access, func() { cosiapi.AddProtection(w.access) })
	beside.Wait()
	if changed {
		w.protected = true
		w.facts.fresh = false // what is looked at before the finalizer is on may still go
	}
	if w.since == "" {
		w.since = w.access.ResourceVersion
	}
	return step.Next(), err
}
