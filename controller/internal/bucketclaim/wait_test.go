// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// A class may name a driver that nobody installed. No component is there to say
// so, and the claim must not just wait. A sidecar that is there, and adds its
// finalizer and the ID, costs the claim no write.
func TestApplyBucketWhileTheSidecarIsAtWork(t *testing.T) {
	t.Parallel()
	bucket := &cosiapi.Bucket{}
	bucket.Name, bucket.Spec.DriverName = "bc-1", "nobody.example.com"
	claim := &cosiapi.BucketClaim{}
	applyBucket(claim, bucket)
	message := conditionOf(claim.Status.Conditions, cosiapi.ConditionProvisioned).Message
	if !strings.Contains(message, `driver "nobody.example.com"`) || !strings.Contains(message, "installed") {
		t.Errorf("the claim does not say whom it waits for: %s", message)
	}
	before := claim.Status.DeepCopy()
	cosiapi.AddProtection(bucket)
	bucket.Status.BucketID = "bc-1"
	applyBucket(claim, bucket)
	if diff := cmp.Diff(*before, claim.Status); diff != "" {
		t.Errorf("status of the claim (-before +after):\n%s", diff)
	}
}
