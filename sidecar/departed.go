// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/backoff"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucketaccess"
)

// gone wakes the reconciler of an access that went without our finalizer. The watch has its
// last state, or, if the watch was interrupted, what the cache had.
func (p *parts) gone(_ context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	access, ok := e.Object.(*cosiapi.BucketAccess)
	if !ok || access.Status.DriverName != p.options.Driver.Name() || !p.options.Scope.Includes(access.Namespace) {
		return
	}
	if p.departed.Gone(access) {
		queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(access)})
	}
}

// recorded has the reconciler clean up behind an access that is gone, as one of its Secrets proves.
func (p *parts) recorded(access *cosiapi.BucketAccess) {
	p.departed.Recorded(access)
	p.accesses.Trigger.Enqueue(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(access)})
}

// suspects returns the access that a Secret of our driver was made for, if the cache
// does not have it any more, or if nothing says which that is. A sidecar that starts learns of all Secrets with our
// label, and so of those that were left while none ran; sweep has the others.
func (p *parts) suspects(ctx context.Context, secret client.Object) []reconcile.Request {
	if !p.options.Scope.Includes(secret.GetNamespace()) {
		return nil
	}
	if bucketaccess.Stranded(secret) { // nothing says of which access: the Secret's own name stands in the request
		req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(secret)}
		p.departed.Suspect(req, req.NamespacedName)
		return []reconcile.Request{req}
	}
	req, uid := bucketaccess.MadeFor(secret, p.options.Driver.Name())
	if uid == "" {
		return nil
	}
	access := &cosiapi.BucketAccess{}
	err := p.mgr.GetClient().Get(ctx, req.NamespacedName, access)
	if err == nil && access.UID == uid {
		return nil
	}
	p.departed.Suspect(req, client.ObjectKeyFromObject(secret))
	return []reconcile.Request{req}
}

const (
	// sweepResyncs is how many resyncs long the time between two sweeps is.
	sweepResyncs = 6
	// sweepPage is how many Secrets are listed at a time.
	sweepPage = 500
)

// sweep looks, at the start and then once in a while, for suspects that the watch does not select: Secrets that an
// earlier version wrote, that were restored from its backup, or whose label somebody took off. Otherwise our finalizer
// might hold one of an access that is gone, and with it its namespace, for ever. Those of accesses that are there get
// the label when these are reconciled.
func (p *parts) sweep(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for {
			wait := sweepResyncs * backoff.Jitter(p.accesses.Options.Resync)
			for _, namespace := range p.options.Scope.Each() {
				if err := p.sweepIn(ctx, namespace, queue); err != nil && ctx.Err() == nil {
					log.FromContext(ctx).Error(err, "Cannot list the Secrets without our label, and will try again at the resync", "namespace", namespace)
					wait = p.accesses.Options.Resync
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}()
	return nil
}

// sweepIn is sweep in one namespace; empty means all. It holds one page in memory.
func (p *parts) sweepIn(ctx context.Context, namespace string, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	page := &metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	for {
		err := p.mgr.GetAPIReader().List(ctx, page, client.InNamespace(namespace), client.Limit(sweepPage), client.Continue(page.Continue),
			client.MatchingLabelsSelector{Selector: accessSecrets(selection.DoesNotExist)})
		if err != nil {
			return fmt.Errorf("list Secrets: %w", err)
		}
		for i := range page.Items {
			for _, req := range p.suspects(ctx, &page.Items[i]) {
				queue.Add(req)
			}
		}
		if page.Continue == "" {
			return nil
		}
	}
}
