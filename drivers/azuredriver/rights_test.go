// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// TestServiceAccountsNeedTheRolesOfTheDocumentation takes each of the driver's roles away.
func TestServiceAccountsNeedTheRolesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	for _, lacking := range rolesOfDriver {
		t.Run(lacking, func(t *testing.T) {
			t.Parallel()
			f := startFederation(t, azurefake.Options{}, "https://issuer.example.com")
			w := f.process(t)
			bucket := w.NewBucket(t, nil)
			for _, one := range f.server.Inventory().Assignments {
				if (one.Role == "e40ec5ca-96e0-45a2-b4ff-59039f2c2b59") == (lacking == rolesOfDriver[0]) {
					wantNoError(t, f.server.Unassign(one.ID))
				}
			}
			_, err := w.DriverGrantBucketAccess(t.Context(), as(grantRequest(drivertest.NewAccount(), readWrite, bucket), "team", "app"))
			drivertest.WantCode(t, err, codes.PermissionDenied, "AuthorizationFailed")
		})
	}
}
