// SPDX-License-Identifier: Apache-2.0

package azurefakecmd

import (
	"strings"
	"testing"
)

func FuzzParseAccounts(f *testing.F) {
	for _, seed := range []string{"one", "one:a2V5MQ==", "one:a2V5MQ==:a2V5Mg==;two", ";", "a:b:c:d", " one ; two "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		accounts, err := parseAccounts([]string{text})
		if err != nil {
			return
		}
		for _, a := range accounts {
			if strings.ContainsAny(a.Name+a.Key+a.Key2, ":;") {
				t.Errorf("%q is parsed as %+v", text, a)
			}
		}
	})
}
