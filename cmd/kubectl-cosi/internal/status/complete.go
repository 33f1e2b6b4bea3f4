// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	"github.com/spf13/cobra"
)

// complete completes kinds, and then names of existing objects.
func (o *options) complete(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	kind, _, ok := strings.Cut(typed, "/")
	if !ok {
		return []string{"claim/", "access/", "bucket/"}, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	names, err := o.Names(c.Context(), kindOf(kind))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for i, name := range names {
		names[i] = kind + "/" + name
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
