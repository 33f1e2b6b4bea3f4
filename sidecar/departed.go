// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
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
// does not have it any more, or if nothing says which that is. A sidecar that starts learns of all Secrets, and so
// of those that were left while none ran.
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
