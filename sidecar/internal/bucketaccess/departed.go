// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Departed remembers the accesses that went although we had not returned them,
// because somebody took the finalizer off, until what they left is cleaned up.
// It is kept in memory: of what a sidecar that ends had still to do, and of what
// nobody saw, the Secrets tell the next one. The zero value is empty. The methods
// may be called by several goroutines.
type Departed struct {
	mu sync.Mutex
	// granting are accesses whose account ID the cache need not have yet.
	granting map[reconcile.Request]*cosiapi.BucketAccess
	gone     map[reconcile.Request][]departed
	// suspects are the Secrets that were perhaps left behind.
	suspects map[reconcile.Request][]types.NamespacedName
}

// departed is an access that is gone, as it was last.
type departed struct {
	access *cosiapi.BucketAccess
	// recorded says that we know it from a Secret alone.
	recorded bool
}

// Granting notes an access with what is about to be stored, that there may be an account
// and perhaps its ID, of which a deletion that the watch misses would say nothing.
func (d *Departed) Granting(a *cosiapi.BucketAccess, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a = a.DeepCopy()
	a.Status.AccountID, a.Status.Cleanup = id, cosiapi.CleanupPending
	add(&d.granting, requestFor(a), a)
}

// NotGranting takes Granting back: nothing was granted, or the cache has the ID.
func (d *Departed) NotGranting(a *cosiapi.BucketAccess) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.granting, requestFor(a))
}

// Gone notes the last state of an access that the watch says is gone, and reports
// whether there may be anything to clean up behind it. That an access was returned
// stands where users cannot write once it has an account; before, it has Secrets.
func (d *Departed) Gone(a *cosiapi.BucketAccess) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if later := d.granting[requestFor(a)]; later != nil && later.UID == a.UID && a.Status.AccountID == "" {
		a = later
	}
	delete(d.granting, requestFor(a))
	if a.CleanedUp() && a.Status.AccountID != "" {
		return false
	}
	d.add(departed{access: a.DeepCopy()})
	return true
}

// Recorded notes an access that is gone and known from a Secret.
func (d *Departed) Recorded(a *cosiapi.BucketAccess) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(departed{access: a, recorded: true})
}

func (d *Departed) add(one departed) {
	req := requestFor(one.access)
	if !slices.ContainsFunc(d.gone[req], one.same) {
		add(&d.gone, req, append(d.gone[req], one))
	}
}

// Suspect notes a Secret that the access of that name perhaps left.
func (d *Departed) Suspect(req reconcile.Request, secret types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.suspects[req], secret) {
		add(&d.suspects, req, append(d.suspects[req], secret))
	}
}

// suspected returns the Secrets that the access of that name perhaps left, and
// forgets them.
func (d *Departed) suspected(req reconcile.Request) []types.NamespacedName {
	d.mu.Lock()
	defer d.mu.Unlock()
	secrets := d.suspects[req]
	delete(d.suspects, req)
	return secrets
}

// of returns those of one name that are not cleaned up, the oldest first.
func (d *Departed) of(req reconcile.Request) []departed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.gone[req])
}

// drop forgets one that is cleaned up.
func (d *Departed) drop(one departed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	req := requestFor(one.access)
	left := slices.DeleteFunc(slices.Clone(d.gone[req]), one.same)
	if len(left) == 0 {
		delete(d.gone, req)
		return
	}
	d.gone[req] = left
}

func (d departed) same(other departed) bool { return d.access.UID == other.access.UID }

func requestFor(a *cosiapi.BucketAccess) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(a)}
}

// add is m[req] = value for a map that need not have been made.
func add[V any](m *map[reconcile.Request]V, req reconcile.Request, value V) { //nolint:gocritic // it makes the map
	if *m == nil {
		*m = map[reconcile.Request]V{}
	}
	(*m)[req] = value
}
