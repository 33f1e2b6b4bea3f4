// SPDX-License-Identifier: Apache-2.0

// Package ui implements the subcommand ui, which serves the page of package tree for a cluster. It uses the
// user's permissions.
package ui

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/env"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/sanity"
)

// options are the flags.
type options struct {
	*plugin.Plugin

	all             bool
	address, system string
	probers         sanity.ProberOptions
}

// New returns the subcommand.
func New(p *plugin.Plugin) *cobra.Command {
	o := &options{Plugin: p}
	c := &cobra.Command{
		Use:   "ui",
		Short: "Serve a page on this machine that shows claims and related objects",
		Long: "Serve a page that shows claims and related objects, with live updates, until Ctrl-C.\n\n" +
			"The page uses your permissions and changes nothing. It is served only at a loopback address, to clients with\n" +
			"the token in the printed address. It shows the names of the keys in Secrets, but no values.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "show all namespaces")
	c.Flags().StringVar(&o.address, "address", "127.0.0.1:0", "loopback address to listen on; port 0 means a free one")
	c.Flags().StringVar(&o.system, "system-namespace", deploy.SystemNamespace, "namespace of the Leases of the controller and the sidecars")
	env.GCSEndpoint(c, &o.probers.GCSEndpoint)
	return c
}

func (o *options) run(ctx context.Context) error {
	namespace, err := o.Namespace()
	if err != nil {
		return err
	}
	if o.all {
		namespace = metav1.NamespaceAll
	}
	c, err := o.Client()
	if err != nil {
		return err
	}
	listener, err := tree.Listen(ctx, o.address)
	if err != nil {
		return err
	}
	served := tree.NewPage(tree.PageOptions{Client: c, Namespace: namespace, System: o.system, Now: o.Now, Probers: sanity.Probers(o.probers)})
	fmt.Fprintf(o.Out, "Open %s\nPress Ctrl-C to stop.\n", served.URL(listener.Addr()))
	return served.Serve(ctx, listener)
}
