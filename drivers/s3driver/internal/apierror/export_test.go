// SPDX-License-Identifier: Apache-2.0

package apierror

import (
	"maps"
	"slices"
)

// Codes returns the codes of the table.
func Codes() []string { return slices.Sorted(maps.Keys(byCode)) }
