// SPDX-License-Identifier: Apache-2.0

// Package system runs a whole COSI system in this process, except the control plane, which runs as child
// processes. The controller and the sidecars of the drivers have exactly the permissions that deploy/ grants
// them. Tests and `cooper up` use the package.
//
// The package must not import testing or depend on a particular driver. Callers pass the drivers in Options.
package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// Options configure the system. The zero value is a temporary control plane with a controller and no driver.
type Options struct {
	// ControlPlane is a running control plane with Cooper's CRDs; Stop does not stop it. Nil means that the
	// system starts its own according to ControlPlaneOptions.
	ControlPlane *controlplane.ControlPlane
	// ControlPlaneOptions configure the control plane to start. CRDs default to those of deploy/.
	ControlPlaneOptions controlplane.Options
	// Namespaces limit the system to the claims and accesses in these namespaces, and to the Buckets of those
	// claims. Several systems can then share a control plane. Empty means all namespaces.
	Namespaces []string
	// Name is appended to the names of the users, metrics and loggers of controller and sidecars. It must be
	// unique among the systems on a control plane.
	Name string
	// Drivers are the drivers, each with a sidecar. Their names must be unique.
	Drivers []Driver
	// HoldLeases enables leader election for controller and sidecars, so that the API shows that they run.
	// Use it only if the system starts its own control plane: it does not wait for earlier holders.
	HoldLeases bool
	// Controller configures the controller. The system sets Scope, Registerer and Name.
	Controller controller.Options
	// Sidecar configures every sidecar. The system sets Driver, Scope, Registerer and Name.
	Sidecar sidecar.Options
	// Connect configures how sidecars call their drivers. The system sets Address, Registerer and Logger.
	Connect sidecar.ConnectOptions
	// Logger receives the logs of controller and sidecars. Nil discards them.
	Logger *logr.Logger
}

// System is a running system.
type System struct {
	controlPlane *controlplane.ControlPlane
	owned        bool
	admin        client.Client
	sockets      string
	controller   *Component
	drivers      []*driverParts

	stop    sync.Once
	stopErr error
}

// driverParts are the components of one driver.
type driverParts struct {
	name     string
	endpoint string
	serving  *Component // nil if the driver is external
	sidecar  *Component // nil until the system has started
}

