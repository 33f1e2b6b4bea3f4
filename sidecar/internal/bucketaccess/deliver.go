// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// deliver establishes that every Secret holds exactly what was granted: the
// bucket of its own claim, and the one credential that all of them share.
func (r *Reconciler) deliver(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	r.Failures.Forget(w.Req)
	infos := map[string]*cosi.ObjectProtocolAndBucketInfo{}
	for _, granted := range w.response.GetBuckets() {
		infos[granted.GetBucketId()] = granted.GetBucketInfo()
	}
	ids := idOf(a)
	for i, claim := range a.Spec.BucketClaims {
		data := secretkeys.Data(a.Spec.Protocol, infos[ids[claim.BucketClaimName]], w.response.GetCredentials())
		content := Content{Data: data, Notes: bookkeeping(w.order, data, r.Now())}
		if err := r.Secrets.Write(ctx, a, w.secrets[i], content); err != nil {
			return r.blocked(ctx, w, err)
		}
		r.Expiries.note(w.Req, []*corev1.Secret{{ObjectMeta: metav1.ObjectMeta{Annotations: content.Notes}, Data: data}}, r.Now())
	}
	r.Schedule.Granted(w.Req, r.Now())
	return step.Next(), nil
}
