// SPDX-License-Identifier: Apache-2.0

// Package flagenv lets every flag of a command be given by the environment as
// well: --driver-address by COOPER_DRIVER_ADDRESS. A flag on the command line
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

// annotation marks a flag whose variable somebody else has named.
const annotation = "environment variable"

// Name gives a flag a variable that is not of our making, such as KUBECONFIG.
func Name(flag *pflag.Flag, variable string) {
	if flag.Annotations == nil {
		flag.Annotations = map[string][]string{}
	}
	flag.Annotations[annotation] = []string{variable}
}

// argument marks the flag whose name need not be given.
const argument = "argument"

// Argument lets a flag be given as an argument that is no flag, too. It has no variable.
func Argument(flag *pflag.Flag) {
	flag.Annotations = map[string][]string{argument: nil}
}

// Variable is the name of the environment variable of a flag. It is empty for
// flags that ask a question and end the program, which an environment cannot
// mean: COOPER_VERSION names a version where images and charts are made.
func Variable(flag *pflag.Flag) string {
	if _, isArgument := flag.Annotations[argument]; isArgument {
		return ""
	}
	if named := flag.Annotations[annotation]; len(named) > 0 {
		return named[0]
	}
	if flag.Name == "help" || flag.Name == "version" {
		return ""
	}
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
}

// Parse reads the arguments into the flags and then, for each flag that was
// not given, its environment variable. lookup is os.LookupEnv outside of
// tests. An argument that is no flag is an error, unless Argument was called for a flag that is not given otherwise.
func Parse(flags *pflag.FlagSet, args []string, lookup func(string) (string, bool)) error {
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return pflag.ErrHelp
	}
	if err != nil {
		return fmt.Errorf("%w; see --help", err) // pflag names the flag
	}
	for _, arg := range flags.Args() {
		if err := take(flags, arg); err != nil {
			return err
		}
	}
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		variable := Variable(f)
		if f.Changed || variable == "" {
			return
		}
		value, ok := lookup(variable)
		if !ok {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w; see --help", variable, err))
		}
	})
	return errors.Join(errs...)
}

// take sets the flag that is an argument, if there is one and it has no value yet.
func take(flags *pflag.FlagSet, value string) error {
	name := ""
	flags.VisitAll(func(f *pflag.Flag) {
		if _, isArgument := f.Annotations[argument]; isArgument && !f.Changed {
			name = f.Name
		}
	})
	if name == "" {
		return fmt.Errorf("unexpected argument %q; see --help", value)
	}
	return flags.Set(name, value)
}

// Describe adds the environment variable of each flag to its help text.
func Describe(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if variable := Variable(f); variable != "" {
			f.Usage += " [" + variable + "]"
		}
	})
}
