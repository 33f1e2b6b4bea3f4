// SPDX-License-Identifier: Apache-2.0

// Package flagenv lets every flag of a command be given by the environment as
// well: --driver-endpoint by COOPER_DRIVER_ENDPOINT. A flag on the command line
// wins. It must not define flags of its own.
package flagenv

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Prefix begins the name of every environment variable. It is not COSI_, which
// the contract between sidecar and driver keeps for itself.
const Prefix = "COOPER_"

// Variable is the name of the environment variable of a flag.
func Variable(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Parse reads the arguments into the flags and then, for each flag that was
// not given, its environment variable. lookup is os.LookupEnv outside of
// tests. An argument that is no flag is an error.
func Parse(flags *pflag.FlagSet, args []string, lookup func(string) (string, bool)) error {
	if err := flags.Parse(args); err != nil {
		return err // pflag names the flag, and callers look for pflag.ErrHelp
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		value, ok := lookup(Variable(f.Name))
		if f.Changed || !ok {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", Variable(f.Name), err))
		}
	})
	return errors.Join(errs...)
}

// Describe adds the environment variable of each flag to its help text.
func Describe(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { f.Usage += " [" + Variable(f.Name) + "]" })
}
