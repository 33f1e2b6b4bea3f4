// SPDX-License-Identifier: Apache-2.0

// Package plugin is what all subcommands of kubectl cosi have in common:
// kubectl's own flags, the client that they lead to, the streams, and the exit
// codes. It must not know what a subcommand does.
package plugin

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// A Plugin is what a subcommand gets.
type Plugin struct {
	genericiooptions.IOStreams

	// Flags are kubectl's: --kubeconfig, --context, --namespace and so on. They
	// have their values once the subcommand runs.
	Flags *genericclioptions.ConfigFlags
}

// New puts kubectl's flags on the root command.
func New(root *cobra.Command, streams genericiooptions.IOStreams) *Plugin {
	p := &Plugin{IOStreams: streams, Flags: genericclioptions.NewConfigFlags(true)}
	p.Flags.AddFlags(root.PersistentFlags())
	// Thirty flags of kubectl under each subcommand would hide its own.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}",
		"  Those of kubectl, such as --namespace and --context: "+root.CommandPath()+" --help lists them", 1))
	return p
}

// Config says how to reach the API server that the user chose. What the server
// warns of goes to standard error, each warning once, as kubectl has it.
func (p *Plugin) Config() (*rest.Config, error) {
	config, err := p.Flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("find out which cluster is meant: %w", err)
	}
	config.QPS = -1 // the API server has its own fairness; by client-go's, a thousand Secrets take minutes
	config.WarningHandler = rest.NewWarningWriter(p.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	return config, nil
}

// Client has the rights of the user, and no cache.
func (p *Plugin) Client() (client.WithWatch, error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	scheme, err := reconciler.NewScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return c, nil
}

// Namespace is the one that the user chose, by --namespace or in the kubeconfig.
func (p *Plugin) Namespace() (string, error) {
	namespace, _, err := p.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("find out which namespace is meant: %w", err)
	}
	return namespace, nil
}

// An ExitError ends the program with a code of its own. A subcommand without one
// ends it with 1.
type ExitError struct {
	Code int
	// Err is printed; nil means that all has been said.
	Err error
}

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d: %v", e.Code, e.Err) }

// Unwrap returns what is printed.
func (e *ExitError) Unwrap() error { return e.Err }

// Usagef is an error of what the user typed. The format is that of fmt.Errorf.
func Usagef(format string, args ...any) error {
	return &ExitError{Code: serve.ExitUsage, Err: fmt.Errorf(format, args...)}
}
