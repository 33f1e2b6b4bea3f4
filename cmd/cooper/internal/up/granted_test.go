// SPDX-License-Identifier: Apache-2.0

package up //nolint:testpackage // parallel tests must not change the environment of the process

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before string
		now    granted
		gone   []string
		after  string
		unset  []string
	}{
		"a shell that never asked": {
			now: grantedBy("a", "KEY", "URL"), after: "team/a:KEY,URL",
		},
		"the same again": {
			before: "team/a:KEY,URL", now: grantedBy("a", "KEY", "URL"), after: "team/a:KEY,URL",
		},
		"the Secret lost a key": {
			before: "team/a:KEY,URL", now: grantedBy("a", "KEY"), after: "team/a:KEY", unset: []string{"URL"},
		},
		"the Secret was deleted": {
			before: "team/a:KEY,URL", now: grantedBy("a"), unset: []string{"KEY", "URL"},
		},
		"a second Secret": {
			before: "team/a:KEY,URL", now: grantedBy("b", "TOKEN"), after: "team/a:KEY,URL team/b:TOKEN",
		},
		"another Secret with a key of the same name": {
			before: "team/a:KEY,URL", now: grantedBy("b", "KEY"), after: "team/a:URL team/b:KEY",
		},
		"the Secret of a replaced variable was deleted": {
			before: "team/a:URL team/b:KEY", now: grantedBy("b", "KEY"), gone: []string{"a"}, after: "team/b:KEY", unset: []string{"URL"},
		},
		"a malformed variable": {
			before: "nonsense team/a: x:y", now: grantedBy("a", "KEY"), after: "team/a:KEY",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, unset, err := replace(parseGranted(tc.before), tc.now, func(key types.NamespacedName) (bool, error) {
				return !slices.Contains(tc.gone, key.Name), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := printGranted(after); got != tc.after || !cmp.Equal(tc.unset, unset) {
				t.Errorf("want %q and unset %q, got %q and %q", tc.after, tc.unset, got, unset)
			}
		})
	}
}

func grantedBy(secret string, names ...string) granted {
	return granted{types.NamespacedName{Namespace: "team", Name: secret}, names}
}
