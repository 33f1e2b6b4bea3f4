// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

// Annotations of an access Secret that describe the delivered data, so that a new sidecar process detects changes
// without a call to the driver. They contain no credential.
const (
	// grantAnnotation is a digest of the request for the grant and of the driver's revision.
	grantAnnotation = "cooper.dev/grant"
	// dataAnnotation is a digest of the delivered data.
	dataAnnotation = "cooper.dev/data"
	// renewAnnotation is the time at which an expiring credential is renewed, in RFC 3339.
	renewAnnotation = "cooper.dev/renew-at"
)

const (
	// renewShare determines when a credential is renewed: when a third of its remaining lifetime is left, or
	// maxReserve if that is less.
	renewShare = 3
	maxReserve = 24 * time.Hour
	// minRenewal is the minimum time between two renewals, for drivers that never extend a credential.
	minRenewal = time.Minute
)

// skipUnchanged ends the reconcile of an access that was found current if the access, the driver and, if they are
// watched, the Secrets have not changed since. Secrets that are not watched are read again after some time.
func (r *Reconciler) skipUnchanged(ctx context.Context, w *work) (reconciler.Verdict, error) {
	last, valid := r.Memory.lastChecked(w.Req)
	now := r.Now()
	if last == nil || w.warning != nil || last.access != versions(w.access) || last.grant != w.order.digest || !last.due.IsZero() && !now.Before(last.due) {
		return reconciler.Next(), nil
	}
	if r.WatchSecrets {
		secrets, err := r.watchedSecrets(ctx, w)
		if err != nil || secrets != last.secrets {
			return reconciler.Next(), err
		}
	} else if now.Sub(last.at) >= valid {
		return reconciler.Next(), nil
	}
	return waitUntilDue(last.due, now), nil
}

// watchedSecrets returns the versions of the access's Secrets in the cache.
func (r *Reconciler) watchedSecrets(ctx context.Context, w *work) (string, error) {
	var secrets []*metav1.PartialObjectMetadata
	for _, claim := range w.access.Spec.BucketClaims {
		secret, key := &metav1.PartialObjectMetadata{}, client.ObjectKey{Namespace: w.access.Namespace, Name: claim.AccessSecretName}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		if err := client.IgnoreNotFound(r.Client.Get(ctx, key, secret)); err != nil {
			return "", fmt.Errorf("read Secret %q from the cache: %w", key, err)
		}
		secrets = append(secrets, secret)
	}
	return versions(secrets...), nil
}

// versions returns a string that identifies one state of each object.
func versions[T metav1.Object](objects ...T) string {
	var all strings.Builder
	for _, object := range objects {
		all.WriteString(string(object.GetUID()) + "/" + object.GetResourceVersion() + "\n")
	}
	return all.String()
}

// awaitShare waits for a share of the workers for objects of the same class, before anything is read for a call that
// will certainly be made. For a provisioned access, checkGrant decides whether there will be a call.
func (r *Reconciler) awaitShare(ctx context.Context, w *work) (reconciler.Verdict, error) {
	a := w.access
	if a.DeletionTimestamp != nil && a.Status.AccountID == "" || a.DeletionTimestamp == nil && grantMissing(a) == "" {
		return reconciler.Next(), nil
	}
	return r.awaitShareOf(ctx, w)
}

// awaitShareOf waits for a share of the class that the parameters of the access and of its first Bucket define. If it
// used the parameters of all Buckets, a user could combine a few classes to get the shares of many.
func (r *Reconciler) awaitShareOf(ctx context.Context, w *work) (reconciler.Verdict, error) {
	b, err := r.firstBucket(ctx, w.access)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	return r.Share(&w.Attempt, w.access.Status.Parameters, b.Spec.Parameters), nil
}

