// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/secretkeys/formats"
	"github.com/cooper-cosi/cooper/sidecar/internal/addedkeys"
)

// keysResult is the result of rendering the keys that a user added to the Secrets of an access.
type keysResult struct {
	// rendered reports that it was tried. requested reports that the access has the annotation.
	rendered, requested bool
	// err describes the keys that could not be rendered.
	err error
}

// addKeys returns the data of the access's Secrets, in the order of its claims, with the keys that the user added. It
// reports failures with an Event, unless a condition already has the same message.
func (r *Reconciler) addKeys(w *work, granted []map[string][]byte) []map[string][]byte {
	a := w.access
	grants := make([]formats.Grant, len(granted))
	for i, claim := range a.Spec.BucketClaims {
		grants[i] = formats.Grant{Claim: claim.BucketClaimName, Secret: claim.AccessSecretName, Data: granted[i]}
	}
	annotation, requested := a.Annotations[cosiapi.SecretKeysAnnotation]
	data, err := addedkeys.Add(annotation, grants)
	w.keys = keysResult{rendered: true, requested: requested, err: err}
	for _, all := range data {
		r.redact(w, all)
	}
	if err != nil {
		change := w.keys.condition(a.Generation)
		said := meta.FindStatusCondition(a.Status.Conditions, change.Type)
		if said == nil || said.Status != change.Status || said.Message != change.Message {
			r.Events.Warn(a, reconciler.FailedRenderSecretKeys, "RenderSecretKeys", change.Message)
		}
	}
	return data
}

// redact registers the secret values in the data of a Secret. The credential itself is the last, because only the last
// values are kept.
func (r *Reconciler) redact(w *work, data map[string][]byte) {
	r.Driver.Redact(w.access.Status.AccountID, append(addedkeys.Rendered(data), secretkeys.Secrets(data)...))
}

// renderKeys renders the added keys of a current access again, from the values in its Secrets, after a change of the
// annotation or of a format. It makes no call to the driver. The budget for grants limits how often a user can make the
// sidecar write all Secrets of an access.
func (r *Reconciler) renderKeys(ctx context.Context, w *work) (reconciler.Verdict, error) {
	granted := make([]map[string][]byte, len(w.secrets))
	for i, secret := range w.secrets {
		granted[i] = secret.Data
	}
	spent := false
	for i, data := range r.addKeys(w, granted) {
		secret := w.secrets[i]
		if maps.EqualFunc(data, secret.Data, slices.Equal) {
			continue
		}
		if ptr.Deref(secret.Immutable, false) {
			return r.secretBlocked(ctx, w, &TakenError{Name: secret.Name, Why: "is immutable", Immutable: true})
		}
		if !spent {
			if wait := r.Memory.awaitBudget(w.Req, w.Info.Epoch, r.Now()); wait > 0 {
				return reconciler.WaitAtMost(wait, "the rate limit of grants per BucketAccess"), nil
			}
			r.Memory.spendBudget(w.Req, r.Now())
			spent = true
		}
		if err := r.Secrets.Update(ctx, secret, data); err != nil {
			return r.secretBlocked(ctx, w, err)
		}
	}
	return reconciler.Next(), nil
}

// report writes the condition of the added keys.
func (k keysResult) report(a *cosiapi.BucketAccess) {
	switch {
	case !k.rendered:
	case !k.requested:
		meta.RemoveStatusCondition(&a.Status.Conditions, cosiapi.ConditionSecretKeysRendered)
	default:
		conditions.Set(&a.Status.Conditions, k.condition(a.Generation))
	}
}

func (k keysResult) condition(generation int64) conditions.Change {
	change := conditions.Change{
		Type: cosiapi.ConditionSecretKeysRendered, Status: metav1.ConditionTrue, Reason: conditions.SecretKeysRendered,
		Message: "The Secrets have all keys of the annotation " + cosiapi.SecretKeysAnnotation + ".", Generation: generation,
	}
	if k.err != nil {
		change.Status, change.Reason = metav1.ConditionFalse, conditions.SecretKeysInvalid
		change.Message = "The Secrets lack keys of the annotation " + cosiapi.SecretKeysAnnotation + ". Correct the annotation: " + k.err.Error() + "."
	}
	return change
}
