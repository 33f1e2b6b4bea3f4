// SPDX-License-Identifier: Apache-2.0

// Package version implements the subcommand version, which prints the version of the plugin. It does not
// contact a cluster.
package version

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
)

// New returns the subcommand.
func New(p *plugin.Plugin) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this plugin",
		Args:  cobra.NoArgs,
		Run:   func(*cobra.Command, []string) { fmt.Fprintln(p.Out, "kubectl-cosi", serve.Version()) },
	}
}