// checkGrant ends the reconcile of a current access: it was granted with the same request, delivered, and needs no
// renewal yet. A grant that is due waits for its turn.
func (r *Reconciler) checkGrant(ctx context.Context, w *work) (reconciler.Verdict, error) {
	a, now := w.access, r.Now()
	periodic := r.Memory.periodic(w.Req, now)
	r.Memory.setExpiry(w.Req, w.secrets, now)
	found, next := due(a, w.secrets, w.order, periodic, now)
	if found != nil {
		return r.grantDue(ctx, w, *found)
	}
	if verdict, err := r.renderKeys(ctx, w); err != nil || !verdict.Goes() {
		return verdict, err
	}
	report := func() {
		conditions.Merge(&a.Status.Conditions, w.validated())
		w.keys.report(a)
	}
	if _, err := r.PatchStatus(ctx, a, report); err != nil {
		return reconciler.Verdict{}, err
	}
	current := checked{access: versions(a), secrets: versions(w.secrets...), grant: w.order.digest, at: now, due: next}
	if w.warning != nil || w.keys.blocked != nil { // this ends when other objects change
		current.access = ""
	}
	r.Memory.setCurrent(w.Req, current)
	if w.keys.blocked != nil { // the sidecar may not watch Secrets
		if again := now.Add(r.History.Poll(w.Req, r.SecretPoll)); next.IsZero() || again.Before(next) {
			return reconciler.WaitAtMost(again.Sub(now), w.keys.blocked.Message), nil
		}
	}
	return waitUntilDue(next, now), nil
}

// grantDue continues with a grant that is due, once the credential can be stored and the limits permit it.
func (r *Reconciler) grantDue(ctx context.Context, w *work, found dueGrant) (reconciler.Verdict, error) {
	now := r.Now()
	for _, s := range w.secrets {
		if ptr.Deref(s.Immutable, false) && stale(s, w.order, now) != nil {
			return r.secretBlocked(ctx, w, &TakenError{Name: s.Name, Why: "is immutable", Immutable: true})
		}
	}
	w.regrant = found.reason
	if w.countsAgainstBudget() {
		if wait := r.Memory.awaitBudget(w.Req, w.Info.Epoch, now); wait > 0 {
			return reconciler.WaitAtMost(wait, "the rate limit of grants per BucketAccess"), nil
		}
	}
	if found.background() {
		if wait := r.Memory.awaitBackground(w.Req, now); wait > 0 {
			return reconciler.WaitAtMost(wait, "the rate limit of background grants"), nil
		}
	}
	log.FromContext(ctx).V(1).Info("Granting access", "reason", found.why)
	return r.awaitShareOf(ctx, w)
}

// waitUntilDue waits until a current access is due again. A zero time means never.
func waitUntilDue(next, now time.Time) reconciler.Verdict {
	if next.IsZero() {
		return reconciler.Done()
	}
	return reconciler.WaitAtMost(max(next.Sub(now), time.Second), "the time to grant the access again")
}

// An order is the content of a grant request.
type order struct {
	request *cosi.DriverGrantBucketAccessRequest
	// digest identifies everything that the grant depends on.
	digest string
}

// orderOf returns the request for an access.
func orderOf(a *cosiapi.BucketAccess, info driver.Info) order {
	request := driver.GrantRequest(idRequest(a), a.Status.AccountID)
	type bucket struct{ ID, Data, ObjectMetadata, BucketMetadata string }
	parts := struct {
		Account, Protocol, Authentication, Namespace, ServiceAccount, Rotation, Revision string

		Parameters map[string]string
		Buckets    []bucket
	}{
		Account: a.Status.AccountID, Protocol: request.GetProtocol().GetType().String(),
		Authentication: request.GetAuthenticationType().GetType().String(),
		Namespace:      request.GetServiceAccountNamespace(), ServiceAccount: request.GetServiceAccountName(),
		Rotation: request.GetRotation(), Revision: info.Revision, Parameters: request.GetParameters(),
	}
	// The modes that the class disallows never change after the hand-off. They are not in the digest: otherwise a new
	// sidecar version that starts to send them would repeat every grant.
	for _, b := range request.GetBuckets() {
		parts.Buckets = append(parts.Buckets, bucket{
			b.GetBucketId(), b.GetObjectDataAccessMode().GetMode().String(),
			b.GetObjectMetadataAccessMode().GetMode().String(), b.GetBucketMetadataAccessMode().GetMode().String(),
		})
	}
	return order{request: request, digest: scheduling.Digest(parts)}
}

