// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// Accounts are how the components of a system reach its API server when they run elsewhere: in other processes, or in
// containers. Each acts with exactly the rights that deploy/ gives it.
type Accounts struct {
	Controller *rest.Config
	// Sidecars are those of the drivers, by the name of the driver.
	Sidecars map[string]*rest.Config
}

// Install makes a control plane that has Cooper's CRDs ready for components that run elsewhere: it applies the system
// namespace and the roles of deploy/ and binds them to the accounts of the controller and of the drivers' sidecars. It
// returns when the API server knows their rights. To install again is no error.
func Install(ctx context.Context, cp *controlplane.ControlPlane, drivers ...string) (Accounts, error) {
	admin, err := adminOf(cp)
	if err != nil {
		return Accounts{}, err
	}
	if err := applyRoles(ctx, admin); err != nil {
		return Accounts{}, err
	}
	o := Options{}
	accounts := Accounts{Sidecars: make(map[string]*rest.Config, len(drivers))}
	if accounts.Controller, err = admit(ctx, cp, admin, o.controllerIdentity()); err != nil {
		return Accounts{}, err
	}
	for _, driver := range drivers {
		account, err := o.sidecarIdentity(driver)
		if err != nil {
			return Accounts{}, err
		}
		if accounts.Sidecars[driver], err = admit(ctx, cp, admin, account); err != nil {
			return Accounts{}, err
		}
	}
	return accounts, nil
}
