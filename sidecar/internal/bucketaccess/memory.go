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

// Memory holds data about each access that the API does not store. It is lost at a restart: every access is then
// checked once, and the periodic grants are spread over half the interval. Use NewMemory. The methods are safe for
// concurrent use.
type Memory struct {
	interval   time.Duration
	background *rate.Limiter

	mu       sync.Mutex
	accesses map[reconcile.Request]*remembered
}

// remembered is the data about the accesses of one name.
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
	// granting is the access, with its account ID, whose grant has started and is not in the cache yet.
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

// NewMemory returns an empty Memory. interval is the time between two periodic grants of an access; zero means never.
// perSecond limits the background grants, which no user requested, of all accesses together.
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

// Forget drops an access that no longer exists. It reports whether the access is an orphan, which means that a grant
// was in progress. Memory keeps orphans until they are cleaned up.
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

// setCurrent stores the state of an access that needs no grant, and releases its slot for a background grant.
func (m *Memory) setCurrent(req reconcile.Request, c checked) {
	m.with(req, func(known *remembered) { known.checked, known.background = &c, time.Time{} })
}

// lastChecked returns the state in which the access was found current, or nil, and for how long Secrets that are not
// watched need not be read again.
func (m *Memory) lastChecked(req reconcile.Request) (c *checked, valid time.Duration) {
	m.with(req, func(known *remembered) { c, valid = known.checked, time.Duration(len(m.accesses))*secretReadEvery })
	return c, valid
}

// setExpiry stores when the credential in the Secrets must be renewed and when it expires. Users can change the
// Secrets, so a renewal before the last stored one, or before now if the last stored one is in the future, is raised
// to that time.
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

// NextExpiry returns the earliest time at which a credential must be renewed, and the earliest time at which one
// expires. Zero means that no credential expires.
func (m *Memory) NextExpiry() (renewal, expiry time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.accesses {
		renewal, expiry = earlier(renewal, known.renewal), earlier(expiry, known.expiry)
	}
	return renewal, expiry
}

// earlier returns the earlier of two times. Zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// periodic returns when the grant of an unchanged access is repeated. Zero means never.
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

// granted restarts the time until the next periodic grant.
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

// awaitBackground returns how long the access must wait for a grant that no user requested. setCurrent frees its slot.
func (m *Memory) awaitBackground(req reconcile.Request, now time.Time) (wait time.Duration) {
	m.with(req, func(known *remembered) {
		if known.background.IsZero() {
			known.background = now.Add(m.background.ReserveN(now, 1).DelayFrom(now))
		}
		wait = max(0, known.background.Sub(now))
	})
	return wait
}

// setGranting records, before a grant, an access with the account ID that it has or will get.
func (m *Memory) setGranting(a *cosiapi.BucketAccess, id string) {
	a = a.DeepCopy()
	a.Status.AccountID, a.Status.Cleanup = id, cosiapi.CleanupPending
	m.with(requestFor(a), func(known *remembered) { known.granting = a })
}

// setGranted undoes setGranting: the cache shows the account ID, or this process has revoked the account.
func (m *Memory) setGranted(req reconcile.Request) {
	m.with(req, func(known *remembered) { known.granting = nil })
}

// Deleted records an access that the watch reports as deleted, and reports whether it may need a cleanup. Users can
// write the annotation that ends the cleanup, so if the access has an account, status.cleanup is used instead. After a
// finished cleanup, only a grant by this process can have left anything behind, if another process has taken over the
// Lease.
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
	if a.DeletionTimestamp == nil { // its finalizer was removed before the deletion
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

// forgetOrphan drops an orphan after its cleanup.
func (m *Memory) forgetOrphan(a *cosiapi.BucketAccess) {
	m.with(requestFor(a), func(known *remembered) { delete(known.orphans, a.UID) })
}

func requestFor(a *cosiapi.BucketAccess) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(a)}
}
