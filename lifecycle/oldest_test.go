// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"github.com/cooper-cosi/cooper/testenv/oldesttest"
)

// TestTheOldestKubernetes runs the tests that depend most on the API server with the oldest supported
// release: live lists by selectable fields, the admission policy, and the deletion of everything.
func TestTheOldestKubernetes(t *testing.T) {
	t.Parallel()
	oldesttest.Again(t,
		"TestABucketIDIsReturnedTwice", "TestAnImportThatTheCacheLacksKeepsTheBucket", "TestAccessWhoseFinalizerIsRemoved",
		"TestPolicyProtectsFinalizersAndAnnotations", "TestNamespaceIsDeleted", "TestClaimInUse", "TestImportedBucket",
		"TestTwoPhasesOfAnAccess",
	)
}
