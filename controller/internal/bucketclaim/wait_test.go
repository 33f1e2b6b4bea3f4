// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"strings"
	"testing"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// A class may name a driver that nobody installed. No component is there to say
// so, and the claim must not just wait.
func TestWaitMessage_names_the_driver_until_its_sidecar_was_there(t *testing.T) {
	t.Parallel()
	bucket := &cosiapi.Bucket{}
	bucket.Name, bucket.Spec.DriverName = "bc-1", "nobody.example.com"
	if got := waitMessage(bucket); !strings.Contains(got, `driver "nobody.example.com"`) || !strings.Contains(got, "use another class") {
		t.Errorf("untouched Bucket: %s", got)
	}
	cosiapi.AddProtection(bucket)
	if got := waitMessage(bucket); strings.Contains(got, "no such driver") {
		t.Errorf("Bucket that a sidecar serves: %s", got)
	}
}
