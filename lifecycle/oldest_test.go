// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"github.com/cooper-cosi/cooper/testenv/oldesttest"
)

// TestTheOldestKubernetes tries there what asks most of an API server: live lists by selectable fields, the policy that
// guards what COSI notes, and the deletion of everything.
func TestTheOldestKubernetes(t *testing.T) {
	t.Parallel()
	oldesttest.Again(t,
		"TestABucketIDIsReturnedTwice", "TestAnImportThatTheCacheLacksKeepsTheBucket", "TestAccessWhoseFinalizerIsRemoved",
		"TestPolicyGuardsWhatCOSINotes", "TestNamespaceIsDeleted", "TestClaimInUse", "TestImportedBucket",
		"TestTwoPhasesOfAnAccess",
	)
}
