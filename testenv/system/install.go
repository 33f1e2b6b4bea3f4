// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// Accounts are the client configurations of components that run in other processes or containers. Each has
// exactly the permissions that deploy/ grants it.
type Accounts struct {
	Controller *rest.Config
	// Sidecars are the configurations of the sidecars by driver name.
	Sidecars map[string]*rest.Config
}

// Install prepares a control plane with Cooper's CRDs for components that run elsewhere. It applies the
// system namespace and the roles of deploy/, and binds the roles to the accounts of the controller and the
// drivers' sidecars. It returns once the bindings are in effect. It is idempotent.
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
