// SPDX-License-Identifier: Apache-2.0

// Package probe implements the subcommand test, which tests the granted credential of an access with the
// prober of the conformance suite. It creates its own test object in the bucket and writes no other objects.
package probe

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/env"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/grants"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/sanity"
)

// New returns the subcommand.
func New(p *plugin.Plugin) *cobra.Command {
	var claim string
	var timeout time.Duration
	o := sanity.ProberOptions{}
	command := &cobra.Command{
		Use:   "test access/NAME",
		Short: "Put, get, list and delete an object with the credential of a BucketAccess",
		Long: `Put, get, list and delete an object with the credential of a BucketAccess, and check that the store allows what the access
modes allow and denies the rest. The command uses a new object, cosi-test-..., and sends the requests from this machine.`,
		Example: `  # All buckets of the access
  kubectl cosi test access/sample`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: grants.Complete(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, access, err := grants.Find(cmd.Context(), p, args[0])
			if err != nil {
				return err
			}
			if access.Status.AuthenticationType == cosiapi.AuthenticationTypeServiceAccount {
				return fmt.Errorf("BucketAccess %q authenticates by ServiceAccount %q: it can only be tested in a Pod of that service account",
					access.Name, access.Spec.ServiceAccountName)
			}
			granted, err := grants.Read(cmd.Context(), c, access, claim)
			if err != nil {
				return err
			}
			t := trial{probers: sanity.Probers(o), timeout: timeout, out: tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)}
			return t.all(cmd.Context(), granted)
		},
	}
	command.Flags().StringVar(&claim, "claim", "", "test only the bucket of this BucketClaim")
	command.Flags().DurationVar(&timeout, "timeout", 20*time.Second, "timeout of a request to the store")
	env.GCSEndpoint(command, &o.GCSEndpoint)
	return command
}
