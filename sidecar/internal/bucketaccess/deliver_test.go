// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"strings"
	"testing"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestGrantedMessage checks that users are told about a credential that a revocation does not end.
func TestGrantedMessage(t *testing.T) {
	t.Parallel()
	for shared, want := range map[bool]string{
		false: "its Secrets are written.",
		true:  "Its credential is shared with other users, and still works after this BucketAccess is deleted.",
	} {
		if got := grantedMessage(&cosi.DriverGrantBucketAccessResponse{Credentials: &cosi.CredentialInfo{}, SharedCredential: shared}); !strings.HasSuffix(got, want) {
			t.Errorf("shared %t: %q", shared, got)
		}
	}
}