// Start starts all components and returns when they work. After an error nothing is left running.
func Start(ctx context.Context, o Options) (*System, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &System{controlPlane: o.ControlPlane}
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (o Options) validate() error {
	if o.HoldLeases && o.ControlPlane != nil {
		return errors.New("HoldLeases requires a system that starts its own control plane")
	}
	var names []string
	for _, d := range o.Drivers {
		switch {
		case d.Name == "":
			return errors.New("a driver has no name")
		case slices.Contains(names, d.Name):
			return fmt.Errorf("two drivers have the name %s", d.Name)
		case (d.Serve == nil) == (d.Endpoint == ""):
			return fmt.Errorf("driver %s needs exactly one of Serve and Endpoint", d.Name)
		}
		names = append(names, d.Name)
	}
	return nil
}

func (s *System) start(ctx context.Context, o Options) error {
	if err := s.startControlPlane(ctx, o); err != nil {
		return err
	}
	if o.HoldLeases {
		if err := s.admin.DeleteAllOf(ctx, &coordinationv1.Lease{}, client.InNamespace(deploy.SystemNamespace)); err != nil {
			return fmt.Errorf("delete the Leases of an earlier run: %w", err)
		}
	}
	if err := applyRoles(ctx, s.admin); err != nil {
		return err
	}
	sockets, err := os.MkdirTemp("", "cosi-")
	if err != nil {
		return fmt.Errorf("create a directory for sockets: %w", err)
	}
	s.sockets = sockets
	if err := s.addController(ctx, o); err != nil {
		return err
	}
	for index, d := range o.Drivers {
		if err := s.addDriver(ctx, o, d, index); err != nil {
			return err
		}
	}
	return nil
}

func (s *System) startControlPlane(ctx context.Context, o Options) error {
	if s.controlPlane == nil {
		settings := o.ControlPlaneOptions
		if settings.CRDs == nil {
			crds, err := deploy.CRDs()
			if err != nil {
				return err
			}
			settings.CRDs = crds
		}
		cp, err := controlplane.Start(ctx, settings)
		if err != nil {
			return err
		}
		s.controlPlane, s.owned = cp, true
	}
	var err error
	s.admin, err = adminOf(s.controlPlane)
	return err
}

// adminOf returns a client with all permissions.
func adminOf(cp *controlplane.ControlPlane) (client.Client, error) {
	scheme, err := reconciler.NewScheme()
	if err != nil {
		return nil, err
	}
	admin, err := client.New(cp.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create a client for the administrator: %w", err)
	}
	return admin, nil
}

func (s *System) addController(ctx context.Context, o Options) error {
	config, err := admit(ctx, s.controlPlane, s.admin, o.controllerIdentity())
	if err != nil {
		return err
	}
	s.controller = newComponent("the controller", o.controllerWork(config))
	return s.controller.Start(ctx)
}

// addDriver starts the driver, unless it is external, and its sidecar.
func (s *System) addDriver(ctx context.Context, o Options, d Driver, index int) error {
	parts := &driverParts{name: d.Name, endpoint: d.endpoint(s.sockets, index)}
	s.drivers = append(s.drivers, parts)
	if d.Serve != nil {
		parts.serving = newComponent("the driver "+d.Name, d.serving(parts.endpoint))
		if err := parts.serving.Start(ctx); err != nil {
			return err
		}
	}
	account, err := o.sidecarIdentity(d.Name)
	if err != nil {
		return err
	}
	config, err := admit(ctx, s.controlPlane, s.admin, account)
	if err != nil {
		return err
	}
	parts.sidecar = newComponent("the sidecar of "+d.Name, o.sidecarWork(config, d.Name, parts.endpoint))
	return parts.sidecar.Start(ctx)
}

// controllerIdentity returns the identity of the controller.
func (o Options) controllerIdentity() identity {
	return identity{
		account:      suffixed(deploy.ControllerRole, o.Name),
		clusterRoles: []string{deploy.ControllerRole},
		roles:        []string{deploy.ControllerLeaderRole},
		may: []authorizationv1.ResourceAttributes{
			{Group: cosiapi.GroupName, Resource: "bucketclaims", Verb: "list"},
			{Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: deploy.SystemNamespace, Name: controller.LeaseName},
		},
	}
}

// sidecarIdentity returns the identity of the driver's sidecar.
func (o Options) sidecarIdentity(driver string) (identity, error) {
	lease, err := deploy.DriverLease(driver)
	if err != nil {
		return identity{}, err
	}
	i := identity{
		account:      suffixed(deploy.SidecarRole+"-"+driver, o.Name),
		clusterRoles: []string{deploy.SidecarRole},
		roles:        []string{deploy.DriverLeaderRole(driver)},
		manifest:     lease,
		may: []authorizationv1.ResourceAttributes{
			{Group: cosiapi.GroupName, Resource: "buckets", Verb: "list"},
			{Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: deploy.SystemNamespace, Name: sidecar.LeaseName(driver)},
		},
	}
	if o.Sidecar.WatchSecrets {
		i.clusterRoles = append(i.clusterRoles, deploy.SidecarWatchSecretsRole)
		i.may = append(i.may, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "list"})
	}
	return i, nil
}

// Stop ends all components, and the control plane if the system started it. Later calls return the same
// result.
func (s *System) Stop() error {
	s.stop.Do(func() { s.stopErr = s.end() })
	return s.stopErr
}

func (s *System) end() error {
	var errs []error
	for _, d := range s.drivers {
		errs = append(errs, d.sidecar.Stop())
	}
	errs = append(errs, s.controller.Stop())
	for _, d := range s.drivers {
		errs = append(errs, d.serving.Stop())
	}
	if s.sockets != "" {
		errs = append(errs, os.RemoveAll(s.sockets))
	}
	if s.owned {
		errs = append(errs, s.controlPlane.Stop())
	}
	return errors.Join(errs...)
}

// ControlPlane returns the control plane.
func (s *System) ControlPlane() *controlplane.ControlPlane { return s.controlPlane }

// Client returns an uncached client with all permissions.
func (s *System) Client() client.Client { return s.admin }

// Controller returns the COSI Controller.
func (s *System) Controller() *Component { return s.controller }

// Sidecar returns the sidecar of the named driver, or nil.
func (s *System) Sidecar(driver string) *Component { return s.partsOf(driver).sidecar }

// Driver returns the named driver. It is nil if the driver does not exist or is external.
func (s *System) Driver(name string) *Component { return s.partsOf(name).serving }

// Endpoint returns the address of the named driver, or an empty string.
func (s *System) Endpoint(driver string) string { return s.partsOf(driver).endpoint }

func (s *System) partsOf(driver string) *driverParts {
	for _, d := range s.drivers {
		if d.name == driver {
			return d
		}
	}
	return &driverParts{}
}
