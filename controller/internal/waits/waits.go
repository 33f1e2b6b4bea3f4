// SPDX-License-Identifier: Apache-2.0

// Package waits says when an object that waits for somebody else has waited for
// so long that it must say so, and whether what it waits for is a sidecar that
// is not at work. Until then the wait is a part of every creation and deletion,
// and not worth a write. It only reads.
package waits

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Waits are those of the objects of a Controller.
type Waits struct {
	// Patience is how long an object may wait in silence.
	Patience time.Duration
	// Live reads from the API server: one Lease is read seldom, and all of them
	// change all the time.
	Live client.Reader
	// Leases is the namespace of the Leases of the sidecars; empty means that
	// they hold none, so that nothing is known of them.
	Leases string
	// Seen remembers the Leases; it is required with Leases.
	Seen *Sightings
	// Namespaces remembers what goes in each namespace.
	Namespaces *Namespaces
}

// Deletion returns how long the deletion of the object may still wait in
// silence; zero means that it is overdue. The clocks of API server and
// controller may differ, but it never returns more than Patience. Of many that
// wait for each other none is overdue while others of the namespace go, or begin to:
// Kubernetes takes minutes to mark all that is in a large one.
func (w Waits) Deletion(obj client.Object, now time.Time) time.Duration {
	deleted := obj.GetDeletionTimestamp()
	if deleted == nil {
		return w.Patience
	}
	began := deleted.Time
	if began.After(now) {
		began = now
	}
	w.Namespaces.Moved(obj.GetNamespace(), began)
	if now.Sub(began) < lineLimit*w.Patience {
		began = w.Namespaces.lastMoved(obj.GetNamespace())
	}
	return w.left(began, now)
}

// NamespaceDeletion is Deletion for an object that waits for others which go with its namespace by themselves: nobody
// can do anything about it, so that it is overdue only after lineLimit times Patience. It still never returns more than
// Patience, for by then the object may wait for something else, of which no event tells.
func (w Waits) NamespaceDeletion(obj client.Object, now time.Time) time.Duration {
	left := w.Deletion(obj, now)
	if deleted := obj.GetDeletionTimestamp(); deleted != nil && now.Sub(deleted.Time) < lineLimit*w.Patience {
		return w.Patience
	}
	return left
}

// lineLimit is after how many times their patience objects that are being deleted
// say what they wait for, although others go.
const lineLimit = 60

// Provisioning returns how long the provisioning of the object may still wait
// in silence, as Deletion does for its deletion.
func (w Waits) Provisioning(obj client.Object, now time.Time) time.Duration {
	return w.left(obj.GetCreationTimestamp().Time, now)
}

// Silence is Provisioning for a wait that an Event has told of. It is long enough
// for a burst of a thousand.
func (w Waits) Silence(obj client.Object, now time.Time) time.Duration {
	w.Patience *= 3
	return w.Provisioning(obj, now)
}

func (w Waits) left(began, now time.Time) time.Duration {
	return min(max(0, began.Add(w.Patience).Sub(now)), w.Patience)
}

// KnowsSidecars reports whether anything is known of sidecars.
func (w Waits) KnowsSidecars() bool { return w.Leases != "" }

// MissingSidecar returns sentences for the user which say that no sidecar of the
// driver is at work, by the Lease that it would hold, and what an administrator
// must do. They are empty while one is, and when that cannot be found out. Whether
// a Lease is renewed only a second look can tell: then again is the time until
// that, and nothing is known before.
func (w Waits) MissingSidecar(ctx context.Context, driver string) (missing string, again time.Duration) {
	if !w.KnowsSidecars() {
		return "", 0
	}
	held := &coordinationv1.Lease{}
	key := types.NamespacedName{Namespace: w.Leases, Name: cosiapi.LeaseNameFor(driver)}
	err := w.Live.Get(ctx, key, held)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("No sidecar of driver %q has run yet: Lease %q does not exist. "+
			"An administrator must install the driver, or the class names the wrong one.", driver, key), 0
	case err != nil:
		log.FromContext(ctx).Info("Cannot find out whether a sidecar is at work", "lease", key.String(), "reason", err.Error())
		return "", 0
	}
	if isHeld, again := w.Seen.look(driver, held, time.Now()); isHeld || again > 0 {
		return "", again
	}
	message := fmt.Sprintf("No sidecar of driver %q is running: nobody holds Lease %q", driver, key)
	if renewed := held.Spec.RenewTime; renewed != nil {
		message += ", which was renewed last at " + renewed.UTC().Format(time.RFC3339)
	}
	return message + ". An administrator must see why the Pods of the driver do not run.", 0
}
