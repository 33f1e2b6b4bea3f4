// SPDX-License-Identifier: Apache-2.0

// Package ctrlmanager holds what the managers of the Controller and the Sidecar
// have in common. What is cached and how a leader is elected is for each of them
// to say.
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

// CacheSynced is ready once the manager's cache holds what the API server has.
func CacheSynced(mgr ctrl.Manager) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the cache is not filled yet: is the API server reachable, and are the CRDs and roles installed?")
		}
		return nil
	}
}

// Address makes an empty address to listen on the one by which
// controller-runtime serves nothing, where it would take a default.
func Address(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// LeaseTimes are the times of the leader election; zero values mean those of
// Kubernetes components: 15, 10 and 2 seconds.
type LeaseTimes struct {
	// Duration is how long a Lease counts without being renewed.
	Duration time.Duration
	// RenewDeadline is how long the holder tries to renew it before it gives up.
	RenewDeadline time.Duration
	// RetryPeriod is the time between two tries.
	RetryPeriod time.Duration
}

// Apply sets those times that are not zero.
func (t LeaseTimes) Apply(options *ctrl.Options) {
	for target, value := range map[**time.Duration]time.Duration{
		&options.LeaseDuration: t.Duration, &options.RenewDeadline: t.RenewDeadline, &options.RetryPeriod: t.RetryPeriod,
	} {
		if value > 0 {
			*target = ptr.To(value)
		}
	}
}
