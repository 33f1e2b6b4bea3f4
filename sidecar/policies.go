// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/cooper-cosi/cooper/internal/preflight"
)

// reportPolicies makes the manager log, once when it starts to work, which admission policies are missing that keep users
// from removing COSI's finalizers and annotations. Without them, credentials and buckets may outlive their objects.
func reportPolicies(mgr ctrl.Manager, log logr.Logger) error {
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		missing, err := preflight.MissingPolicies(ctx, mgr.GetAPIReader(), preflight.ProtectionPolicies()...)
		switch {
		case err != nil:
			log.V(1).Info("Cannot check whether the admission policies of COSI are installed", "reason", err.Error())
		case len(missing) > 0:
			log.Info("Admission policies are missing or do not deny: users can remove COSI's finalizers, and credentials and buckets then "+
				"remain in the backend. Install them with kubectl apply --server-side -f deploy/policies/protection.yaml or the chart cosi-controller",
				"policies", strings.Join(missing, ", "))
		}
		return nil
	}))
}