// deliveryAnnotations returns the annotations of a Secret that is written now.
func deliveryAnnotations(o order, data map[string][]byte, now time.Time) map[string]string {
	annotations := map[string]string{
		grantAnnotation: o.digest, dataAnnotation: scheduling.Digest(data), cosiapi.DeliveredRotationAnnotation: o.request.GetRotation(), renewAnnotation: "",
	}
	if expiry, ok := secretkeys.Expiry(data); ok {
		annotations[renewAnnotation] = renewal(now, expiry).UTC().Format(time.RFC3339)
	}
	return annotations
}

// renewal returns the time at which an expiring credential is renewed.
func renewal(now, expiry time.Time) time.Time {
	reserve := min(expiry.Sub(now)/renewShare, maxReserve)
	at := expiry.Add(-reserve)
	if soonest := now.Add(minRenewal); at.Before(soonest) {
		return soonest
	}
	return at
}

// A dueGrant is the reason for a grant, for the log and for the metric.
type dueGrant struct{ why, reason string }

// background reports whether the current grant works and is what the user requested. The reason is then only the
// driver or the interval, and may concern all accesses at once.
func (d dueGrant) background() bool {
	return d.reason == metrics.RegrantDriver || d.reason == metrics.RegrantInterval
}

// due returns why the driver must be called for the access, or nil if the access is current until next. A zero next
// means that no time is set.
func due(a *cosiapi.BucketAccess, secrets []*corev1.Secret, o order, periodic, now time.Time) (found *dueGrant, next time.Time) {
	if why := grantMissing(a); why != "" {
		reason := metrics.RegrantRepair
		if !provisioned(a) {
			reason = "" // the first grant
		}
		return &dueGrant{why, reason}, next
	}
	next = periodic
	for _, s := range secrets {
		if d := stale(s, o, now); d != nil && (found == nil || found.background()) {
			found = d
		}
		at, _ := renewalOf(s)
		next = earlier(next, at)
	}
	if found == nil && !periodic.IsZero() && !now.Before(periodic) {
		found = &dueGrant{"the regrant interval has passed", metrics.RegrantInterval}
	}
	return found, next
}

// grantMissing returns why the last grant is not valid, regardless of the Secrets.
func grantMissing(a *cosiapi.BucketAccess) (why string) {
	if !provisioned(a) || a.Status.AccountID == "" {
		return "the access is not provisioned"
	}
	if !conditions.Is(a.Status.Conditions, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse) {
		return "the last call to the driver failed"
	}
	return ""
}

// stale returns why a Secret must be written again, or nil if it is current.
func stale(s *corev1.Secret, o order, now time.Time) *dueGrant {
	at, expires := renewalOf(s)
	switch {
	case s.Annotations[dataAnnotation] != scheduling.Digest(s.Data):
		return &dueGrant{fmt.Sprintf("the data of Secret %q was changed after the delivery", s.Name), metrics.RegrantRepair}
	case expires && !now.Before(at):
		return &dueGrant{fmt.Sprintf("the credential in Secret %q expires soon", s.Name), metrics.RegrantExpiry}
	case s.Annotations[grantAnnotation] == o.digest:
		return nil
	case s.Annotations[cosiapi.DeliveredRotationAnnotation] != o.request.GetRotation():
		return &dueGrant{fmt.Sprintf("Secret %q was written for a different rotation request", s.Name), metrics.RegrantRotation}
	default:
		return &dueGrant{fmt.Sprintf("Secret %q was written for a different grant request or driver configuration", s.Name), metrics.RegrantDriver}
	}
}

// renewalOf returns when the credential in a Secret is renewed; ok is false, and at is zero, if it does not expire.
func renewalOf(s *corev1.Secret) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, s.Annotations[renewAnnotation])
	return at, err == nil
}
