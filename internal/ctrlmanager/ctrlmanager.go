// SPDX-License-Identifier: Apache-2.0

// Package ctrlmanager contains the common parts of the managers of the Controller, the Sidecar and cosi-obc. Each of
// these components configures its own caches and leader election.
package ctrlmanager

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// CacheSynced returns a readiness check that succeeds once the manager's cache is synced.
func CacheSynced(mgr ctrl.Manager) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the cache is not synced yet: check that the API server is reachable and that the CRDs and roles are installed")
		}
		return nil
	}
}

// Address converts a bind address for controller-runtime. An empty address means disabled, not controller-runtime's
// default.
func Address(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// LeaseTimes configure the leader election. Zero values mean the defaults of Kubernetes components: 15, 10 and 2
// seconds.
type LeaseTimes struct {
	// Duration is how long a Lease is valid without renewal.
	Duration time.Duration
	// RenewDeadline is how long the leader tries to renew the Lease before it gives up.
	RenewDeadline time.Duration
	// RetryPeriod is the time between two attempts.
	RetryPeriod time.Duration
}

// Apply sets the times that are not zero.
func (t LeaseTimes) Apply(options *ctrl.Options) {
	for target, value := range map[**time.Duration]time.Duration{
		&options.LeaseDuration: t.Duration, &options.RenewDeadline: t.RenewDeadline, &options.RetryPeriod: t.RetryPeriod,
	} {
		if value > 0 {
			*target = ptr.To(value)
		}
	}
}
