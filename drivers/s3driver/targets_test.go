// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import "testing"

// onEveryTarget runs a test of what does not depend on the store.
func onEveryTarget(t *testing.T, run func(t *testing.T, on target)) {
	t.Helper()
	targets := map[string]func(*testing.T) target{
		"our fake":           ourFake,
		"versitygw with IAM": versityIAM,
		"versitygw":          versityAdmin,
		"MinIO":              realMinIO,
	}
	for name, start := range targets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, start(t))
		})
	}
}

// TestBehaviour is what the driver does on every store. All of it shares one store of each kind, as the workloads of
// one do, since to start a real one takes longer than most of what is tried there: nothing here may count what the
// store holds, or break it.
func TestBehaviour(t *testing.T) {
	t.Parallel()
	behaviours := map[string]func(t *testing.T, on target){
		"every API responds": testEveryStoreResponds,
		"a whole life":       testWholeLife,

		"modes, by trying":              testModesByTrying,
		"parameters of buckets":         testParametersAtTheStore,
		"repeated calls, and a restart": testRepeatedCallsReturnTheSame,
		"a bucket of other parameters":  testBucketOfOtherParameters,
		"an account of other buckets":   testAccountOfOtherBucketsOrModes,
		"a static bucket that must fit": testStaticBucketMustFitItsParameters,
		"a foreign bucket":              testForeignBucketIsLeftAlone,
		"a grant on a missing bucket":   testGrantOnMissingBucketLeavesNoAccount,
		"a revoke on a missing bucket":  testRevokeAfterTheBucketIsGone,
		"removal by hand":               testBucketAndUserRemovedByHand,
		"rotation":                      testRotationKeepsExactlyThePreviousKey,
		"deletion of what is not empty": testDeleteNonEmptyRemovesVersionsMarkersAndUploads,
		"grants at once on one bucket":  testParallelGrantsOnOneBucket,
		"grants at once of one account": testParallelGrantsOfOneAccount,
		"a lost credential store":       testLostCredentialStoreDeletesNoLiveKey,
		"a store that is down":          testStoreThatIsDown,
		"a wrong login":                 testWrongLogin,
	}
	onEveryTarget(t, func(t *testing.T, on target) {
		for name, test := range behaviours {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, on)
			})
		}
	})
}
