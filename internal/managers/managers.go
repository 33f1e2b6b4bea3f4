// SPDX-License-Identifier: Apache-2.0

// Package managers holds what the managers of the Controller and the Sidecar
// have in common. What is cached and how a leader is elected is for each of them
// to say.
package managers

import (
	"context"
	"errors"
	"net/http"
	"time"

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
