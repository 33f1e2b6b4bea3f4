// SPDX-License-Identifier: Apache-2.0

// Package explain implements the subcommand explain, which explains error messages, and the reasons of
// conditions and Events. The texts come from package reasons. The subcommand does not contact a cluster.
package explain

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/internal/reasons"
)

// New returns the subcommand.
func New(p *plugin.Plugin) *cobra.Command {
	return &cobra.Command{
		Use:               "explain REASON ...",
		Short:             "Explain a reason of a condition or Event, a driver's error code, or an error message",
		Example:           "  # A reason in the output of status\n  kubectl cosi explain SecretTaken\n  # An error of kubectl apply\n  kubectl cosi explain 'the spec of a BucketClaim is immutable'",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			for i, arg := range args {
				texts := reasons.Find(arg)
				if len(texts) == 0 {
					return plugin.Usagef("%q is not a reason of COSI; see docs/reference/reasons.md", tree.Plain(arg))
				}
				for j, text := range texts {
					if i+j > 0 {
						fmt.Fprintln(p.Out)
					}
					show(p, text)
				}
			}
			return nil
		},
	}
}

func show(p *plugin.Plugin, text reasons.Text) {
	terminal := p.Terminal()
	fmt.Fprintf(p.Out, "%s (%s)\n", text.Reason, text.Kind)
	for _, part := range []struct{ title, words string }{
		{"What happened", text.Happened}, {"Why", text.Why}, {"What to do", text.Do},
	} {
		if part.words != "" {
			fmt.Fprint(p.Out, terminal.Indented("  ", part.title+": "+part.words))
		}
	}
}

func names() []string {
	var all []string
	for _, text := range reasons.All() {
		all = append(all, text.Reason)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
