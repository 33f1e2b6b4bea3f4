// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
)

const (
	// listingLife bounds for how long a listing counts, in case the API server is
	// restored from a backup and its resourceVersions start again.
	listingLife = 10 * time.Second
	// listingPage is how many accesses are read at a time.
	listingPage = 500
)

// listings are what the API server said of the accesses of each namespace. The
// claims of a namespace share one: if each of n that go listed all accesses, that
// would cost n². The zero value is ready to use.
type listings struct {
	mu sync.Mutex
	of map[string]*listing
}

// A listing is one of them.
type listing struct {
	// mu is held while the accesses are read, for those who want the same.
	mu      sync.Mutex
	version string
	until   time.Time
	// users of each claim by its name.
	users map[string][]user
}

// A user is an access that used a claim, or could, in that version.
type user struct {
	uid     types.UID
	version string
}

// unusedBy reports whether the API server agrees with the cache that no access
// uses the claim. cached are the accesses to it in the cache, none of which counts.
//
// A listing that is younger than the claim's deletion is as good as one of this
// moment: whoever is handed off was there before it (bucketaccess/latest.go), and
// an access that ended its use counts anew if it begins again. For a claim that stays an access may have
// come since, whose watch event is on its way; that claim does not go before the
// next listing.
func (r *Reconciler) unusedBy(ctx context.Context, w *work, cached []cosiapi.BucketAccess) (bool, error) {
	l := r.listings.get(w.Req.Namespace, r.Now())
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Now().Before(l.until) && !older(l.version, w.claim.ResourceVersion) && l.agrees(w.Req.Name, cached) {
		return true, nil
	}
	if err := r.list(ctx, w.Req.Namespace, l); err != nil {
		return false, err
	}
	return l.agrees(w.Req.Name, cached), nil
}

// get returns the listing of a namespace, and drops those that count no more.
func (s *listings) get(namespace string, now time.Time) *listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, l := range s.of {
		if name != namespace && l.mu.TryLock() {
			if !now.Before(l.until) {
				delete(s.of, name)
			}
			l.mu.Unlock()
		}
	}
	if s.of == nil {
		s.of = map[string]*listing{}
	}
	if s.of[namespace] == nil {
		s.of[namespace] = &listing{}
	}
	return s.of[namespace]
}

// list reads all accesses of a namespace from the API server, page by page.
func (r *Reconciler) list(ctx context.Context, namespace string, l *listing) error {
	l.until, l.users = time.Time{}, map[string][]user{}
	page := &cosiapi.BucketAccessList{}
	for first := true; first || page.Continue != ""; first = false {
		err := r.Live.List(ctx, page, client.InNamespace(namespace), client.Limit(listingPage), client.Continue(page.Continue))
		if err != nil {
			return fmt.Errorf("list BucketAccesses in namespace %q: %w", namespace, err)
		}
		l.version = page.ResourceVersion
		for i := range page.Items {
			l.add(&page.Items[i])
		}
	}
	l.until = r.Now().Add(listingLife)
	return nil
}

func (l *listing) add(access *cosiapi.BucketAccess) {
	if !inuse.StateOf(access).Blocks() {
		return
	}
	for _, c := range access.Spec.BucketClaims {
		l.users[c.BucketClaimName] = append(l.users[c.BucketClaimName], user{access.UID, access.ResourceVersion})
	}
}

// agrees reports whether the cache knows of every user by now that it is none any
// more.
func (l *listing) agrees(claim string, cached []cosiapi.BucketAccess) bool {
	return !slices.ContainsFunc(l.users[claim], func(u user) bool {
		return !slices.ContainsFunc(cached, func(a cosiapi.BucketAccess) bool {
			return a.UID == u.uid && !older(a.ResourceVersion, u.version)
		})
	})
}

// older reports whether a version is from before another one, or may be.
func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || order < 0
}
