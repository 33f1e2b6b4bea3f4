// SPDX-License-Identifier: Apache-2.0

// Package system runs a whole COSI system in this process: control plane, controller, drivers and their sidecars, each
// with exactly the rights that deploy/ gives it. Tests use it, and so does the laptop's cooper.
//
// It must not import testing, and must not know a particular driver: drivers are passed in.
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

// Options say what system to run. The zero value is a temporary control plane with a controller and no driver.
type Options struct {
	// ControlPlane is a control plane that runs already, with Cooper's CRDs; Stop leaves it running. Nil means that the
	// system starts one of its own as ControlPlaneOptions says.
	ControlPlane *controlplane.ControlPlane
	// ControlPlaneOptions says what control plane to start; CRDs are those of deploy/ if there are none.
	ControlPlaneOptions controlplane.Options
	// Namespaces limit the system to claims and accesses in them, and to the Buckets of those claims, so that several
	// systems can share a control plane; none means all.
	Namespaces []string
	// Name is added to the names of the users that controller and sidecars act as, and of their metrics and logs.
	// Systems that share a control plane have different ones.
	Name string
	// Drivers are the drivers, each with a sidecar. Their names differ.
	Drivers []Driver
	// HoldLeases lets controller and sidecars hold their Leases, as they do where they are deployed, so that one sees in
	// the API that they run. It is for systems that start their own control plane: whoever held a Lease before is gone,
	// and is not waited for.
	HoldLeases bool
	// Controller tunes the controller. The system sets Scope, Registerer and Name.
	Controller controller.Options
	// Sidecar tunes every sidecar. The system sets Driver, Scope, Registerer and Name.
	Sidecar sidecar.Options
	// Connect tunes how sidecars call their drivers. The system sets Address, Registerer and Logger.
	Connect sidecar.ConnectOptions
	// Logger gets the logs of controller and sidecars; nil means none.
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

// driverParts are what belongs to one driver.
type driverParts struct {
	name     string
	endpoint string
	serving  *Component // nil if the driver runs elsewhere
	sidecar  *Component // nil while the system starts
}

// Start starts everything and returns when every component works. After an error nothing is left running.
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
		return errors.New("HoldLeases is for a system that starts its own control plane")
	}
	var names []string
	for _, d := range o.Drivers {
		switch {
		case d.Name == "":
			return errors.New("a driver has no name")
		case slices.Contains(names, d.Name):
			return fmt.Errorf("two drivers have the name %s", d.Name)
		case (d.Serve == nil) == (d.Endpoint == ""):
			return fmt.Errorf("driver %s needs one of Serve and Endpoint", d.Name)
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
		return fmt.Errorf("directory for sockets: %w", err)
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

// adminOf returns a client that may do everything.
func adminOf(cp *controlplane.ControlPlane) (client.Client, error) {
	scheme, err := reconciler.NewScheme()
	if err != nil {
		return nil, err
	}
	admin, err := client.New(cp.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("client of the administrator: %w", err)
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

// addDriver starts the driver, unless it runs elsewhere, and its sidecar.
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

// controllerIdentity is whom the controller acts as.
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

// sidecarIdentity is whom the sidecar of the driver acts as.
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

// Stop ends every component and the control plane if the system started it. Later calls return what the first did.
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

// ControlPlane is the control plane.
func (s *System) ControlPlane() *controlplane.ControlPlane { return s.controlPlane }

// Client acts as an administrator who may do everything. It has no cache.
func (s *System) Client() client.Client { return s.admin }

// Controller is the COSI Controller.
func (s *System) Controller() *Component { return s.controller }

// Sidecar is the sidecar of the driver of that name; nil if there is none.
func (s *System) Sidecar(driver string) *Component { return s.partsOf(driver).sidecar }

// Driver is the driver of that name; nil if there is none or it runs elsewhere.
func (s *System) Driver(name string) *Component { return s.partsOf(name).serving }

// Endpoint is the address of the driver of that name, empty if there is none.
func (s *System) Endpoint(driver string) string { return s.partsOf(driver).endpoint }

func (s *System) partsOf(driver string) *driverParts {
	for _, d := range s.drivers {
		if d.name == driver {
			return d
		}
	}
	return &driverParts{}
}
