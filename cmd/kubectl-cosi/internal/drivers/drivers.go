// SPDX-License-Identifier: Apache-2.0

// Package drivers implements the subcommand drivers. It lists all drivers that classes or other objects refer
// to, and whether their sidecars run. The information comes from package tree.
package drivers

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/deploy"
)

// New returns the subcommand.
func New(p *plugin.Plugin) *cobra.Command {
	var system string
	c := &cobra.Command{
		Use:   "drivers",
		Short: "List the drivers of all classes, and whether their sidecars run",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), p, system) },
	}
	c.Flags().StringVar(&system, "system-namespace", deploy.SystemNamespace, "namespace of the Leases of the sidecars")
	return c
}

func run(ctx context.Context, p *plugin.Plugin, system string) error {
	namespace, err := p.Namespace()
	if err != nil {
		return err
	}
	c, err := p.Client()
	if err != nil {
		return err
	}
	now := p.Now(ctx)
	objects, err := tree.Read(ctx, c, tree.Query{Namespaces: []string{namespace}, System: system, Now: now})
	if err != nil {
		return err
	}
	all := tree.Drivers(objects)
	if len(all) == 0 {
		why := "No class names a driver."
		if objects.Unread["BucketClass"] != "" {
			why = "You are not allowed to read classes, which name the drivers."
		}
		fmt.Fprintln(p.ErrOut, why)
		return nil
	}
	table := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DRIVER\tSIDECAR\tHOLDER\tRENEWED\tCLASSES")
	for _, d := range all {
		renewed := "-"
		if !d.Hold.Renewed.IsZero() {
			renewed = duration.HumanDuration(max(0, now.Sub(d.Hold.Renewed))) + " ago"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", tree.Plain(d.Node.Name), d.Node.Status,
			tree.Plain(cmp.Or(d.Hold.By, "-")), renewed, cmp.Or(strings.Join(d.Classes, ","), "-"))
	}
	return table.Flush() //nolint:wrapcheck // an error of standard output
}
