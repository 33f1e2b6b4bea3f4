// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// EnvPrefix begins the name of every environment variable. It is not COSI_, which
// the contract between sidecar and driver keeps for itself.
const EnvPrefix = "COOPER_"

// annotation marks a flag whose variable somebody else has named.
const annotation = "environment variable"

// NameVariable gives a flag a variable that is not of our making, such as KUBECONFIG.
func NameVariable(flag *pflag.Flag, variable string) {
	if flag.Annotations == nil {
		flag.Annotations = map[string][]string{}
	}
	flag.Annotations[annotation] = []string{variable}
}

// argument marks the flag whose name need not be given.
const argument = "argument"

// AsArgument lets a flag be given as an argument that is no flag, too. It has no variable.
func AsArgument(flag *pflag.Flag) {
	flag.Annotations = map[string][]string{argument: nil}
}

// FlagVariable is the name of the environment variable of a flag. It is empty for
// flags that ask a question and end the program, which an environment cannot
// mean: COOPER_VERSION names a version where images and charts are made.
func FlagVariable(flag *pflag.Flag) string {
	if _, isArgument := flag.Annotations[argument]; isArgument {
		return ""
	}
	if named := flag.Annotations[annotation]; len(named) > 0 {
		return named[0]
	}
	if flag.Name == "help" || flag.Name == "version" {
		return ""
	}
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
}

// ParseFlags reads the arguments into the flags and then, for each flag that was
// not given, its environment variable. lookup is os.LookupEnv outside of
// tests. An argument that is no flag is an error, unless AsArgument was called for a flag that is not given otherwise.
func ParseFlags(flags *pflag.FlagSet, args []string, lookup func(string) (string, bool)) error {
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
		variable := FlagVariable(f)
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

// DescribeFlags adds the environment variable of each flag to its help text.
func DescribeFlags(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if variable := FlagVariable(f); variable != "" {
			f.Usage += " [" + variable + "]"
		}
	})
}
