// SPDX-License-Identifier: Apache-2.0

// Package sidecars reports whether the sidecar of a driver is at work, by the
// Lease that it holds. It only reads: what waits for a sidecar is for others to
// say.
package sidecars

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Leases are the Leases of the sidecars of a cluster.
type Leases struct {
	// Live reads from the API server: one Lease is read seldom, and all of them
	// change all the time.
	Live client.Reader
	// Namespace of the Leases; empty means that sidecars hold none, so that
	// nothing is known of them.
	Namespace string
}

// Known reports whether anything is known of sidecars.
func (l Leases) Known() bool { return l.Namespace != "" }

// Missing says, in sentences for the user, that no sidecar of the driver is at
// work and what an administrator must do. It is empty while one is, and when
// that cannot be found out.
func (l Leases) Missing(ctx context.Context, driver string) string {
	if !l.Known() {
		return ""
	}
	held := &coordinationv1.Lease{}
	key := types.NamespacedName{Namespace: l.Namespace, Name: cosiapi.LeaseNameFor(driver)}
	err := l.Live.Get(ctx, key, held)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("No sidecar of driver %q has run yet: Lease %q does not exist. "+
			"An administrator must install the driver, or the class names the wrong one.", driver, key)
	case err != nil:
		log.FromContext(ctx).Info("Cannot find out whether a sidecar is at work", "lease", key.String(), "reason", err.Error())
		return ""
	case alive(held, time.Now()):
		return ""
	}
	message := fmt.Sprintf("No sidecar of driver %q is running: nobody holds Lease %q", driver, key)
	if renewed := held.Spec.RenewTime; renewed != nil {
		message += ", which was renewed last at " + renewed.UTC().Format(time.RFC3339)
	}
	return message + ". An administrator must see why the Pods of the driver do not run."
}

// alive reports whether somebody holds the Lease at that time.
func alive(held *coordinationv1.Lease, now time.Time) bool {
	renewed := held.Spec.RenewTime
	if ptr.Deref(held.Spec.HolderIdentity, "") == "" || renewed == nil {
		return false
	}
	return now.Before(renewed.Add(time.Duration(ptr.Deref(held.Spec.LeaseDurationSeconds, 0)) * time.Second))
}
