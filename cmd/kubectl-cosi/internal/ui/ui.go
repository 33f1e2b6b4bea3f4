// SPDX-License-Identifier: Apache-2.0

// Package ui implements the subcommand that serves the page of package tree for a cluster with the user's
// permissions.
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
		Short: "Serve a page on this machine that shows claims and what hangs on them",
		Long: "Serve a page that shows claims and what hangs on them, as they change, until Ctrl-C.\n\n" +
			"The page reads with your rights and changes nothing. It is served at an address of this machine alone, to who\n" +
			"has the token in the address that is printed. It shows the names of the keys of Secrets and no values.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "show all namespaces")
	c.Flags().StringVar(&o.address, "address", "127.0.0.1:0", "address of this machine to serve at; port 0 means a free one")
	c.Flags().StringVar(&o.system, "system-namespace", deploy.SystemNamespace, "namespace of the Leases of controller and sidecars")
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
	fmt.Fprintf(o.Out, "Open %s\nCtrl-C ends it.\n", served.URL(listener.Addr()))
	return served.Serve(ctx, listener)
}
