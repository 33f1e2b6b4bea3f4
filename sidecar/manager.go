// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/cooper-cosi/cooper/internal/credstore/kube"
	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
	"github.com/cooper-cosi/cooper/internal/preflight"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// ManagerOptions configure the process of a Sidecar.
type ManagerOptions struct {
	// Sidecar configures the Sidecar.
	Sidecar Options
	// Logger receives all logs of the manager.
	Logger logr.Logger
	// Metrics configure the metrics endpoint.
	Metrics ctrlmanager.Metrics
	// HealthAddress is the TCP bind address of /healthz and /readyz, such as ":8081". Empty disables them.
	HealthAddress string
	// PprofAddress is the TCP bind address of the profiles at /debug/pprof/. Empty disables them. Clients that can
	// reach it can inspect the process and slow it down.
	PprofAddress string
	// LeaderNamespace is the namespace of the Lease. Empty disables leader election.
	LeaderNamespace string
	// Owner is the namespace and name of the deployment of this instance, such as "store/s3-driver". All instances of
	// one driver share it. It is required with LeaderNamespace.
	Owner string
	// Identity is the name of this instance as holder of the Lease. Empty means the host name and a random suffix.
	Identity string
	// CredentialStore is the store for the driver's credentials. It is nil if the driver uses another one. The manager
	// opens the store. The caller stops it after the manager and the Driver, because the driver needs the store until
	// its last RPC has ended.
	CredentialStore *kube.Server
	// Lease configures the times of the leader election.
	Lease ctrlmanager.LeaseTimes
}

// NewManager returns a manager with a Sidecar, ready to Start. cmd/cosi-sidecar runs it, and tests use it to replay
// crashes. It fails if the API server is unreachable or lacks the kinds of api/v1alpha2.
//
// When its context ends, running calls to the driver finish and are recorded before the Lease is released. When
// another instance holds the Lease, Start returns an error and does not wait for calls.
func NewManager(config *rest.Config, o ManagerOptions) (ctrl.Manager, error) {
	if o.Sidecar.Driver == nil {
		return nil, errors.New("sidecar: ManagerOptions.Sidecar.Driver is not set: pass the result of Connect")
	}
	scheme, err := reconciler.NewScheme()
	if err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	mapper, err := preflight.Kinds(config, "Bucket", "BucketAccess")
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		MapperProvider:          mapper,
		Scheme:                  scheme,
		Logger:                  o.Logger,
		Cache:                   CacheOptions(o.Sidecar.Driver.Name(), o.Sidecar.Scope),
		Metrics:                 o.Metrics.Options(),
		PprofBindAddress:        o.PprofAddress,
		HealthProbeBindAddress:  ctrlmanager.Address(o.HealthAddress),
		GracefulShutdownTimeout: ptr.To(o.Sidecar.Driver.deadline + apiTime),
	}
	if err := o.elect(config, &options); err != nil {
		return nil, err
	}
	mgr, err := ctrlmanager.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	if o.CredentialStore != nil { // before the parts that call the driver
		// Only the leader opens it. A sidecar that may not hold the Lease of a driver name never becomes the leader, so a
		// driver cannot read another driver's entries by using its name.
		open := func(context.Context) error {
			o.CredentialStore.OpenFor(o.Sidecar.Driver.Name())
			return nil
		}
		if err := mgr.Add(manager.RunnableFunc(open)); err != nil {
			return nil, fmt.Errorf("sidecar: add the credential store: %w", err)
		}
	}
	if err := Add(mgr, o.Sidecar); err != nil {
		return nil, err
	}
	if err := reportPolicies(mgr, o.Logger); err != nil {
		return nil, err
	}
	connected := func(*http.Request) error { return o.Sidecar.Driver.Connected() }
	err = errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("driver", connected), mgr.AddReadyzCheck("cache", ctrlmanager.CacheSynced(mgr)))
	if err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	return mgr, nil
}

// elect enables leader election.
func (o ManagerOptions) elect(config *rest.Config, options *ctrl.Options) error {
	if o.LeaderNamespace == "" {
		return nil
	}
	lock, err := newLease(config, o)
	if err != nil {
		return fmt.Errorf("sidecar: %w", err)
	}
	options.LeaderElection = true
	options.LeaderElectionReleaseOnCancel = true
	options.LeaderElectionResourceLockInterface = lock
	o.Lease.Apply(options)
	return nil
}

// reportPolicies makes the manager log, once it becomes the leader, which of the admission policies are missing that
// prevent users from removing COSI's finalizers and annotations. Without them, credentials and buckets may outlive
// their objects.
func reportPolicies(mgr ctrl.Manager, log logr.Logger) error {
	report := func(ctx context.Context) error {
		missing, err := preflight.MissingPolicies(ctx, mgr.GetAPIReader(), preflight.ProtectionPolicies()...)
		switch {
		case err != nil:
			log.V(1).Info("Cannot check whether the admission policies of COSI are installed", "reason", err.Error())
		case len(missing) > 0:
			log.Info("Admission policies are missing or do not deny requests: users can remove COSI's finalizers, and credentials and buckets then "+
				"remain in the backend. Install them with kubectl apply --server-side -f deploy/policies/protection.yaml or the chart cosi-controller",
				"policies", strings.Join(missing, ", "))
		}
		return nil
	}
	if err := mgr.Add(manager.RunnableFunc(report)); err != nil {
		return fmt.Errorf("sidecar: %w", err)
	}
	return nil
}
