// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
)

const (
	// grantBurst and grantEvery limit the grants that users cause by rotations and changes of Secrets, per access.
	grantBurst = 10
	grantEvery = time.Minute
	// secretReadEvery limits reads of unchanged Secrets that are not watched: at most one Secret read in this time,
	// for all accesses together.
	secretReadEvery = 200 * time.Millisecond
)

// Memory holds what the sidecar remembers of each access beyond what the API stores. A restart loses it: every access is
// then checked once, and the periodic grants are spread over half the interval. Use NewMemory. The methods may be called
// by several goroutines.
type Memory struct {
	interval   time.Duration
	background *rate.Limiter

	mu       sync.Mutex
	accesses map[reconcile.Request]*remembered
}

// remembered is the memory of the accesses of one name.
type remembered struct {
	// checked is the state in which the access was last found current.
	checked *checked
	// renewal and expiry are the times of its credential; zero if it does not expire.
	renewal, expiry time.Time
	// periodic is the time of the next periodic grant.
	periodic time.Time
	// background is the time reserved for a grant that no user asked for.
	background time.Time
	// budget limits the grants that users cause, for one epoch of the driver.
	budget *rate.Limiter
	epoch  uint64
	// granting is the access, with its account ID, for which a grant was begun that the cache does not show yet.
	granting *cosiapi.BucketAccess
	// orphans are the last states of accesses that were deleted without cleanup, by UID.
	orphans map[types.UID]*cosiapi.BucketAccess
}

// checked is the state of an access that was found current.
type checked struct {
	// access and secrets are versions, grant is the digest of the request.
	access, secrets, grant string
	// at is the time of the check; due is when the grant must be repeated, zero for never.
	at, due time.Time
}

// NewMemory returns an empty Memory. interval is the time between two periodic grants of an access, zero for never;
// perSecond limits the grants that no user asked for, of all accesses together.
func NewMemory(interval time.Duration, perSecond float64) *Memory {
	return &Memory{
		interval: interval, background: rate.NewLimiter(rate.Limit(perSecond), 1),
		accesses: map[reconcile.Request]*remembered{},
	}
}

// with calls do with the entry of a request.
func (m *Memory) with(req reconcile.Request, do func(*remembered)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.accesses[req] == nil {
		m.accesses[req] = &remembered{}
	}
	do(m.accesses[req])
}

// Forget drops an access that does not exist any more, and reports whether it was being granted: then it is an orphan now.
// Orphans of its name are kept until they are cleaned up.
func (m *Memory) Forget(req reconcile.Request) (orphaned bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.accesses[req]
	if known == nil {
		return false
	}
	orphaned = known.granting != nil
	if orphaned {
		known.addOrphan(known.granting)
	}
	delete(m.accesses, req)
	if len(known.orphans) > 0 {
		m.accesses[req] = &remembered{orphans: known.orphans}
	}
	return orphaned
}

// setCurrent stores the state of an access that needs no grant, and gives up its place for a background grant.
func (m *Memory) setCurrent(req reconcile.Request, c checked) {
	m.with(req, func(known *remembered) { known.checked, known.background = &c, time.Time{} })
}

// lastChecked returns the state in which the access was found current, nil if there is none, and for how long Secrets
// that are not watched are then not read again.
func (m *Memory) lastChecked(req reconcile.Request) (c *checked, valid time.Duration) {
	m.with(req, func(known *remembered) { c, valid = known.checked, time.Duration(len(m.accesses))*secretReadEvery })
	return c, valid
}

// setExpiry stores when the credential in the Secrets is to be renewed and when it expires. Their owner can write an earlier
// renewal into them, so a time before the last stored one, or before now, counts only from now on.
func (m *Memory) setExpiry(req reconcile.Request, secrets []*corev1.Secret, now time.Time) {
	m.with(req, func(known *remembered) {
		soonest := now
		if known.renewal.Before(now) { // zero, and so no bound, if nothing was stored
			soonest = known.renewal
		}
		known.renewal, known.expiry = time.Time{}, time.Time{}
		for _, s := range secrets {
			renewal, ok := renewalOf(s)
			if expiry, expires := secretkeys.Expiry(s.Data); ok && expires {
				if renewal.Before(soonest) {
					renewal = soonest
				}
				known.renewal, known.expiry = renewal, expiry
			}
		}
	})
}

// NextExpiry returns the first time at which a credential is to be renewed, and the first at which one expires; zero if
// none does.
func (m *Memory) NextExpiry() (renewal, expiry time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.accesses {
		renewal, expiry = earlier(renewal, known.renewal), earlier(expiry, known.expiry)
	}
	return renewal, expiry
}

