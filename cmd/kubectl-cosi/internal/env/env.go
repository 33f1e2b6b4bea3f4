// SPDX-License-Identifier: Apache-2.0

// Package env implements the subcommand env, which prints the granted credential of an access for a shell or
// a storage tool. The output formats are in package formats.
package env

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/grants"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/internal/secretkeys/formats"
)

const examples = `  # Variables for this shell, as in a Pod
  eval "$(kubectl cosi env access/sample)"

  # The same without secret values
  kubectl cosi env access/sample

  # A configuration for rclone, with a remote for each bucket of the access
  kubectl cosi env access/sample -o rclone > rclone.conf

  # An alias for mc, for one of the buckets
  kubectl cosi env access/sample --claim photos -o mc | mc alias import photos`

// New returns the subcommand.
func New(p *plugin.Plugin) *cobra.Command {
	var format, claim string
	var reveal bool
	o := formats.Options{}
	command := &cobra.Command{
		Use:   "env access/NAME",
		Short: "Print the credential of a BucketAccess for a shell or a storage tool",
		Long: `Print the credential of a BucketAccess for a shell or a storage tool.

It prints secret values only if standard output is not a terminal, or with --reveal. It rejects values that the format cannot
represent unchanged.`,
		Example:           examples,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: grants.Complete(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, access, err := grants.Find(cmd.Context(), p, args[0])
			if err != nil {
				return err
			}
			found, err := grants.Read(cmd.Context(), c, access, claim)
			if err != nil {
				return err
			}
			var granted []formats.Grant
			for _, grant := range found {
				granted = append(granted, formats.Grant{Claim: grant.Claim, Secret: grant.Secret, Data: grant.Data})
			}
			o.Redact = printers.IsTerminal(p.Out) && !reveal
			if err := formats.Write(p.Out, format, granted, o); err != nil {
				return err
			}
			if o.Redact {
				fmt.Fprintln(p.ErrOut, "Secret values are [redacted] on a terminal; use --reveal, eval or a file to get them.")
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVarP(&format, "output", "o", "shell", "output format, one of "+strings.Join(formats.Names(), ", "))
	flags.StringVar(&claim, "claim", "", "BucketClaim, if the access has several and the format supports only one bucket")
	flags.BoolVar(&reveal, "reveal", false, "print secret values on a terminal, too")
	GCSEndpoint(command, &o.GCSEndpoint)
	return command
}

// GCSEndpoint defines the flag for the endpoint of Google Cloud Storage.
func GCSEndpoint(command *cobra.Command, value *string) {
	command.Flags().StringVar(value, "gcs-endpoint", "", "URL of Google Cloud Storage, which access Secrets do not contain; empty means Google's own")
}
