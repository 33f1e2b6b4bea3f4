// SPDX-License-Identifier: Apache-2.0

// Package plugin contains the code that all subcommands of kubectl cosi share: kubectl's flags, the client,
// the streams and the exit codes.
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

// A Plugin is the environment of a subcommand.
type Plugin struct {
	genericiooptions.IOStreams

	// Flags are kubectl's flags: --kubeconfig, --context, --namespace and so on. They are set when the
	// subcommand runs.
	Flags *genericclioptions.ConfigFlags
}

// New adds kubectl's flags to the root command.
func New(root *cobra.Command, streams genericiooptions.IOStreams) *Plugin {
	p := &Plugin{IOStreams: streams, Flags: genericclioptions.NewConfigFlags(true)}
	p.Flags.AddFlags(root.PersistentFlags())
	// kubectl's thirty flags would hide those of the subcommand.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}",
		"  The flags of kubectl, such as --namespace and --context; see "+root.CommandPath()+" --help", 1))
	return p
}

// Config returns the configuration for the API server that the user selected. Warnings of the server go to
// standard error, each once, as in kubectl.
func (p *Plugin) Config() (*rest.Config, error) {
	config, err := p.Flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("find the selected cluster: %w", err)
	}
	config.QPS = -1 // no client-side rate limit: with the default, a thousand Secrets take minutes
	config.WarningHandler = rest.NewWarningWriter(p.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	return config, nil
}

// Client returns an uncached client with the user's permissions.
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
		return nil, fmt.Errorf("cannot reach the API server: %w", err)
	}
	return c, nil
}

// Namespace returns the namespace that the user selected with --namespace or in the kubeconfig.
func (p *Plugin) Namespace() (string, error) {
	namespace, _, err := p.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("find the selected namespace: %w", err)
	}
	return namespace, nil
}

// An ExitError sets the exit code of the program. Other errors exit with 1.
type ExitError struct {
	Code int
	// Err is printed; nil prints nothing.
	Err error
}

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d: %v", e.Code, e.Err) }

// Unwrap returns the error to print.
func (e *ExitError) Unwrap() error { return e.Err }

// Usagef returns an error about the command line, with a format as for fmt.Errorf.
func Usagef(format string, args ...any) error {
	return &ExitError{Code: serve.ExitUsage, Err: fmt.Errorf(format, args...)}
}
