// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/internal/apiserver"
	"github.com/cooper-cosi/cooper/cmd/internal/serve"
)

// CommandName is the first argument that selects this subcommand.
const CommandName = "check-uninstall"

// Note returns a note for the program's help text.
func Note(program string) string {
	return fmt.Sprintf("\n`%s %s` lists the objects that an uninstallation would orphan; see its --help.\n", program, CommandName)
}

// Command returns this subcommand for a program, which checks either one driver or all of COSI.
func Command(program string, ofDriver bool) serve.Command {
	o := Options{}
	api := apiserver.Access{}
	return serve.Command{
		Name:  program + " " + CommandName,
		Short: "lists claims, accesses and Buckets that an uninstallation would orphan, and fails if there are any",
		Flags: func(f *pflag.FlagSet) {
			api.Flags(f)
			f.StringSliceVar(&o.Namespaces, "namespaces", nil, "namespaces to search for claims and accesses; empty means all")
			if ofDriver {
				f.StringVar(&o.Driver, "driver-name", "", "name of the driver to uninstall; required")
			}
		},
		Run: func(ctx context.Context, log *slog.Logger) error {
			if ofDriver && o.Driver == "" {
				return serve.Usagef("--driver-name is not set: pass the name of the driver to uninstall, such as s3.cooper.dev")
			}
			apiserver.LogTo(log)
			config, err := api.Config()
			if err != nil {
				return err
			}
			return Check(ctx, config, o)
		},
	}
}
