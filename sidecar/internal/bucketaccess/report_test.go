// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"strings"
	"testing"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestGrantedText tells users of a credential that no revocation ends.
func TestGrantedText(t *testing.T) {
	t.Parallel()
	for shared, want := range map[bool]string{
		false: "its Secrets are written.",
		true:  "Its credential is shared: others have it, too, and it works on when this BucketAccess is deleted.",
	} {
		if got := grantedText(&cosi.DriverGrantBucketAccessResponse{Credentials: &cosi.CredentialInfo{}, SharedCredential: shared}); !strings.HasSuffix(got, want) {
			t.Errorf("shared %t: %q", shared, got)
		}
	}
}
