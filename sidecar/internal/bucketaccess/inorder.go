// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/internal/step"
)

// lookEvery bounds the reads of Secrets in which nothing is expected to have
// changed, if they are not watched: each access may be looked at once in that time
// for every access that is in order.
const lookEvery = 200 * time.Millisecond

// InOrder remembers the accesses that were found in order, so that the next look at
// one of which nothing changed reads no Secret. It is kept in memory: a sidecar that
// starts reads each of them once. The zero value is empty. The methods may be called
// by several goroutines.
type InOrder struct {
	mu    sync.Mutex
	found map[reconcile.Request]finding
}

// A finding is what an access that was in order was found as.
type finding struct {
	// access is its version, and grant the digest of what it asked of the driver.
	access, grant string
	// secrets are the versions of its Secrets.
	secrets string
	// at is when that was, and next until when it holds; zero means for ever.
	at, next time.Time
}

func (o *InOrder) note(req reconcile.Request, f finding) {
	o.mu.Lock()
	defer o.mu.Unlock()
	add(&o.found, req, f)
}

// of returns what an access was found as, and for how long that is believed of
// Secrets that are not watched.
func (o *InOrder) of(req reconcile.Request) (f finding, ok bool, believed time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok = o.found[req]
	return f, ok, time.Duration(len(o.found)) * lookEvery
}

// Forget drops an access that is gone or must be looked at.
func (o *InOrder) Forget(req reconcile.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.found, req)
}

// noteInOrder notes that the access is in order until next.
func (r *Reconciler) noteInOrder(w *work, next time.Time) {
	f := finding{access: version(w.access), grant: w.order.digest, at: r.Now(), next: next}
	for _, secret := range w.secrets {
		f.secrets += version(secret)
	}
	if w.warning == nil { // which comes and goes with others' changes
		r.InOrder.note(w.Req, f)
	}
}

// known ends the reconcile of an access that was found in order if neither it nor
// the driver changed since, nor, where they are watched, its Secrets. Where they are
// not, what users do to Secrets is found by reading them, once in a while.
func (r *Reconciler) known(ctx context.Context, w *work) (step.Verdict, error) {
	f, ok, believed := r.InOrder.of(w.Req)
	now := r.Now()
	if !ok || w.warning != nil || f.access != version(w.access) || f.grant != w.order.digest || !f.next.IsZero() && !now.Before(f.next) {
		r.InOrder.Forget(w.Req)
		return step.Next(), nil
	}
	if r.WatchSecrets {
		secrets, err := r.watched(ctx, w)
		if err != nil || secrets != f.secrets {
			return step.Next(), err
		}
	} else if now.Sub(f.at) >= believed {
		return step.Next(), nil
	}
	return untilDue(f.next, now), nil
}

// watched returns the versions that the cache has of the access's Secrets.
func (r *Reconciler) watched(ctx context.Context, w *work) (string, error) {
	var versions strings.Builder
	for _, claim := range w.access.Spec.BucketClaims {
		secret, key := &metav1.PartialObjectMetadata{}, client.ObjectKey{Namespace: w.access.Namespace, Name: claim.AccessSecretName}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		if err := client.IgnoreNotFound(r.Client.Get(ctx, key, secret)); err != nil {
			return "", fmt.Errorf("read Secret %q from the cache: %w", key, err)
		}
		versions.WriteString(version(secret))
	}
	return versions.String(), nil
}

// version tells an object from every other state of it, and from another of its name.
func version(object metav1.Object) string {
	return string(object.GetUID()) + "/" + object.GetResourceVersion() + "\n"
}
