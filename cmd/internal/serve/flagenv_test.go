// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/internal/serve"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args     []string
		env      map[string]string
		variable string
		want     time.Duration
		err      string
	}{
		"the default stands when nothing is given":        {want: time.Minute},
		"the environment replaces the default":            {env: map[string]string{"COOPER_RPC_TIMEOUT": "5s"}, want: 5 * time.Second},
		"the command line wins over the environment":      {args: []string{"--rpc-timeout=7s"}, env: map[string]string{"COOPER_RPC_TIMEOUT": "5s"}, want: 7 * time.Second},
		"a bad value in the environment names it":         {env: map[string]string{"COOPER_RPC_TIMEOUT": "soon"}, err: "environment variable COOPER_RPC_TIMEOUT: invalid argument \"soon\""},
		"a variable of another name replaces the default": {env: map[string]string{"RPC_TIMEOUT": "9s"}, variable: "RPC_TIMEOUT", want: 9 * time.Second},
		"a flag with another variable has no second one":  {env: map[string]string{"COOPER_RPC_TIMEOUT": "9s"}, variable: "RPC_TIMEOUT", want: time.Minute},
		"COOPER_VERSION is no question for the version":   {env: map[string]string{"COOPER_VERSION": "1.2.3", "COOPER_HELP": "1"}, want: time.Minute},
		"an argument that is no flag is refused":          {args: []string{"start"}, err: `unexpected argument "start"; see --help`},
		"a flag that does not exist is refused by name":   {args: []string{"--tiemout=1s"}, err: "unknown flag: --tiemout; see --help"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			got := flags.Duration("rpc-timeout", time.Minute, "deadline of an RPC")
			version := flags.Bool("version", false, "print the version and exit")
			if tc.variable != "" {
				serve.NameVariable(flags.Lookup("rpc-timeout"), tc.variable)
			}
			err := serve.ParseFlags(flags, tc.args, func(k string) (string, bool) { v, ok := tc.env[k]; return v, ok })
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error: want %q, got %v", tc.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if *got != tc.want {
				t.Errorf("want %v, got %v", tc.want, *got)
			}
			if *version {
				t.Error("the environment asked for the version")
			}
		})
	}
}

func TestArgument(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
		err  string
	}{
		"it can stand alone":                 {args: []string{"acme"}, want: "acme"},
		"it can stand behind other flags":    {args: []string{"--dir", "x", "acme"}, want: "acme"},
		"it can be given as a flag":          {args: []string{"--name=acme"}, want: "acme"},
		"it cannot be given twice":           {args: []string{"acme", "other"}, err: `unexpected argument "other"`},
		"it cannot be given in both ways":    {args: []string{"--name=acme", "other"}, err: `unexpected argument "other"`},
		"it has no variable":                 {want: ""},
		"behind -- it can begin with a dash": {args: []string{"--", "-x"}, want: "-x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			got := flags.String("name", "", "a name")
			flags.String("dir", "", "a directory")
			serve.AsArgument(flags.Lookup("name"))
			err := serve.ParseFlags(flags, tc.args, func(variable string) (string, bool) { return "x", variable == "COOPER_NAME" })
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error: want %q, got %v", tc.err, err)
				}
				return
			}
			if err != nil || *got != tc.want {
				t.Errorf("want %q, got %q and %v", tc.want, *got, err)
			}
		})
	}
}

func TestDescribeNamesTheVariable(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.Duration("rpc-timeout", time.Minute, "deadline of an RPC")
	flags.String("kubeconfig", "", "a file")
	flags.Bool("version", false, "print the version")
	serve.NameVariable(flags.Lookup("kubeconfig"), "KUBECONFIG")
	serve.DescribeFlags(flags)
	for _, want := range []string{"deadline of an RPC [COOPER_RPC_TIMEOUT]", "a file [KUBECONFIG]", "print the version\n"} {
		if usage := flags.FlagUsages(); !strings.Contains(usage, want) {
			t.Errorf("usage lacks %q:\n%s", want, usage)
		}
	}
}
