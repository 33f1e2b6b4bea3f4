// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// deliver establishes that every Secret holds exactly what was granted: the
// bucket of its own claim, and the one credential that all of them share.
func (r *Reconciler) deliver(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	r.Attempts.Clear(w.Req)
	infos := map[string]*cosi.ObjectProtocolAndBucketInfo{}
	for _, granted := range w.answer.GetBuckets() {
		infos[granted.GetBucketId()] = granted.GetBucketInfo()
	}
	request, ids := grantRequest(a), idOf(a)
	grant := grantDigest(request, w.Info.Revision)
	for i, claim := range a.Spec.BucketClaims {
		data := secretkeys.Data(a.Spec.Protocol, infos[ids[claim.BucketClaimName]], w.answer.GetCredentials())
		content := Content{Data: data, Notes: bookkeeping(grant, request.GetRotation(), data, r.Now())}
		if err := r.Secrets.Write(ctx, a, w.secrets[i], content); err != nil {
			return r.blocked(ctx, w, err)
		}
	}
	r.Schedule.Granted(w.Req, r.Now())
	return step.Next(), nil
}
