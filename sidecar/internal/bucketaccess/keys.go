// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/secretkeys/addedkeys"
	"github.com/cooper-cosi/cooper/internal/secretkeys/formats"
)

// keysResult is the result of rendering the keys that a user added to the Secrets of an access.
type keysResult struct {
	// rendered reports that it was tried. requested reports that the access has the annotation.
	rendered, requested bool
	// err describes the keys that could not be rendered.
	err error
	// blocked is the reason for which a Secret with a current credential could not be written. waits reports that the
	// budget delays the write.
	blocked *conditions.Problem
	waits   bool
}

// addKeys returns the data of the access's Secrets, in the order of its claims, with the keys that the user added.
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
	return data
}

// warnOfKeys reports a failure with an Event, unless the condition already has the same message.
func (r *Reconciler) warnOfKeys(w *work) {
	a, change := w.access, w.keys.condition(w.access.Generation)
	said := meta.FindStatusCondition(a.Status.Conditions, change.Type)
	if w.keys.requested && change.Status == metav1.ConditionFalse && (said == nil || said.Status != change.Status || said.Message != change.Message) {
		r.Events.Warn(a, reconciler.FailedRenderSecretKeys, "RenderSecretKeys", change.Message)
	}
}

// redact registers the secret values in the data of a Secret.
func (r *Reconciler) redact(w *work, data map[string][]byte) {
	r.Driver.Redact(w.access.Status.AccountID, secretkeys.Secrets(data), addedkeys.Rendered(data))
}

// renderKeys renders the added keys of a current access again, from the values in its Secrets, after a change of the
// annotation or of a format. It makes no call to the driver. The budget for grants limits how often a user can make the
// sidecar write all Secrets of an access. A Secret that cannot be written changes no other condition, because its
// credential is current.
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
			w.keys.blocked = secretProblem(&TakenError{Name: secret.Name, Why: "is immutable", Immutable: true})
			continue
		}
		if !spent {
			if wait := r.Memory.awaitBudget(w.Req, w.Info.Epoch, r.Now()); wait > 0 {
				w.keys.waits = true
				_, err := r.PatchStatus(ctx, w.access, func() { w.keys.report(w.access) })
				return reconciler.WaitAtMost(wait, "the rate limit of grants per BucketAccess"), err
			}
			r.Memory.spendBudget(w.Req, r.Now())
			spent = true
		}
		err := r.Secrets.Update(ctx, secret, data)
		switch {
		case err == nil:
		case refused(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			w.keys.blocked = secretProblem(err)
		default:
			return r.secretBlocked(ctx, w, err)
		}
	}
	r.warnOfKeys(w)
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
	switch {
	case k.waits:
		change.Status, change.Reason = metav1.ConditionUnknown, conditions.SecretKeysPending
		change.Message = "COSI writes the keys of the annotation " + cosiapi.SecretKeysAnnotation + " after the rate limit of the BucketAccess."
	case k.blocked != nil:
		change.Status, change.Reason = metav1.ConditionFalse, k.blocked.Reason
		change.Message = "COSI cannot write the keys of the annotation " + cosiapi.SecretKeysAnnotation + ": " + k.blocked.Message
	case k.err != nil:
		change.Status, change.Reason = metav1.ConditionFalse, conditions.SecretKeysInvalid
		change.Message = "The Secrets lack keys of the annotation " + cosiapi.SecretKeysAnnotation + ". Correct the annotation: " + k.err.Error() + "."
	}
	return change
}
