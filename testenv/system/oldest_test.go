// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/testenv/oldesttest"
)

// TestTheOldestKubernetes applies deploy/ to the oldest supported release and tests policies, quotas, roles
// and a whole system.
func TestTheOldestKubernetes(t *testing.T) {
	t.Parallel()
	oldesttest.Again(t,
		"TestDeploy", "TestAClaimAndAnAccessComeAndGo", "TestASidecarThatMayWatchSecretsRepairsThem",
		"TestAUserWithTheRoleEditServesThemselves", "TestTheControllerHasOnlyTheRightsOfItsRole", "TestCRDsAreNotDeletedByAccident",
	)
}