// earlier returns the earlier of two times, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// periodic returns when the access is granted again although nothing changed; zero means never.
func (m *Memory) periodic(req reconcile.Request, now time.Time) (at time.Time) {
	m.with(req, func(known *remembered) {
		if known.periodic.IsZero() && m.interval > 0 {
			half := m.interval / 2
			known.periodic = now.Add(half + time.Duration(rand.Float64()*float64(half))) //nolint:gosec // spreads load, guards nothing
		}
		at = known.periodic
	})
	return at
}

// granted starts the time until the next periodic grant.
func (m *Memory) granted(req reconcile.Request, now time.Time) {
	m.with(req, func(known *remembered) {
		if m.interval > 0 {
			known.periodic = now.Add(reconciler.Jitter(m.interval))
		}
	})
}

// awaitBudget returns how long the access must wait for another grant that a user may have caused. A new epoch of the
// driver starts a new budget.
func (m *Memory) awaitBudget(req reconcile.Request, epoch uint64, now time.Time) (wait time.Duration) {
	m.with(req, func(known *remembered) {
		if known.budget == nil || known.epoch != epoch {
			known.budget, known.epoch = rate.NewLimiter(rate.Every(grantEvery), grantBurst), epoch
		}
		wait = max(0, time.Duration((1-known.budget.TokensAt(now))*float64(grantEvery)))
	})
	return wait
}

// spendBudget counts a grant that a user may have caused.
func (m *Memory) spendBudget(req reconcile.Request, now time.Time) {
	m.with(req, func(known *remembered) { known.budget.AllowN(now, 1) })
}

// awaitBackground returns how long the access must wait for a grant that no user asked for. Its place in the order is
// kept until setCurrent.
func (m *Memory) awaitBackground(req reconcile.Request, now time.Time) (wait time.Duration) {
	m.with(req, func(known *remembered) {
		if known.background.IsZero() {
			known.background = now.Add(m.background.ReserveN(now, 1).DelayFrom(now))
		}
		wait = max(0, known.background.Sub(now))
	})
	return wait
}

// setGranting remembers an access with the account ID that it is about to get, or has, before a grant.
func (m *Memory) setGranting(a *cosiapi.BucketAccess, id string) {
	a = a.DeepCopy()
	a.Status.AccountID, a.Status.Cleanup = id, cosiapi.CleanupPending
	m.with(requestFor(a), func(known *remembered) { known.granting = a })
}

// setGranted undoes setGranting: the cache shows the account ID, or this process has revoked the account.
func (m *Memory) setGranted(req reconcile.Request) {
	m.with(req, func(known *remembered) { known.granting = nil })
}

// Deleted remembers an access that the watch reports as deleted, and reports whether anything of it may have to be cleaned
// up. Users can write the annotation that ends the cleanup; if the access has an account and status.cleanup, that counts
// instead. After a finished cleanup something is left only by a grant of this process, whose Lease another one holds by now.
func (m *Memory) Deleted(a *cosiapi.BucketAccess) (orphan bool) {
	m.mu.Lock()
	known := m.accesses[requestFor(a)]
	orphan = !a.CleanedUp() || a.Status.AccountID == ""
	if known != nil && known.granting != nil && known.granting.UID == a.UID {
		a, orphan, known.granting = known.granting, true, nil
	}
	m.mu.Unlock()
	if orphan {
		m.with(requestFor(a), func(known *remembered) { known.addOrphan(a) })
	}
	return orphan
}

func (known *remembered) addOrphan(a *cosiapi.BucketAccess) {
	if known.orphans == nil {
		known.orphans = map[types.UID]*cosiapi.BucketAccess{}
	}
	if known.orphans[a.UID] != nil {
		return
	}
	a = a.DeepCopy()
	if a.DeletionTimestamp == nil { // its finalizer was removed first
		a.DeletionTimestamp = new(metav1.Now())
	}
	known.orphans[a.UID] = a
}

// orphans returns the orphaned accesses of a name.
func (m *Memory) orphans(req reconcile.Request) (all []*cosiapi.BucketAccess) {
	m.with(req, func(known *remembered) { all = slices.Collect(maps.Values(known.orphans)) })
	return all
}

// Requests returns the requests of all remembered accesses, orphans included.
func (m *Memory) Requests() []reconcile.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.accesses))
}

// forgetOrphan forgets an orphan that is cleaned up.
func (m *Memory) forgetOrphan(a *cosiapi.BucketAccess) {
	m.with(requestFor(a), func(known *remembered) { delete(known.orphans, a.UID) })
}

func requestFor(a *cosiapi.BucketAccess) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(a)}
}
