// SPDX-License-Identifier: Apache-2.0

// Command kubectl-cosi is a kubectl plugin for object storage. If the command is in the PATH, `kubectl cosi`
// runs it. Its subcommands show the state and problems of claims and accesses, and print, test and rotate
// granted credentials. The plugin uses the permissions of the user who runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/cooper-cosi/cooper/cmd/internal/apiserver"
	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/adopt"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/doctor"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/drivers"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/env"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/explain"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/probe"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/rotate"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/status"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/ui"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	apiserver.LogTo(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	code := run(ctx, os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	stop()
	os.Exit(code)
}

// subcommands returns the constructors of the subcommands; the help sorts them.
func subcommands() []func(*plugin.Plugin) *cobra.Command {
	return []func(*plugin.Plugin) *cobra.Command{
		status.New,
		env.New,
		probe.New,
		rotate.New,
		adopt.New,
		drivers.New,
		doctor.New,
		explain.New,
		ui.New,
		version.New,
	}
}

// run runs the program and returns its exit code.
func run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	root := command(streams)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return serve.ExitOK
	}
	exit, coded := errors.AsType[*plugin.ExitError](err)
	if !coded {
		exit = &plugin.ExitError{Code: serve.ExitError, Err: err}
	}
	if exit.Err != nil {
		for line := range strings.SplitSeq(exit.Err.Error(), "\n") { // names and messages may contain anything
			fmt.Fprintln(streams.ErrOut, "error:", tree.Plain(line))
		}
	}
	return exit.Code
}

func command(streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:               "kubectl-cosi",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl cosi"},
		Short:             "Show the state and the problems of BucketClaims and BucketAccesses",
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
	}
	root.Version = serve.Version()
	root.SetVersionTemplate("kubectl-cosi {{.Version}}\n")            // same format as the subcommand
	root.Flags().Bool("version", false, "print the version and exit") // cobra's own flag would also define -v
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return plugin.Usagef("%w: see %s --help", err, c.CommandPath())
	})
	p := plugin.New(root, streams)
	for _, subcommand := range subcommands() {
		root.AddCommand(subcommand(p))
	}
	return root
}
