// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/cooper-cosi/cooper/controller"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sidecar"
)

// gracePeriod is the time for running reconciles to complete when the controller stops.
const gracePeriod = 30 * time.Second

// leaseTimes returns long durations: no other instance waits to take over, and a stalled API server must not
// end the system.
func leaseTimes() ctrlmanager.LeaseTimes {
	return ctrlmanager.LeaseTimes{Duration: 3 * time.Minute, RenewDeadline: 2 * time.Minute, RetryPeriod: 10 * time.Second}
}

// leaderNamespace returns the namespace of the Leases; empty disables leader election.
func (o Options) leaderNamespace() string {
	if o.HoldLeases {
		return deploy.SystemNamespace
	}
	return ""
}

// controllerWork returns the work of the COSI Controller, which is the same as in cmd/cosi-controller.
func (o Options) controllerWork(config *rest.Config) work {
	return func(ctx context.Context, metrics prometheus.Registerer, ready func()) error {
		settings := o.Controller
		settings.Scope, settings.Registerer, settings.Name = o.scope(), metrics, o.Name
		mgr, err := controller.NewManager(config, controller.ManagerOptions{
			Controller: settings, Logger: o.logger(), GracePeriod: gracePeriod,
			LeaderNamespace: o.leaderNamespace(), Lease: leaseTimes(),
		})
		if err != nil {
			return err
		}
		return run(ctx, mgr, ready)
	}
}

// sidecarWork returns the work of the sidecar of the driver at endpoint, which is the same as in
// cmd/cosi-sidecar. It waits until the driver responds.
func (o Options) sidecarWork(config *rest.Config, driver, endpoint string) work {
	return func(ctx context.Context, metrics prometheus.Registerer, ready func()) error {
		connect := o.Connect
		connect.Address, connect.Registerer, connect.Logger = endpoint, metrics, o.logger()
		connected, err := sidecar.Connect(ctx, connect)
		if err != nil {
			return err
		}
		defer connected.Close()
		if connected.Name() != driver {
			return fmt.Errorf("the driver at %s has the unexpected name %s", endpoint, connected.Name())
		}
		settings := o.Sidecar
		settings.Driver, settings.Scope, settings.Registerer, settings.Name = connected, o.scope(), metrics, suffixed(driver, o.Name)
		mgr, err := sidecar.NewManager(config, sidecar.ManagerOptions{
			Sidecar: settings, Logger: o.logger(),
			LeaderNamespace: o.leaderNamespace(), Owner: deploy.SystemNamespace + "/" + driver, Lease: leaseTimes(),
		})
		if err != nil {
			return err
		}
		return run(ctx, mgr, ready)
	}
}

// run runs the manager, and calls ready when its caches have synced.
func run(ctx context.Context, mgr ctrl.Manager, ready func()) error {
	tell := manager.RunnableFunc(func(ctx context.Context) error {
		if mgr.GetCache().WaitForCacheSync(ctx) {
			ready()
		}
		return nil
	})
	if err := mgr.Add(tell); err != nil {
		return fmt.Errorf("configure the manager: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	return nil
}

func (o Options) logger() logr.Logger {
	if o.Logger == nil {
		return logr.Discard()
	}
	return *o.Logger
}

func (o Options) scope() reconciler.Scope { return reconciler.Scope{Namespaces: o.Namespaces} }

// suffixed appends the name of a system to a name.
func suffixed(name, system string) string {
	if system == "" {
		return name
	}
	return name + "-" + system
}
