// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"testing"
)

// Secrets are kept in memory as long as their account lives, and of each account a few.
func TestSecretValuesAreForgotten(t *testing.T) {
	t.Parallel()
	v := &secretValues{}
	for account := range 3 {
		for rotation := range 100 {
			v.learn(fmt.Sprint(account), []string{fmt.Sprintf("secret-%d-of-%d", rotation, account)})
		}
	}
	for account := range 3 {
		if n := len(v.known[fmt.Sprint(account)]); n != keptSecrets {
			t.Errorf("account %d: want %d secrets, got %d", account, keptSecrets, n)
		}
		v.forget(fmt.Sprint(account))
	}
	if len(v.known) != 0 {
		t.Errorf("accounts that are revoked are remembered: %v", v.known)
	}
}
