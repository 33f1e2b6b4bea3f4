// SPDX-License-Identifier: Apache-2.0

// Command cooper runs a complete COSI system on a laptop, without a cluster and without Docker. `cooper up`
// starts the system, claims a bucket and requests a credential for it. `cooper env` prints this credential as
// shell variables. `cooper down` stops the system. Other subcommands check a cluster, help to migrate it, and
// generate a driver.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/peercmd"
	"github.com/cooper-cosi/cooper/cmd/internal/apiserver"
	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/fakes/s3fake/s3fakecmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := runAs(ctx, peercmd.Request{Program: os.Args[0], Args: os.Args[1:], Lookup: os.LookupEnv, Container: os.Getpid() == 1}, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// A subcommand is a command of cooper.
type subcommand struct {
	name, short string
	// details are additional lines of the help text, each at most 100 characters long.
	details string
	// logs is set if the command has its own log for library messages. For other commands, warnings and
	// errors go to standard error.
	logs bool
	// prepare defines the flags and returns the function that runs the command.
	prepare func(*pflag.FlagSet) func(ctx context.Context, stdout, stderr io.Writer) error
}

func subcommands() []subcommand {
	return append([]subcommand{
		{name: "up", short: "run the whole system until Ctrl-C", details: executables, prepare: prepareUp, logs: true},
		{name: "env", short: "print shell variables for the API server and the granted credential, for eval", prepare: prepareEnv},
		{name: "down", short: "stop the system that up started", prepare: prepareDown},
		{name: "control-plane", short: "run only the Kubernetes API, for components in other processes", details: executables, prepare: prepareControlPlane},
		{name: "apply", short: "apply manifests to another system and print the granted credentials", prepare: prepareApply},
		{name: "check", short: "check whether Cooper's CRDs can be installed in a cluster, and report missing admission policies", prepare: prepareCheck},
		{name: "migrate", short: "print a plan to migrate buckets from COSI v1alpha1 to v1alpha2; changes nothing", prepare: prepareMigrate},
		{name: "migrate-storage", short: "rewrite all objects in the CRDs' storage version, and clear status.storedVersions", prepare: prepareMigrateStorage},
		{name: "new driver", short: "generate the skeleton of a driver with passing tests", prepare: prepareNewDriver},
		{name: "probe", short: "request a health address once, and exit 0 if it reports success", prepare: prepareProbe},
		{name: "fakes s3", short: "run only the fake S3 and IAM", prepare: s3fakecmd.Prepare},
	}, otherFakes()...)
}

// executables is the help text of commands that start a control plane.
const executables = `kube-apiserver, etcd, kubectl and kube-controller-manager come from the first of these that has them:
1. the directory that KUBEBUILDER_ASSETS names
2. the directory of cooper
3. the store of setup-envtest
4. an earlier build in the user's cache directory
5. a release of envtest, which is downloaded to that store; ENVTEST_INSTALLED_ONLY=true disables the download
6. a build from source with Go, which takes minutes
If 1 to 3 and 5 have no kubectl, that of the PATH is used.
If 1 and 2 have no kube-controller-manager, it is built, since envtest has none.

`

// runAs runs the program, which may have the name or the command line of a program that the fakes replace, and returns
// its exit code.
func runAs(ctx context.Context, r peercmd.Request, stdout, stderr io.Writer) int {
	translated, ok, err := peercmd.Translate(r)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return serve.ExitUsage
	}
	if !ok {
		return run(ctx, r.Args, stdout, stderr)
	}
	fmt.Fprintln(stderr, "# cooper "+strings.Join(translated.Args, " "))
	for _, note := range translated.Notes {
		fmt.Fprintln(stderr, "# "+note)
	}
	return run(ctx, translated.Args, stdout, stderr)
}

// run runs the program and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 1 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help") // "help up" is "up --help"
	}
	if len(args) == 0 || isHelp(args[0]) {
		fmt.Fprint(stdout, usage(subcommands()))
		return serve.ExitOK
	}
	if args[0] == "version" || args[0] == "--version" {
		fmt.Fprintln(stdout, "cooper", serve.Version())
		return serve.ExitOK
	}
	var group []subcommand
	for _, c := range subcommands() {
		words := strings.Fields(c.name)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return c.run(ctx, args[len(words):], stdout, stderr)
		}
		if words[0] == args[0] {
			group = append(group, c)
		}
	}
	return lost(args, group, stdout, stderr)
}

func isHelp(arg string) bool { return arg == "help" || arg == "--help" || arg == "-h" }

// lost handles arguments that match no command. group are the commands that begin with the same word.
func lost(args []string, group []subcommand, stdout, stderr io.Writer) int {
	switch {
	case len(group) == 0:
		fmt.Fprintf(stderr, "cooper: unknown command %q\n\n%s", args[0], usage(subcommands()))
	case len(args) > 1 && isHelp(args[1]):
		fmt.Fprint(stdout, usage(group))
		return serve.ExitOK
	case len(args) > 1:
		fmt.Fprintf(stderr, "cooper %s: unknown command %q\n\n%s", args[0], args[1], usage(group))
	default:
		fmt.Fprintf(stderr, "cooper %s: missing command\n\n%s", args[0], usage(group))
	}
	return serve.ExitUsage
}

func (c subcommand) run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := pflag.NewFlagSet("cooper "+c.name, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	do := c.prepare(flags)
	serve.DescribeFlags(flags)
	err := serve.ParseFlags(flags, args, os.LookupEnv)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(stdout, "cooper %s: %s\n\n%sEach flag can also be set by the environment variable in brackets.\n\n%s", c.name, c.short, c.details, flags.FlagUsages())
		return serve.ExitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "cooper %s: %v\n", c.name, err)
		return serve.ExitUsage
	}
	if !c.logs {
		apiserver.LogTo(slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	}
	if err := do(ctx, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "cooper %s: %v\n", c.name, err)
		return serve.ExitError
	}
	return serve.ExitOK
}

func usage(commands []subcommand) string {
	var text strings.Builder
	text.WriteString("cooper runs a COSI system on this machine.\n\nCommands:\n")
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, c := range commands {
		fmt.Fprintf(table, "  %s\t%s\n", c.name, c.short)
	}
	if len(commands) == len(subcommands()) {
		fmt.Fprint(table, "  version\tprint the version\n")
	}
	_ = table.Flush() // writing to a strings.Builder cannot fail
	text.WriteString("\ncooper help COMMAND lists the flags of a command.\n" + limits)
	return text.String()
}
