// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// EnvPrefix is the prefix of all environment variables. COSI_ is reserved for the contract between sidecar
// and driver.
const EnvPrefix = "COOPER_"

// annotation marks a flag whose variable does not follow this scheme.
const annotation = "environment variable"

// NameVariable sets the environment variable of a flag to an established one such as KUBECONFIG.
func NameVariable(flag *pflag.Flag, variable string) {
	if flag.Annotations == nil {
		flag.Annotations = map[string][]string{}
	}
	flag.Annotations[annotation] = []string{variable}
}

// argument marks the flag that can be given as an argument.
const argument = "argument"

// AsArgument allows a flag to be given as a positional argument. The flag has no variable.
func AsArgument(flag *pflag.Flag) {
	flag.Annotations = map[string][]string{argument: nil}
}

// FlagVariable returns the environment variable of a flag. It is empty for flags that print something and
// exit. For example, COOPER_VERSION has another meaning when images and charts are built.
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

// ParseFlags parses the arguments and then, for each flag that was not given, its environment variable.
// lookup is os.LookupEnv except in tests. A positional argument is an error unless AsArgument was called for
// a flag that has no value yet.
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

// take sets the flag that accepts a positional argument, if there is one without a value.
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

// DescribeFlags adds the name of the environment variable to the help text of each flag.
func DescribeFlags(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if variable := FlagVariable(f); variable != "" {
			f.Usage += " [" + variable + "]"
		}
	})
}
