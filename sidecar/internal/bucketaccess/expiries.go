// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/internal/secretkeys"
)

// Expiries remember when the credentials of accesses are to be renewed and when they end, as of the last
// look at their Secrets, which no cache has. The zero value is empty. The methods may be called by several
// goroutines.
type Expiries struct {
	mu    sync.Mutex
	times map[reconcile.Request]lifetime
}

// A lifetime is when a credential is to be renewed and when it ends.
type lifetime struct{ renewal, end time.Time }

// note notes what the Secrets of an access say: they share one credential. Their owner may write into them that its
// renewal has long been due: what was not due when it was last noted is due from now on.
func (e *Expiries) note(req reconcile.Request, secrets []*corev1.Secret, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.times[req] // zero, and so no bound, if there was none
	delete(e.times, req)
	for _, s := range secrets {
		end, expires := secretkeys.Expiry(s.Data)
		renewal, ok := renewalOf(s)
		if !ok || !expires {
			continue
		}
		since := now
		if before.renewal.Before(now) {
			since = before.renewal
		}
		if renewal.Before(since) {
			renewal = since
		}
		add(&e.times, req, lifetime{renewal, end})
	}
}

// Forget drops an access that needs no credential any more.
func (e *Expiries) Forget(req reconcile.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.times, req)
}

// First returns the first time at which a credential is to be renewed, and the first at which one ends; zero
// if none does.
func (e *Expiries) First() (renewal, end time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.times {
		if renewal.IsZero() || t.renewal.Before(renewal) {
			renewal = t.renewal
		}
		if end.IsZero() || t.end.Before(end) {
			end = t.end
		}
	}
	return renewal, end
}
