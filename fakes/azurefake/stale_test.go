// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/fault"
)

// TestStaleReads makes an identity and reads it until it is seen, at the third call with a lag of two.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{Past: true})
	identities := s.caller(t, "Owner").identities(t)
	wantNoError(t, s.Faults.Add(fault.Rule{Operation: "UserAssignedIdentities.Get", Effect: fault.Stale, Lag: 2}))
	if _, err := identities.CreateOrUpdate(t.Context(), s.ResourceGroup(), "one", anIdentity(), nil); err != nil {
		t.Fatal(err)
	}
	for read := 1; read <= 3; read++ {
		_, err := identities.Get(t.Context(), s.ResourceGroup(), "one", nil)
		if seen := err == nil; seen != (read == 3) {
			t.Errorf("read %d: %v", read, err)
		}
	}
}
