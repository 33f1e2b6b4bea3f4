// SPDX-License-Identifier: Apache-2.0

package up //nolint:testpackage // parallel tests must not change the PATH of the process

import "testing"

func TestWithDirectory(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ path, want string }{
		"a shell that never asked":   {"/usr/bin:/bin", "/data/bin:/usr/bin:/bin"},
		"a shell that asked already": {"/data/bin:/usr/bin:/bin", "/data/bin:/usr/bin:/bin"},
		"a shell that asked often":   {"/data/bin:/data/bin:/usr/bin:/data/bin", "/data/bin:/usr/bin"},
		"no PATH":                    {"", "/data/bin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := withDirectory(tc.path, "/data/bin"); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
