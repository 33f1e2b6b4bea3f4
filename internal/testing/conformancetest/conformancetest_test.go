// SPDX-License-Identifier: Apache-2.0

package conformancetest

import "testing"

// TestPage checks the parts that no driver's test checks: the list of cases, and that every target was tested.
func TestPage(t *testing.T) {
	t.Parallel()
	compare(t, func(sections map[string]string) {
		for target, text := range sections {
			if text == "" {
				t.Errorf("%s does not contain %s: add a test that passes this target to Test", page, target)
			}
		}
	})
}
