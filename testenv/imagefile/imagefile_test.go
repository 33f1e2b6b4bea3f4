// SPDX-License-Identifier: Apache-2.0

package imagefile

import "testing"

func TestFullName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ full, tag string }{
		"cooper:dev":                     {"docker.io/library/cooper:dev", "dev"},
		"cooper/cosi-sidecar:v0.1.0":     {"docker.io/cooper/cosi-sidecar:v0.1.0", "v0.1.0"},
		"localhost/cooper:dev":           {"localhost/cooper:dev", "dev"},
		"localhost:5000/cooper:dev":      {"localhost:5000/cooper:dev", "dev"},
		"registry.example.com/a/b/c:dev": {"registry.example.com/a/b/c:dev", "dev"},
		"cooper":                         {},
		"localhost:5000/cooper":          {},
		"cooper:":                        {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full, tag, err := fullName(name)
			if full != want.full || tag != want.tag || (err != nil) != (want.full == "") {
				t.Errorf("want %q and %q, got %q, %q, %v", want.full, want.tag, full, tag, err)
			}
		})
	}
}
