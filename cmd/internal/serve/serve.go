// SPDX-License-Identifier: Apache-2.0

// Package serve holds what the commands that run in a cluster share: the log,
// the way to the API server, and the end by signal. It must not know what a
// command does.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cooper-cosi/cooper/cmd/internal/flagenv"
)

// Exit codes of a command.
const (
	ExitOK    = 0
	ExitError = 1
	// ExitUsage is for flags and environment variables that make no sense.
	ExitUsage = 2
)

// A Command is one program.
type Command struct {
	// Name is the name of the program, Short what it does in a line.
	Name, Short string
	// Flags defines the program's own flags.
	Flags func(*pflag.FlagSet)
	// Run runs until ctx ends. An error is printed and ends the program with
	// ExitError.
	Run func(ctx context.Context, common Common) error
}

// Common is what the flags that all programs share came to.
type Common struct {
	// Logger gets all logs; they go to standard error.
	Logger logr.Logger
	// Kubeconfig is the file given by --kubeconfig, empty in a cluster.
	Kubeconfig string
}

// Main runs a program and returns its exit code. SIGINT and SIGTERM end it.
func Main(c Command, args []string, stdout, stderr io.Writer) int {
	flags := pflag.NewFlagSet(c.Name, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "file that says how to reach the API server; empty means the cluster this runs in")
	level := flags.String("log-level", "info", "least severe log lines to print: debug, info, warn or error")
	format := flags.String("log-format", "text", "text or json")
	version := flags.Bool("version", false, "print the version and exit")
	c.Flags(flags)
	flagenv.Describe(flags)
	err := flagenv.Parse(flags, args, os.LookupEnv)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(stdout, "%s: %s\n\nEvery flag can be given by the environment variable in brackets.\n\n%s", c.Name, c.Short, flags.FlagUsages())
		return ExitOK
	}
	if *version && err == nil {
		fmt.Fprintf(stdout, "%s %s\n", c.Name, Version())
		return ExitOK
	}
	logger, logErr := newLogger(stderr, *level, *format)
	if err := errors.Join(err, logErr); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", c.Name, err)
		return ExitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(logger)
	ctrllog.SetLogger(logger)
	if err := c.Run(ctx, Common{Logger: logger, Kubeconfig: *kubeconfig}); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", c.Name, err)
		return ExitError
	}
	return ExitOK
}

// RESTConfig says how to reach the API server: by the kubeconfig file or, if
// that is empty, as the Pod's ServiceAccount.
func RESTConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig: %w", err)
		}
		return unlimited(config), nil
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("this does not run in a Pod: say how to reach the API server with --kubeconfig FILE")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot reach the API server as this Pod: %w", err)
	}
	return unlimited(config), nil
}

// unlimited lets requests go out as they come. The API server has priority and
// fairness to protect itself; the default of client-go, five requests a second,
// would make a burst of claims wait for minutes.
func unlimited(config *rest.Config) *rest.Config {
	config.QPS = -1
	return config
}

// Version is the version that the program was built as.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (version == "" || version == "(devel)") {
			return "devel-" + s.Value
		}
	}
	return version
}

func newLogger(w io.Writer, level, format string) (logr.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level: %q is not one of debug, info, warn, error", level)
	}
	options := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return logr.FromSlogHandler(slog.NewTextHandler(w, options)), nil
	case "json":
		return logr.FromSlogHandler(slog.NewJSONHandler(w, options)), nil
	default:
		return logr.Logger{}, fmt.Errorf("--log-format: %q is not one of text, json", format)
	}
}
